"""The inventory: what is known of a URL, and what is asked and answered about it.

    PENDING -> IN_PROGRESS -> COMPLETED
                   |  ^   \\-> FAILED_PERMANENT
                   v  |
            FAILED_RETRYABLE

A *request* asks for one fetch of a URL; an *attempt* is one try at it. A record answers at most one
request at a time, and an attempt belongs to the worker that holds its token. How each event changes
a record is in request_state.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from webloom.domain.listing import Count

METADATA_QUEUE = "metadata_queue"
MAX_ATTEMPTS = 3
MAX_SOURCE_CHARACTERS = 1_000_000


class Status(StrEnum):
    PENDING = "PENDING"
    IN_PROGRESS = "IN_PROGRESS"
    COMPLETED = "COMPLETED"
    FAILED_RETRYABLE = "FAILED_RETRYABLE"
    FAILED_PERMANENT = "FAILED_PERMANENT"

    @property
    def is_final(self) -> bool:
        return self is Status.COMPLETED or self is Status.FAILED_PERMANENT


OPEN = "OPEN"
SHELVES = (Status.COMPLETED.value, Status.FAILED_PERMANENT.value, OPEN)


def shelf_of(status: Status) -> str:
    """What indexes hold instead of the status, which changes more often: a final one, or OPEN."""
    return status.value if status.is_final else OPEN


def url_key(url: str) -> str:
    return hashlib.blake2b(url.encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, kw_only=True, slots=True)
class FetchRequest:
    """The message on `metadata_queue`."""

    url: str
    request_id: str
    background: bool = False  # a refresh behind a stale record, which stays readable meanwhile


@dataclass(frozen=True, kw_only=True, slots=True)
class Metadata:
    """What the last response carried. All fields are None until one was received."""

    status_code: int | None = None
    headers: dict[str, str] | None = None  # lower-case names
    cookies: dict[str, str] | None = None
    page_source: str | None = None  # None also for a body that is not text
    final_url: str | None = None


METADATA = tuple(each.name for each in fields(Metadata))  # what stores keep and exports show


@dataclass(frozen=True, kw_only=True, slots=True)
class Processing:
    retry_count: int = 0  # attempts of the latest request that failed and could be repeated
    attempt_number: int = 0  # attempts begun for the latest request
    error_message: str | None = None
    last_attempt_at: datetime | None = None
    last_request_id: str | None = None  # the latest request, answered or not


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    url: str
    status: Status
    metadata: Metadata
    processing: Processing
    additional_details: dict[str, Any] | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class LargeSource(Record):
    """A record whose page source was not read."""

    size: int  # of the source, in bytes

    @classmethod
    def of(cls, record: Record, size: int) -> LargeSource:
        return cls(**{each.name: getattr(record, each.name) for each in fields(record)}, size=size)


@dataclass(frozen=True, kw_only=True, slots=True)
class Received(Metadata):
    """A response as the fetcher saw it, ready to be stored."""

    status_code: int
    headers: dict[str, str]
    cookies: dict[str, str]
    page_source: str | None
    final_url: str
    details: Mapping[str, Any]  # becomes additional_details
    retry_after: float | None = None  # seconds that the server asked us to wait

    @property
    def metadata(self) -> Metadata:
        return Metadata(**{name: getattr(self, name) for name in METADATA})


class Attempt(NamedTuple):
    """The right to write the outcome of one attempt; void once the record has a newer token."""

    url: str
    request_id: str
    token: int  # the fencing token
    number: int  # 1 for the first attempt of the request
    retry_count: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Busy:
    """Another attempt is running or the retry is not due yet."""

    seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class AlreadyDone:
    """The request has its final answer: its message came twice."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GiveUp:
    """No attempt is left: the workers that held them died."""

    reason: str
    retry_count: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Completed:
    received: Received


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryLater:
    reason: str
    retry_count: int
    seconds: float
    received: Received | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Failed:
    reason: str
    retry_count: int
    received: Received | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class GivenBack:
    """The worker had to stop: the attempt does not count."""


Outcome = Completed | RetryLater | Failed | GivenBack


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordFilter:
    status: Status | None = None
    host: str | None = None
    text: str | None = None  # words of the URL; with a star at the end, the last is a beginning
    created_from: datetime | None = None
    created_to: datetime | None = None  # exclusive


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordPage:
    records: list[Record]
    next_cursor: str | None  # None: this was the last page
    total: Count | None = None  # if it was counted meanwhile
