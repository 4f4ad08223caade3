"""A store as a whole: what a dump holds of each aggregate, and how a store is read and filled.

Each value is the same from whichever store it was read. What a store derives is not in it: how a
version's content is packed, the number of the version before, what a page shows of its newest
version. Ledgers, leases and heartbeats are not in it either: a running attempt is returned to the
queue, a watch run in progress has ended, an import run in progress is not claimed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from webloom.domain.feed import Feed
from webloom.domain.import_run import ImportRun
from webloom.domain.inbox import Muting, Triage
from webloom.domain.inventory import Metadata, Processing, Status
from webloom.domain.notification import Notification
from webloom.domain.page_check import Validators
from webloom.domain.reason import PlainReason
from webloom.domain.storage_event import EventPrice, Place
from webloom.domain.watch import Outcome, Watch, WatchRun
from webloom.ports.postings import StoredPosting

Value = TypeVar("Value")
Key = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{32}\Z")]
Number = Annotated[int, msgspec.Meta(ge=1)]  # of a version


@dataclass(frozen=True, kw_only=True, slots=True)
class WholeRecord:
    url: str
    status: Status
    metadata: Metadata
    processing: Processing  # last_request_id is the last one that an attempt was begun for
    additional_details: dict[str, Any] | None
    created_at: datetime
    updated_at: datetime
    token: int
    request_id: str | None  # the outstanding request
    background: bool
    waits: bool  # for its retry


@dataclass(frozen=True, kw_only=True, slots=True)
class WholeRun:
    run: WatchRun
    expires_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class PagePart(Generic[Value]):
    """What one event says of a page."""

    place: Place
    value: Value


@dataclass(frozen=True, kw_only=True, slots=True)
class PagePrice:
    place: Place
    price: EventPrice

    @property
    def value(self) -> EventPrice:
        return self.price


class WholePage(msgspec.Struct, frozen=True, kw_only=True):
    watch_id: str = msgspec.field(name="job_id")
    url: str
    last_updated: int | None
    classification: PagePart[dict[str, Any]] | None
    price: PagePrice | None
    availability: PagePart[str] | None
    checked_at: int | None
    outcome: Outcome | None
    error: str | None
    validated_at: int | None
    validators: Validators
    muting: Muting | None = None  # None: nobody has muted it


class WholeVersion(msgspec.Struct, frozen=True, kw_only=True):
    key: Key
    watch_id: str = msgspec.field(name="job_id")
    url: str
    number: Number
    place: Place
    content: dict[str, Any] | None  # None: only its change is known
    expires_at: datetime | None  # None: it is the newest


class WholePrice(msgspec.Struct, frozen=True, kw_only=True):
    key: Key
    watch_id: str = msgspec.field(name="job_id")
    url: str
    ts: int
    price: Decimal
    currency: str | None
    change_percent: Decimal | None
    claimed: int
    version_key: Key
    expires_at: datetime | None  # None: it is the latest


class WholeLog(msgspec.Struct, frozen=True, kw_only=True):
    key: Key  # of its version
    watch_id: str = msgspec.field(name="job_id")
    url: str
    number: Number  # of its version
    place: Place  # of the event that reported the change
    run_id: str | None
    changes: dict[str, Any]
    alerts: list[str]  # also worded from the reasons: `StorageEvent`
    expires_at: datetime
    batch: str | None = None
    is_pending: bool = msgspec.field(default=False, name="untold")  # its alerts
    reasons: list[PlainReason] = msgspec.field(default_factory=list)
    is_keyed: bool = False  # `key` of ChangeLog is that of its version
    triage: Triage | None = None  # None: it is not in the inbox


# In the order in which they are read and written. Where a store has no snapshots, this order keeps
# every invariant although others write meanwhile: what a later collection refers to is older, or is
# repaired while it is loaded.
#   feeds, import_logs, jobs   all postings that a run has counted are read after the run
#   job_runs, watches          a watch has counted at least what its runs have
#   pages, snapshots           validators are never newer than the content
#   change_logs, notices       a change is announced twice rather than never
COLLECTIONS: dict[str, type] = {
    "metadata": WholeRecord,
    "feeds": Feed,
    "import_logs": ImportRun,
    "jobs": StoredPosting,
    "job_runs": WholeRun,
    "watches": Watch,
    "pages": WholePage,
    "snapshots": WholeVersion,
    "price_history": WholePrice,
    "change_logs": WholeLog,
    "notices": Notification,
}


class Line(NamedTuple):
    item: Any  # of its collection's type
    raw: bytes  # the item as JSON


class StoreSnapshot(Protocol):
    """Raises StoreUnavailable."""

    async def count(self, collection: str) -> int:
        """About as many items as `scan` will give."""

    def scan(self, collection: str) -> AsyncIterator[list[Line]]:
        """Every item once, a few megabytes at a time. The versions of a page come together, the
        latest first, and so do its prices."""


class WholeStore(Protocol):
    """Raises StoreUnavailable."""

    def snapshot(self) -> AbstractAsyncContextManager[StoreSnapshot]:
        """All collections as of one moment, where the store has snapshots. Otherwise each as of
        the time when it is read."""

    async def put_if_newer(self, collection: str, items: Sequence[Any]) -> list[Any]:
        """Write each item as `stores.whole.merged` decides. The same call again changes nothing.

        Returns for each item what the store holds under its key after the write, or None. Raises
        ValueError, TypeError or EventRefused for an item that the store can't hold."""

    async def noted(self, name: str) -> str | None:
        """The latest note under that name."""

    async def note(self, name: str, text: str | None) -> None:
        """Overwrite the note; None removes it."""
