"""Polls the store every few seconds, to count what is done."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from webloom.application.overview.sampler_counts import HOUR, Counts
from webloom.cancellation import cancel_and_wait
from webloom.domain.errors import BackendRefused, Unavailable
from webloom.domain.import_run import ImportRun
from webloom.domain.watch import RunStatus, WatchRun
from webloom.ports.clock import Clock
from webloom.ports.heartbeats import SEEN_SECONDS, Heartbeats
from webloom.ports.import_runs import ListedRuns
from webloom.ports.watch_run_listing import RunFilter, WatchRunListing
from webloom.ports.watch_runs import WatchRuns

log = logging.getLogger(__name__)

SAMPLE_SECONDS = 5.0
LOOK_BACK = timedelta(seconds=15)  # as in the stream of runs
PAGE = 500
MARGIN = timedelta(minutes=1)  # for clock skew, and runs that become visible late
MOST_WATCH_RUNS = 5000  # read in one poll
MOST_ASKED = 200  # long runs queried one by one in one poll; the rest follow in the next


@dataclass(kw_only=True, slots=True)
class Sampler:
    heartbeats: Heartbeats
    imports: ListedRuns
    watch_runs: WatchRuns
    watch_run_listing: WatchRunListing
    clock: Clock
    counts: Counts = field(init=False)
    _imports_since: datetime | None = field(init=False, default=None)
    _watches_since: datetime | None = field(init=False, default=None)
    _is_lost: bool = field(init=False, default=False)  # the store, and that was logged

    def __post_init__(self) -> None:
        self.counts = Counts(self.clock.now())

    @asynccontextmanager
    async def sampling(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._sample())
        try:
            yield
        finally:
            await cancel_and_wait(task)

    async def poll(self) -> None:
        """Raises what the store does."""
        seen = await self.heartbeats.seen(SEEN_SECONDS)
        self.counts.see_processes(seen, self.clock.now())
        imports = await self._changed_imports()
        self.counts.see_imports(imports, self.clock.now())
        await self._poll_watches()

    async def _sample(self) -> None:
        while True:
            try:
                await self.poll()
                self._is_lost = False
            except (Unavailable, BackendRefused) as error:
                if not self._is_lost:
                    log.warning("cannot count what is done", extra={"error": str(error)})
                self._is_lost = True
            except Exception:  # counting must not end the process
                log.exception("cannot count what is done")
            await asyncio.sleep(SAMPLE_SECONDS)

    async def _changed_imports(self) -> list[ImportRun]:
        changed_runs = self.imports.changed
        since = self._imports_since
        found: dict[str, ImportRun] = {}
        if since is None:
            since = self.clock.now() - HOUR
            found |= {run.run_id: run for run in await changed_runs(None, limit=PAGE)}
        position = since - LOOK_BACK
        while True:
            runs = await changed_runs(position, limit=PAGE)
            found |= {run.run_id: run for run in runs}
            if len(runs) < PAGE or runs[-1].updated_at <= position:
                break
            position = runs[-1].updated_at
        self._imports_since = max([since, *(run.updated_at for run in found.values())])
        return list(found.values())

    async def _poll_watches(self) -> None:
        """All that started since the last poll, and those that were in progress then."""
        now = self.clock.now()
        since = self._watches_since
        found: dict[str, WatchRun] = {}
        if since is None:
            since = now - 2 * HOUR  # what ended in the last one may have started before
            found |= await self._watch_runs(RunFilter(status=RunStatus.IN_PROGRESS))
        found |= await self._watch_runs(RunFilter(), since - MARGIN)
        lost: list[str] = []
        for run_id in self.counts.missing_watches(found)[:MOST_ASKED]:
            run = await self.watch_runs.find_run(run_id)
            if run is None:
                lost.append(run_id)
            else:
                found[run_id] = run
        self.counts.see_watches(found.values(), now, lost)
        self._watches_since = now

    async def _watch_runs(
        self, chosen: RunFilter, since: datetime | None = None
    ) -> dict[str, WatchRun]:
        """Those that started at `since` or later. Earlier ones must not be seen again: the counts
        have forgotten them."""
        found: dict[str, WatchRun] = {}
        cursor: str | None = None
        while len(found) < MOST_WATCH_RUNS:
            runs, cursor = await self.watch_run_listing.runs(chosen, limit=PAGE, cursor=cursor)
            fresh = [run for run in runs if since is None or run.started_at >= since]
            found |= {run.run_id: run for run in fresh}
            if cursor is None or len(fresh) < len(runs):
                break
        return found
