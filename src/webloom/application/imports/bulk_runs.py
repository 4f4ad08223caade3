"""Import the feeds of many runs again."""

from __future__ import annotations

from dataclasses import dataclass, replace

from webloom.application.bulk import Done, Failure, refuse_many
from webloom.application.imports.start_import import StartImport
from webloom.domain.import_run import RunStatus
from webloom.ports.clock import Clock
from webloom.ports.import_runs import RunFilter
from webloom.ports.imports import Imports

READ_AT_ONCE = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class BulkRuns:
    store: Imports
    start: StartImport
    clock: Clock

    async def chosen(self, chosen: RunFilter, at_most: float | None = None) -> list[str]:
        """The latest run of each feed among those that a filter finds. Raises BulkRefused if they
        are too many."""
        chosen = replace(chosen, until=chosen.until or self.clock.now())
        latest: dict[str, str] = {}  # by feed
        count, place = 0, None
        while True:
            runs, place = await self.store.listed_runs.scan(chosen, place, limit=READ_AT_ONCE)
            count += len(runs)
            refuse_many(count, at_most)
            for run in runs:
                latest.setdefault(run.feed_id, run.run_id)
            if place is None:
                return list(latest.values())

    async def retry(self, run_id: str) -> Done | Failure:
        """Skips a run that went wrong if its feed has been imported well since."""
        run = await self.store.listed_runs.find(run_id)
        if run is None:
            return Failure(id=run_id, name=None, reason="Run not found")
        if run.status in (RunStatus.FAILED, RunStatus.PARTIAL):
            feed = await self.store.feeds.find(run.feed_id)
            if feed is not None and feed.last_status is RunStatus.COMPLETED:
                reason = "Not needed: its feed has been imported completely since"
                return Failure(id=run_id, name=run.source_name, reason=reason, is_skipped=True)
        started = await self.start(run.feed_id, "retry", retry_of=run_id)
        if started is not None and started.is_new:
            return Done()
        reason = "Its feed was removed" if started is None else "Its feed is being imported already"
        return Failure(id=run_id, name=run.source_name, reason=reason)
