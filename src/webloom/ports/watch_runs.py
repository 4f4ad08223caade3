from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from webloom.domain.watch import Watch, WatchRun
from webloom.domain.watch_run import NewRun, NextRun


@dataclass(frozen=True, kw_only=True, slots=True)
class ActiveRun:
    """A run in progress, as the scheduler sees it."""

    run: WatchRun
    watch: Watch
    published_at: datetime | None  # when all its checks were on the queue; None: not yet


class WatchRuns(Protocol):
    """Runs of watches. A watch has one active run at most.

    Every write is atomic and can be repeated. Raises StoreUnavailable.
    """

    async def start_run(self, watch_id: str, new: NewRun) -> WatchRun | None:
        """A new run with a page for each URL of the watch, or the active run, whose id differs. The
        same call again returns the run that the first one started. None: the watch is unknown, no
        longer due, or external."""

    async def active_runs(self, *, limit: int) -> list[ActiveRun]:
        """Runs in progress, the oldest first, with current counters; without runs of events. On the
        way, a watch whose active run is missing or over is freed, and a run whose watch is gone
        ends."""

    async def unchecked(self, run_id: str) -> list[str]:
        """URLs of the run without an outcome."""

    async def is_open(self, run_id: str, url: str) -> bool:
        """Whether the run is in progress and the page has no outcome in it."""

    async def note_published(self, run_id: str, at: datetime) -> None:
        """All its checks are on the queue."""

    async def finish_run(self, run_id: str, next_run: NextRun) -> WatchRun | None:
        """End the run and free its watch, which gets its last run, its failures in a row, its
        metrics and its next run. Pages without an outcome count as failed. If the next run of the
        watch is no longer `instead_of`, an edit has set it, and it stays; a paused watch has none.
        A repeated call changes nothing and returns the run. None: the run is unknown."""

    async def close_idle_runs(self, idle_since: datetime, *, limit: int) -> int:
        """Close runs of events without an event since then, at most `limit`; how many. Their pages
        decide the status."""

    async def first_failures(self, run_ids: Collection[str]) -> Mapping[str, str]:
        """Why a page of each of these runs failed, by run. Without those that are unknown or in
        progress, or in which no page failed."""

    async def find_run(self, run_id: str) -> WatchRun | None:
        """With current counters while it is in progress."""
