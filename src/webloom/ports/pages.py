from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Protocol

from webloom.domain.listing import Count
from webloom.domain.page_check import Checked, Validators
from webloom.domain.storage_event import StorageEvent
from webloom.domain.watch import Outcome


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredPage:
    """The latest state of a page, by the order of its events."""

    watch_id: str
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
    availability: str | None = None  # of the latest event that has it
    last_checked: datetime | None = None
    last_outcome: Outcome | None = None  # of the latest check
    last_error: str | None = None  # why it failed, if it did
    validators: Validators = field(default_factory=Validators)


@dataclass(frozen=True, kw_only=True, slots=True)
class PageFilter:
    watch_id: str | None = None
    url: str | None = None  # exactly
    text: str | None = None  # in the URL and the title (domain/search.py)
    type: str | None = None  # of the classification
    outcome: Outcome | None = None
    changed_since: int | None = None  # by last_updated


@dataclass(frozen=True, kw_only=True, slots=True)
class Stored:
    """The result of storing an event."""

    version: int | None  # of its content; None: it had none
    is_new: bool  # False: everything in it was stored already


class Pages(Protocol):
    """Pages, and the events that change them and their history. Raises StoreUnavailable; then the
    same call can be repeated."""

    async def store_event(self, event: StorageEvent) -> Stored:
        """Writes the page; a version, if the event has content with a new `snapshot_key`; a price
        record, if it has a price; a change log, if it is a change; and then its run's counters
        (`counting`, each key once).

        Idempotent: the same event again, from any process, at the same time or after a crash at any
        point, ends in the same state. So do several events in any order. A version whose content
        has expired is recognised for `Retention.emptied_versions` days more, unless the budget has
        no room for that: its events change and count nothing. Of other versions the change log is
        recognised while it is kept, and what was counted while its run is.

        An event of an unknown run opens it, and adds an external watch for a `jobId` without one.
        The metrics and the last run of that watch follow its events. `closes_run` ends a run that
        events opened.

        Two things depend on which event came first. Events with the same version and hash should
        have the same content; if not, the content that was stored first is kept, and never changes.
        So is the change log that was stored first of events that have the same time, too.
        A price record that is delivered again at another time keeps its first time; all else of it
        is of the event with the lowest `price_rank`.

        Versions are numbered by `next_number`; later ones are renumbered if necessary, and their
        change logs with them. The superseded version becomes a delta against the newer one and gets
        its date of expiry.

        When the budget is used up and nothing superseded is left to prune, raises StorageFull for
        an event with content or a price record that is not stored. All others are stored: what is
        redelivered is acknowledged, and checks and change logs go on. Raises EventRefused when the
        store can never hold the event.
        """

    async def note_checked(self, checked: Checked) -> None:
        """A check without an event: its time, its outcome, and the run's counters are written. A
        page that is not known yet is added, without content."""

    async def find_page(self, watch_id: str, url: str) -> StoredPage | None: ...

    async def list_pages(
        self,
        chosen: PageFilter,
        *,
        limit: int,
        cursor: str | None = None,
        oldest_first: bool = False,
    ) -> tuple[list[StoredPage], str | None]:
        """The latest updated first, or the earliest, without text and metadata; with the cursor of
        the next page in the same direction. The work for one page of the list is bounded. Raises
        BadCursor."""

    async def count_chosen(self, chosen: PageFilter, *, most: int) -> Count:
        """How many a filter finds. Counting stops behind `most`; what no index knows is counted
        among the first that would be listed, so many that the work stays bounded."""

    async def forget_watch(self, watch_id: str) -> None:
        """Removes its pages and their history."""
