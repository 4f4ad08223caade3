from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Protocol

from webloom.domain.storage_event import StorageEvent
from webloom.domain.watch import Outcome


@dataclass(frozen=True, kw_only=True, slots=True)
class Retention:
    """Days for which what is superseded is kept."""

    snapshots: float = 7.0
    change_logs: float = 30.0
    job_runs: float = 14.0
    prices: float = 90.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Validators:
    """What spares the next check of a page a fetch, or a reading."""

    etag: str | None = None
    last_modified: str | None = None
    body_hash: str | None = None  # sha256


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredPage:
    """The latest that is known of a page, by the order of its events' places."""

    job_id: str
    url: str
    title: str | None
    text: str | None
    metadata: Mapping[str, Any] | None
    images: list[Any]
    links: list[Any]
    classification: Mapping[str, Any] | None
    version: int | None  # None: no content was stored, or no event yet
    snapshot_hash: str | None
    last_updated: int | None  # milliseconds since 1970: `ts` of the latest event
    price: Decimal | None = None  # of the latest event that has one, as are the three that follow
    list_price: Decimal | None = None
    currency: str | None = None
    change_percent: Decimal | None = None
    availability: str | None = None  # of the latest event that says so
    last_checked: datetime | None = None
    last_outcome: Outcome | None = None  # of the latest check
    last_error: str | None = None  # why it failed, if it did
    validators: Validators = field(default_factory=Validators)


@dataclass(frozen=True, kw_only=True, slots=True)
class Stored:
    """What became of an event."""

    version: int | None  # that its content has; None: it brought none
    is_new: bool  # False: all of it was there already


@dataclass(frozen=True, kw_only=True, slots=True)
class Checked:
    """A check that brought nothing to store."""

    job_id: str
    url: str
    run_id: str
    at: datetime
    outcome: Outcome  # UNCHANGED or FAILED
    error: str | None = None  # one sentence, of FAILED
    validators: Validators | None = None  # None: they stay as they are


@dataclass(frozen=True, kw_only=True, slots=True)
class Version:
    job_id: str
    url: str
    version: int
    snapshot_hash: str
    created_at: int  # `ts` of its event
    bytes: int  # that it takes in the store
    is_delta: bool
    expires_at: datetime | None  # None: it is the newest


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangeLog:
    job_id: str
    url: str
    changes: Mapping[str, Any]
    previous: int  # version
    current: int
    timestamp: int
    run_id: str | None = None
    alerts: list[str] = field(default_factory=list)
    # With the timestamp, what no other change of the page has or had. None: of an earlier version,
    # and the only one of these with that timestamp.
    key: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class PriceRecord:
    job_id: str
    url: str
    price: Decimal
    currency: str | None
    change_percent: Decimal | None
    timestamp: int
    version: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class PriceSummary:
    """Of the kept records of a page in its latest currency."""

    records: int
    currency: str | None
    minimum: Decimal
    maximum: Decimal
    median: Decimal
    last: PriceRecord
    last_change: PriceRecord | None  # the latest whose price differs from the one before


@dataclass(frozen=True, kw_only=True, slots=True)
class PageFilter:
    job_id: str | None = None
    url: str | None = None  # exactly
    text: str | None = None  # in the URL or the title, whatever the case
    type: str | None = None  # of the classification
    outcome: Outcome | None = None
    changed_since: int | None = None  # by last_updated


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangeFilter:
    job_id: str | None = None
    url: str | None = None
    run_id: str | None = None
    batch: str | None = None  # of `gather_alerts`; then nothing else counts


@dataclass(frozen=True, kw_only=True, slots=True)
class Late:
    """Where change logs with alerts came from whose run can't tell of them."""

    job_id: str
    run_id: str | None  # that has ended, or is not known; None: they name none


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """What a collection takes, and what of it retention will free."""

    collection: str
    items: int
    bytes: int  # about
    superseded_items: int = 0
    superseded_bytes: int = 0


