from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from webloom.domain.inbox import Decision, EntryKind, InboxState
from webloom.domain.listing import Count
from webloom.ports.page_history import ChangeLog


@dataclass(frozen=True, kw_only=True, slots=True)
class InboxFilter:
    state: InboxState | None = None  # None: any
    watch_id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class InboxEntry:
    entry_id: str  # the same in every store that the change log is copied to
    change: ChangeLog
    state: InboxState
    snoozed_until: datetime | None
    is_muted: bool  # its page, now
    kind: EntryKind = EntryKind.PAGE


@dataclass(frozen=True, kw_only=True, slots=True)
class MutedPage:
    watch_id: str
    url: str
    muted_at: datetime


class Inbox(Protocol):
    """Change logs until someone has looked at them. `Pages.store_event` adds them, as unread, or as
    muted if their page is; an event that comes again, or corrects a log, leaves the decision as it
    is. An entry disappears with its change log. Raises StoreUnavailable.

    A snoozed entry whose time has passed by `now` is unread.
    """

    async def entries(
        self, chosen: InboxFilter, *, now: datetime, limit: int, cursor: str | None = None
    ) -> tuple[list[InboxEntry], str | None]:
        """With the cursor of the next page. Unread entries are in the order in which they changed
        or came back, snoozed ones in that in which they will come back, all others by the time of
        the change; the latest first. The work for one page is bounded: one with neither an unread
        nor a snoozed state may be short or empty although there is another. Raises BadCursor."""

    async def count(self, chosen: InboxFilter, *, now: datetime, most: int) -> Count:
        """Counting stops behind `most`. Unread and snoozed entries are counted exactly up to there,
        others among the first that would be listed, so many that the work stays bounded."""

    async def went_unread(self, *, now: datetime) -> int:
        """How many expired or were pruned unread or snoozed in the last COUNTED_DAYS. Entries of a
        watch that is removed with its pages are not counted. Exact on SQLite. On MongoDB they are
        counted before the database removes them, at most an hour ahead: one that is decided in that
        hour counts, and one that expires while no scheduler runs does not."""

    async def decide(self, ids: Sequence[str], wanted: Decision, *, now: datetime) -> list[str]:
        """Set the state of entries, each by itself. Returns the ids that no entry has. The same
        call again changes nothing."""

    async def mute_page(self, watch_id: str, url: str, *, is_muted: bool, now: datetime) -> bool:
        """Changes of a muted page that are stored from now on come as muted; entries that are there
        stay as they are. False: there is no such page. The same call again changes nothing."""

    async def muted_pages(
        self, *, limit: int, cursor: str | None = None
    ) -> tuple[list[MutedPage], str | None]:
        """The latest muted first, with the cursor of the next page. Raises BadCursor."""
