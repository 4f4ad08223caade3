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

from datetime import datetime
from itertools import compress
from operator import ne

import msgspec

from webloom.adapters.mongodb.documents import (
    Document,
    as_written,
    plain,
    plain_texts,
    plain_values,
)
from webloom.adapters.mongodb.words import words_of
from webloom.domain.inventory import (
    OPEN,
    Metadata,
    Processing,
    Received,
    Record,
    Status,
    shelf_of,
    url_key,
)
from webloom.domain.request_state import RequestState, token_at
from webloom.parsing.web_url import host_of

STATE_FIELDS = {"status": True, "processing": True, "work": True}
WITHOUT_SOURCE = {"metadata.page_source": False, "words": False}
WITH_SOURCE = {"words": False}
FIELDS, PROCESSING, WORK = "fields", "processing", "work"  # parts of a document

_EMPTY = {
    "status_code": None,
    "headers": None,
    "cookies": None,
    "page_source": None,
    "final_url": None,
}


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
    return RequestState(
        Status(document["status"]),
        work["token"],
        work["request_id"],
        work["background"],
        processing["last_request_id"],
        processing["attempt_number"],
        processing["retry_count"],
        work["lease"],
        work["retry_due"],
        processing["error_message"],
        as_of=now,
    )


_PARTS = (  # of the fields that `state_of` reads, by their places in the state
    (0, FIELDS, "status"),
    (1, WORK, "token"),
    (2, WORK, "request_id"),
    (3, WORK, "background"),
    (4, PROCESSING, "last_request_id"),
    (5, PROCESSING, "attempt_number"),
    (6, PROCESSING, "retry_count"),
    (7, WORK, "lease"),
    (8, WORK, "retry_due"),
    (9, PROCESSING, "error_message"),
)


def difference(before: RequestState, after: RequestState) -> Document:
    """What is to be written, by part of the document."""
    fields: Document = {}
    parts: Document = {FIELDS: fields, PROCESSING: {}, WORK: {}}
    for place, part, name in compress(_PARTS, map(ne, before, after)):
        new = after[place]
        parts[part][name] = plain(new) if isinstance(new, str) else new
    if after.status is not before.status:
        fields["status"] = after.status.value
        if shelf_of(after.status) != shelf_of(before.status):
            fields["shelf"] = shelf_of(after.status)
    if after.last_attempt_at is not None:
        parts[PROCESSING]["last_attempt_at"] = after.last_attempt_at
    if after.updated_at is not None:
        fields["updated_at"] = after.updated_at
    if after.touched is not None:
        parts[WORK]["touched"] = after.touched
    if after.response is not None:
        fields |= response_fields(after.response)
    elif after.is_cleared:
        fields |= no_response()
    return parts