def relief(used: int) -> int:
    """Bytes that a round of pruning frees in a database that is full, if they are superseded."""
    return max(1 << 20, used // 20)


class PageStore(Protocol):
    """Pages, their versions, changes and prices: what the storage agent writes.

    `store_event` is idempotent: the same event again, by whomever, at the same time, after a crash
    at any point of it, ends in the same state; and so do several events in any order. All verbs
    raise StoreUnavailable when the store can't be reached; then the same call can be made again.
    Listings are by keyset; the work for a page of them is bounded. They raise BadCursor.
    """

    async def store_event(self, event: StorageEvent) -> Stored:
        """In this order: the page; a version, where the event has content whose `snapshot_key` is
        new; a price record, where it has a price; a change log, where it is a change; its run's
        counters (`counting_run`, each `counted_as` once, where `is_counted`).

        An event whose run is not known opens it, and makes an external watch of its job where
        there is no watch. That one's metrics and last run follow its events. `closes_run` ends a
        run that events opened.

        The same version and hash are the same content: of two that differ all the same, one is
        kept. A version takes its number by `renumbered`; numbers of later ones move where they
        must, and change logs with them. The version that is superseded becomes a delta against the
        newer one and gets its date of expiry.

        Raises StorageFull when the budget is used up and nothing superseded is left to prune; or
        EventRefused when the store can never hold it.
        """

    async def note_checked(self, checked: Checked) -> None:
        """The time of the check, its outcome, and the run's counters: nothing else is written.
        A page that is not known yet is made, without content."""

    async def find_page(self, job_id: str, url: str) -> StoredPage | None: ...

    async def pages(
        self, chosen: PageFilter, *, limit: int, cursor: str | None = None
    ) -> tuple[list[StoredPage], str | None]:
        """The latest updated first, without text and metadata; and where to go on."""

    async def versions(
        self, job_id: str, url: str, *, limit: int, before: int | None = None
    ) -> list[Version]:
        """The newest first, those with a lower number than `before`."""

    async def parsed(self, job_id: str, url: str, version: int) -> Mapping[str, Any] | None:
        """The content of a version as it was given; None: it is not kept (any more)."""

    async def change_logs(
        self, chosen: ChangeFilter, *, limit: int, cursor: str | None = None
    ) -> tuple[list[ChangeLog], str | None]:
        """The latest first."""

    async def late_alerts(self, *, limit: int) -> list[Late]:
        """Of change logs with alerts that nobody was told of, and whose run is not in progress."""

    async def gather_alerts(self, job_id: str, run_id: str | None, batch: str) -> list[str]:
        """Put the change logs with alerts that are in no batch yet into this one, which nobody has
        used before. Returns all batches of that job and run that are not noted as told, this one
        among them if anything is in it. What is in a batch stays in it, and nothing is added
        later: each change log is told once, also if an event of its version comes again."""

    async def note_told(self, batch: str) -> None:
        """What is in the batch is to be told: it stands in notices, or nobody wants to know."""

    async def prices(
        self, job_id: str, url: str, *, limit: int, cursor: str | None = None
    ) -> tuple[list[PriceRecord], str | None]:
        """The latest first."""

    async def price_summary(self, job_id: str, url: str) -> PriceSummary | None: ...

    async def forget_job(self, job_id: str) -> None:
        """Remove all that is kept of its pages."""

    async def usage(self, *, with_superseded: bool = True) -> list[Usage]:
        """To know what is superseded, some stores look at all of it. Without, it is cheap."""

    async def prune(self) -> int:
        """Remove what has expired, where the database does not do that by itself; then the oldest
        of what is superseded, while the budget is passed, or the database is full (`relief`) or
        close to its limit. Change logs that people are still to be told of go last, and only as far
        as there is no room for them. Needs no room itself. Returns how many items went."""

    async def is_full(self) -> bool:
        """Whether `store_event` would raise StorageFull; cheap."""
