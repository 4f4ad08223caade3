"""Records as documents and back, without a database.

    {_id: hash of the URL, url, status, metadata: {...}, processing: {...}, additional_details,
     created_at, updated_at,                               what the documents' readers know
     host, shelf, words, place,                            what they are listed and searched by
     work: {version, token, request_id, background, lease, retry_due, touched, holder, finish}}

`work` is the worker's side of a record: who may do what until when, on the timeline. Its version
grows with every change of the document, so that a decision can be written on the condition that
nothing has changed since it was read.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from bson.dbref import DBRef
from bson.int64 import Int64

from webloom.adapters.mongodb.words import words_of
from webloom.domain.inventory import (
    Metadata,
    Processing,
    Received,
    Record,
    RequestState,
    Status,
)
from webloom.parsing.web_url import host_of

Document = dict[str, Any]

OPEN = "OPEN"
SHELVES = (Status.COMPLETED.value, Status.FAILED_PERMANENT.value, OPEN)
STATE_FIELDS = {"status": True, "processing": True, "work": True}
WITHOUT_SOURCE = {"metadata.page_source": False, "words": False}
WITH_SOURCE = {"words": False}
PLACES_IN_A_MILLISECOND = 1 << 20

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LARGEST = 1 << 63
_NO_FLOAT = 1 << 1023
_SURROGATES = re.compile("[\ud800-\udfff]")
_EMPTY = {
    "status_code": None,
    "headers": None,
    "cookies": None,
    "page_source": None,
    "final_url": None,
}


def url_key(url: str) -> str:
    return hashlib.blake2b(url.encode(), digest_size=16).hexdigest()


def shelf_of(status: Status) -> str:
    return status.value if status.is_final else OPEN


def first_place_of(moment: datetime) -> int:
    """Records stand in the listing by the millisecond of their creation, and within it by number:
    this is the first of such places."""
    return (moment - _EPOCH) // timedelta(milliseconds=1) * PLACES_IN_A_MILLISECOND


def moment_of(place: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=place // PLACES_IN_A_MILLISECOND)


def token_at(now: float) -> int:
    return int(now * 1_000_000)


def literal(value: object) -> Document:
    """For expressions, in which a text with a dollar would be a field."""
    return {"$literal": value}


def plain(text: str) -> str:
    """Text as BSON can carry it: a lone surrogate is no character."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATES.sub("\ufffd", text)
    return text


def plain_name(name: str) -> str:
    """A field's name ends at a NUL."""
    return plain(name).replace("\0", "\ufffd")


def plain_texts(texts: Mapping[str, str]) -> dict[str, str]:
    return {plain_name(name): plain(text) for name, text in texts.items()}


def plain_values(value: Any) -> Any:
    """Whatever JSON could carry, as BSON can: its numbers have 64 bits."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, dict):
        return {plain_name(name): plain_values(each) for name, each in value.items()}
    if isinstance(value, list):
        return [plain_values(each) for each in value]
    if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
        return float(value) if abs(value) < _NO_FLOAT else str(value)
    return value


def response_fields(received: Received) -> Document:
    """Whole values, never paths made of names that come from outside."""
    return {
        "metadata": {
            "status_code": received.status_code,
            "headers": plain_texts(received.headers),
            "cookies": plain_texts(received.cookies),
            "page_source": received.page_source and plain(received.page_source),
            "final_url": plain(received.final_url),
        },
        "additional_details": plain_values(msgspec.to_builtins(received.details, str_keys=True)),
    }


def no_response() -> Document:
    return {"metadata": _EMPTY, "additional_details": None}


def new_document(
    url: str, request_id: str | None, *, now: float, wall: datetime, place: int
) -> Document:
    """A record that is PENDING.

    Tokens begin with the time, so that a record which is deleted and made anew never has one twice.
    """
    return {
        "_id": url_key(url),
        "url": url,
        "status": Status.PENDING.value,
        **no_response(),
        "processing": {
            "retry_count": 0,
            "attempt_number": 0,
            "error_message": None,
            "last_attempt_at": None,
            "last_request_id": None,
        },
        "created_at": wall,
        "updated_at": wall,
        "host": host_of(url),
        "shelf": OPEN,
        "words": sorted(set(words_of(url))),
        "place": place,
        "work": {
            "version": 0,
            "token": token_at(now),
            "request_id": request_id and plain(request_id),
            "background": False,
            "lease": None,
            "retry_due": None,
            "touched": now,
            "holder": None,
            "finish": None,
        },
    }


def record_of(document: Document) -> Record:
    metadata, processing = document["metadata"], document["processing"]
    return Record(
        url=document["url"],
        status=Status(document["status"]),
        metadata=Metadata(
            status_code=metadata["status_code"],
            headers=as_written(metadata["headers"]),
            cookies=as_written(metadata["cookies"]),
            page_source=metadata.get("page_source"),
            final_url=metadata["final_url"],
        ),
        processing=Processing(
            retry_count=processing["retry_count"],
            attempt_number=processing["attempt_number"],
            error_message=processing["error_message"],
            last_attempt_at=processing["last_attempt_at"],
            last_request_id=document["work"]["request_id"] or processing["last_request_id"],
        ),
        additional_details=as_written(document["additional_details"]),
        created_at=document["created_at"],
        updated_at=document["updated_at"],
    )


def state_of(document: Document, now: float) -> RequestState:
    work, processing = document["work"], document["processing"]
    lease, retry_due = work["lease"], work["retry_due"]
    return RequestState(
        status=Status(document["status"]),
        token=work["token"],
        request_id=work["request_id"],
        background=work["background"],
        last_request_id=processing["last_request_id"],
        attempt_number=processing["attempt_number"],
        retry_count=processing["retry_count"],
        in_progress_for=None if lease is None else lease - now,
        waits_for=None if retry_due is None else retry_due - now,
    )


def as_written(value: Any) -> Any:
    """PyMongo takes a mapping with the names $ref and $id for something of its own, and so a
    number of 64 bits."""
    if isinstance(value, Int64):
        return int(value)
    if isinstance(value, DBRef):
        value = value.as_doc()
    if isinstance(value, Mapping):
        return {name: as_written(each) for name, each in value.items()}
    if isinstance(value, list):
        return [as_written(each) for each in value]
    return value
