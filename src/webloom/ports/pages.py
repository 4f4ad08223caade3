from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Protocol

from webloom.domain.page_check import Checked, Validators
from webloom.domain.storage_event import StorageEvent
from webloom.domain.watch import Outcome


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredPage:
    """The latest state of a page, by the order of its events."""

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
    availability: str | None = None  # of the latest event that has it
    last_checked: datetime | None = None
    last_outcome: Outcome | None = None  # of the latest check
    last_error: str | None = None  # why it failed, if it did
    validators: Validators = field(default_factory=Validators)


@dataclass(frozen=True, kw_only=True, slots=True)
class PageFilter:
    job_id: str | None = None
    url: str | None = None  # exactly
    text: str | None = None  # in the URL or the title, ignoring case
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
        """Writes, in this order: the page; a version, if the event has content with a new
        `snapshot_key`; a price record, if it has a price; a change log, if it is a change; its
        run's counters (`counting_run`, each `counted_as` once, if `is_counted`).

        Idempotent: the same event again, from any process, at the same time or after a crash at any
        point, ends in the same state. So do several events in any order.

        An event of an unknown run opens it, and adds an external watch if its job has no watch. The
        metrics and the last run of that watch follow its events. `closes_run` ends a run that
        events opened.

        Events with the same version and hash have the same content; if not, one of the contents is
        kept. Versions are numbered by `next_number`; later ones are renumbered if necessary, and
        their change logs with them. The superseded version becomes a delta against the newer one
        and gets its date of expiry.

        Raises StorageFull when the budget is used up and nothing superseded is left to prune, and
        EventRefused when the store can never hold the event.
        """

    async def note_checked(self, checked: Checked) -> None:
        """A check without an event: its time, its outcome, and the run's counters are written. A
        page that is not known yet is added, without content."""

    async def find_page(self, job_id: str, url: str) -> StoredPage | None: ...

    async def list_pages(
        self, chosen: PageFilter, *, limit: int, cursor: str | None = None
    ) -> tuple[list[StoredPage], str | None]:
        """The latest updated first, without text and metadata; with the cursor of the next page.
        The work for one page of the list is bounded. Raises BadCursor."""

    async def forget_job(self, job_id: str) -> None:
        """Removes its pages and their history."""
