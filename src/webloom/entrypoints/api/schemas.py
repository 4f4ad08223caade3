"""Requests and responses that the whole API shares, and those of /metadata and /health."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from webloom.application.inventory.bulk_records import RecordAction
from webloom.domain.inventory import Metadata, Processing, Record, Status
from webloom.domain.listing import Count
from webloom.entrypoints.api.formats import (
    AtMost,
    BulkUrls,
    HttpUrl,
    Instant,
    Moment,
    Query,
)

Item = TypeVar("Item")
Made = TypeVar("Made", bound=msgspec.Struct)
MILLISECOND = timedelta(milliseconds=1)  # times in stores are no finer


class Page(msgspec.Struct, Generic[Item], kw_only=True, rename="camel"):
    """A part of a list."""

    data: list[Item]
    next_cursor: str | None  # `cursor` of the next page; null: this is the last one


class CountedPage(Page[Item], Generic[Item], kw_only=True, rename="camel"):
    """A part of a list, with how long the list is."""

    total: int
    total_is_exact: bool  # false: there are at least `total`


class TagCount(msgspec.Struct, kw_only=True):
    tag: str
    count: int


class TagsPage(Page[TagCount]):
    """Tags in use, in alphabetical order; at most 1,000."""


class SubmitBody(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A URL to fetch."""

    url: HttpUrl


class RecordChoice(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """All records that a list with these parameters shows."""

    status: Status | None = None
    host: Query | None = None
    q: Query | None = None
    since: Moment | None = msgspec.field(default=None, name="from")
    to: Moment | None = None
    before: Instant | None = None  # only those that had been created by then


class BulkRecordsBody(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    """An action on the records of these URLs, or on all that the filter finds."""

    action: RecordAction
    urls: BulkUrls | None = None
    filter: RecordChoice | None = None
    at_most: AtMost | None = None


class Submitted(msgspec.Struct, kw_only=True):
    """The request is durable."""

    url: str  # normalised
    status: Status
    request_id: str | None


class BatchResult(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The result for one URL of a batch."""

    url: str
    accepted: bool
    status: Status | None = None
    request_id: str | None = None
    error: str | None = None


class RecordResponse(msgspec.Struct, kw_only=True):
    """What is known of a URL."""

    url: str
    status: Status
    metadata: Metadata
    processing: Processing
    additional_details: dict[str, Any] | None
    created_at: datetime
    updated_at: datetime
    stale: bool = False  # older than the cache time; a refresh is under way


class RecordsPage(CountedPage[RecordResponse], kw_only=True):
    """Records, the newest first, without their page sources. Go on while `nextCursor` is given:
    a page under a rare filter can be short."""

    at: datetime  # none of these was created later; `before` of a bulk action's filter


class Problem(msgspec.Struct, kw_only=True):
    """An error (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str


class Dependency(msgspec.Struct, kw_only=True):
    name: str  # store, broker, or broker of QUEUE for a queue with one of its own
    kind: str  # of backend, such as sqlite
    address: str  # without credentials
    state: str  # up, down
    connection: str  # READY, or how far this process has got on its way back to it
    detail: str | None
    milliseconds: float
    queues: list[str] | None = None  # of a broker


class QueueHealth(msgspec.Struct, kw_only=True):
    name: str
    limit: int
    ready: int
    delayed: int
    in_flight: int | None  # null: this broker does not report it
    dead: int


class ProcessHealth(msgspec.Struct, kw_only=True):
    process_id: str
    role: str
    host: str
    pid: int
    slots: int
    in_flight: int
    completed: int
    retried: int
    failed: int
    started_at: datetime
    queues: list[str]  # that it serves
    refused: dict[str, int]  # connections that the gate refused since its start, by reason
    exhausted: str | None  # the resource of its machine that it waits for
    last_beat_seconds_ago: float
    alive: bool


class Health(msgspec.Struct, kw_only=True):
    """`ok`, `degraded` (it answers, but nothing works off the queue, no scheduler begins what is
    due, a process waits for resources of its machine, or there is no room for what watches find or
    for feeds) or `down`."""

    status: str
    version: str
    dependencies: list[Dependency]
    storage: str | None = None  # what is wrong with it
    scheduler: str | None = None  # the same: none is alive, and something waits for one
    resources: str | None = None  # what the machine of a process has run out of, and what to do
    imports: str | None = None  # why they wait: there is no room for feeds
    queues: list[QueueHealth]
    workers: list[ProcessHealth]
    others: list[ProcessHealth]


class Alive(msgspec.Struct, kw_only=True):
    status: str = "ok"


def filled(kind: type[Made], *sources: object, **given: Any) -> Made:
    """A struct with the given fields; the others are those of the first source that has them."""
    for name in kind.__struct_fields__:
        if name not in given:
            given[name] = next(getattr(each, name) for each in sources if hasattr(each, name))
    return kind(**given)


async def counted(
    items: Sequence[object],
    cursors: tuple[str | None, str | None],  # of this page and of the next one
    count: Callable[[], Awaitable[Count]],
    known: Count | None = None,
) -> dict[str, Any]:
    """Fields of a page with these items. A list of one page needs no counting."""
    if cursors == (None, None):
        return {"total": len(items), "total_is_exact": True}
    found = await count() if known is None else known
    return {"total": max(found.number, len(items)), "total_is_exact": found.is_exact}


class _Created(Protocol):
    @property
    def created_at(self) -> datetime: ...


def read_at(now: datetime, items: Iterable[_Created]) -> datetime:
    """When a list was read: the last millisecond in which nothing can be created any more, or the
    latest of the items, as the clocks of those who create them differ."""
    over = now.replace(microsecond=now.microsecond // 1000 * 1000) - MILLISECOND
    return max([over, *(each.created_at for each in items)])


def record_response(record: Record, *, stale: bool = False) -> RecordResponse:
    return RecordResponse(
        url=record.url,
        status=record.status,
        metadata=record.metadata,
        processing=record.processing,
        additional_details=record.additional_details,
        created_at=record.created_at,
        updated_at=record.updated_at,
        stale=stale,
    )
