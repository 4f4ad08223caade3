from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from webloom.domain.watch import RunStatus, Watch, WatchConfig, WatchRun


@dataclass(frozen=True, kw_only=True, slots=True)
class NewRun:
    run_id: str
    trigger: str
    due: datetime | None = None  # only if the watch's time has come by then


@dataclass(frozen=True, kw_only=True, slots=True)
class Attended:
    """A run in progress, as the scheduler sees it."""

    run: WatchRun
    watch: Watch
    published_at: datetime | None  # when all its checks were on the queue; None: not yet


@dataclass(frozen=True, kw_only=True, slots=True)
class Notice:
    """Something to be told to one target of a watch."""

    notice_id: str  # made of what it tells and whom: the same twice is one
    watch_id: str
    target_url: str
    run_id: str
    due_at: datetime
    lines: list[str] = field(default_factory=list)
    batch: str | None = None  # of the change logs that it tells
    attempts: int = 0
    error: str | None = None  # of the latest attempt
    sent_at: datetime | None = None
    given_up: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchCounts:
    all: int
    enabled: int
    checking: int  # a run of theirs is active
    failing: int  # their latest run failed


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFilter:
    watch_id: str | None = None
    status: RunStatus | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class DueTarget:
    """A target that has notices to be sent now."""

    url: str
    has_failed: bool  # an attempt at a notice of it that is still to be sent, due or not


class WatchStore(Protocol):
    """Watches, their runs, and what is to be told of them.

    Every write is idempotent and atomic for what it names. All verbs raise StoreUnavailable when
    the store can't be reached; then the same call can be made again. Listings are by keyset and
    raise BadCursor.
    """

    # Watches

    async def add_watch(
        self, watch_id: str, config: WatchConfig, *, next_run_at: datetime | None
    ) -> tuple[Watch, bool]:
        """The watch of that id, and whether it is new. One that was there stays as it is."""

    async def find_watch(self, watch_id: str) -> Watch | None: ...

    async def watches(
        self, *, limit: int, cursor: str | None = None
    ) -> tuple[list[Watch], str | None]:
        """By name and id, and where to go on."""

    async def count_watches(self) -> WatchCounts:
        """Cheap, however many URLs they have."""

    async def edit_watch(
        self, watch_id: str, config: WatchConfig, *, next_run_at: datetime | None
    ) -> Watch | None:
        """Replace what a person decides. Where `enabled` or the schedule differs, the next run is
        `next_run_at`; otherwise it stays when it is. Where the selection differs, what an earlier
        check left (the validators of its pages) is forgotten, so that the next one reads them
        anew."""

    async def remove_watch(self, watch_id: str) -> bool:
        """Its runs and pages stay; a run that is in progress ends. False: there is none."""

    async def due_watches(self, now: datetime, *, limit: int) -> list[Watch]:
        """Those whose time has come and that no run is active for, the longest overdue first."""

    # Runs

    async def start_run(self, watch_id: str, new: NewRun) -> WatchRun | None:
        """A run of the watch, with as many pages as it has URLs; or the one that is active already,
        whose id is another. One run is active for a watch at any time, whoever asks. The same call
        again returns the run that the first one made. None: there is no such watch, it is not due
        any more, or it is external."""

    async def attended(self, *, limit: int) -> list[Attended]:
        """Runs in progress of watches, the oldest first, with their counters as of now; not those
        that events opened. A watch whose active run is not there is set free on the way."""

    async def unchecked(self, run_id: str) -> list[str]:
        """URLs of the run that no outcome is known of."""

    async def is_open(self, run_id: str, url: str) -> bool:
        """Whether the run is in progress and nothing is known of that page in it yet."""

    async def note_published(self, run_id: str, at: datetime) -> None:
        """All its checks are on the queue."""

    async def finish_run(
        self, run_id: str, *, next_run_at: datetime | None, instead_of: datetime | None
    ) -> WatchRun | None:
        """Count once more, close the run (`status_at_end`) and set its watch free: its last run,
        its failures in a row, its metrics, its next run. Where that is not `instead_of` any more,
        an edit has set it meanwhile, and it stays; a paused watch has none. Pages that nothing is
        known of count as failed. Made again it changes nothing and returns the run; None: there is
        no such run."""

    async def close_idle_runs(self, idle_since: datetime) -> int:
        """Close the runs that events opened and that nothing was heard of since then, as their
        pages went (`status_at_end`). How many."""

    async def find_run(self, run_id: str) -> WatchRun | None:
        """With its counters as of now while it is in progress."""

    async def runs(
        self, chosen: RunFilter, *, limit: int, cursor: str | None = None
    ) -> tuple[list[WatchRun], str | None]:
        """The latest started first."""

    # What people are told

    async def add_notices(self, notices: Sequence[Notice]) -> None:
        """One whose id is there already, sent or not, is left alone."""

    async def due_targets(self, now: datetime, *, limit: int) -> list[DueTarget]:
        """Those that have notices which are due, the longest overdue first."""

    async def due_notices(
        self, now: datetime, *, limit: int, target_url: str | None = None
    ) -> list[Notice]:
        """Not sent, not given up, and due; the longest overdue first. Of one target, if given."""

    async def note_sent(self, notice_ids: Sequence[str], at: datetime) -> None: ...

    async def note_unsent(
        self, notice_ids: Sequence[str], *, error: str, due_at: datetime | None
    ) -> None:
        """One attempt more; None: they are given up. All at once, as those of one message stay
        together by being due at the same moment."""

    async def notices(
        self, watch_id: str, *, limit: int, cursor: str | None = None
    ) -> tuple[list[Notice], str | None]:
        """The latest first."""
