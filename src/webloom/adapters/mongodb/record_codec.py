"""Records as documents and back, without a database.

    {_id: hash of the URL, url, status, metadata: {...}, processing: {...}, additional_details,
     created_at, updated_at,                               names that outsiders rely on
     host, shelf, words, place,                            what they are listed and searched by
     work: {version, token, request_id, background, lease, retry_due, touched, holder, finish}}

`work` is the worker's side of a record: who may do what until when, on the timeline. Its version
grows with every change of the document, so that a decision can be written on the condition that
nothing has changed since it was read.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from itertools import compress
from operator import ne
from typing import Any

import msgspec

from webloom.adapters.mongodb.documents import (
    Document,
    as_written,
    plain,
    plain_values,
)
from webloom.domain.inventory import (
    METADATA,
    Metadata,
    Processing,
    Record,
    Status,
    shelf_of,
    url_key,
)
from webloom.domain.request_state import RequestState
from webloom.domain.search import words_of
from webloom.parsing.web_url import host_of

STATE_FIELDS = {"status": True, "processing": True, "work": True}
WITHOUT_SOURCE = {"metadata.page_source": False, "words": False}
WITH_SOURCE = {"words": False}
FIELDS, PROCESSING, WORK = "fields", "processing", "work"  # parts of a document


def response_fields(metadata: Metadata, details: Mapping[str, Any] | None) -> Document:
    """Whole values, never paths made of names that come from outside."""
    return {
        "metadata": {name: plain_values(getattr(metadata, name)) for name in METADATA},
        "additional_details": plain_values(msgspec.to_builtins(details, str_keys=True)),
    }


def _response_of(state: RequestState) -> Document:
    if state.response is None:
        return {"metadata": dict.fromkeys(METADATA), "additional_details": None}
    return response_fields(state.response, state.response.details)


def new_document(url: str, state: RequestState, *, created_at: datetime, place: int) -> Document:
    return {
        "_id": url_key(url),
        "url": url,
        "status": state.status.value,
        **_response_of(state),
        "processing": {
            "retry_count": state.retry_count,
            "attempt_number": state.attempt_number,
            "error_message": state.error_message and plain(state.error_message),
            "last_attempt_at": state.last_attempt_at,
            "last_request_id": state.last_request_id,
        },
        "created_at": created_at,
        "updated_at": state.updated_at or created_at,
        "host": host_of(url),
        "shelf": shelf_of(state.status),
        "words": sorted(set(words_of(url))),
        "place": place,
        "work": {
            "version": 0,
            "token": state.token,
            "request_id": state.request_id,
            "background": state.background,
            "lease": state.lease_until,
            "retry_due": state.retry_due,
            "touched": state.touched or 0.0,
            "holder": None,
            "finish": None,
        },
    }


def record_of(document: Document) -> Record:
    metadata, processing = document["metadata"], document["processing"]
    return Record(
        url=document["url"],
        status=Status(document["status"]),
        metadata=Metadata(**{name: as_written(metadata.get(name)) for name in METADATA}),
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


# Where the fields that `state_of` reads are kept.
_PARTS = {
    "status": (FIELDS, "status"),
    "token": (WORK, "token"),
    "request_id": (WORK, "request_id"),
    "background": (WORK, "background"),
    "last_request_id": (PROCESSING, "last_request_id"),
    "attempt_number": (PROCESSING, "attempt_number"),
    "retry_count": (PROCESSING, "retry_count"),
    "lease_until": (WORK, "lease"),
    "retry_due": (WORK, "retry_due"),
    "error_message": (PROCESSING, "error_message"),
}
_PLACES = [(place, *where) for place, where in enumerate(_PARTS.values())]


def path_of(field: str) -> str:
    """Of a field of the state, or of `work`, in the document."""
    part, name = _PARTS.get(field, (WORK, field))
    return name if part == FIELDS else f"{part}.{name}"


def difference(before: RequestState, after: RequestState) -> Document:
    """What is to be written, by part of the document."""
    fields: Document = {}
    parts: Document = {FIELDS: fields, PROCESSING: {}, WORK: {}}
    for place, part, name in compress(_PLACES, map(ne, before, after)):
        parts[part][name] = after[place]
    if after.error_message is not None and "error_message" in parts[PROCESSING]:
        parts[PROCESSING]["error_message"] = plain(after.error_message)
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
    if after.response is not None or after.is_cleared:
        fields |= _response_of(after)
    return parts
