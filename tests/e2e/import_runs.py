"""Starting an import in this process, and waiting for its end."""

from __future__ import annotations

from e2e.running import until_some
from webloom.bootstrap.services import Services
from webloom.domain.import_run import ImportRun, RunStatus


async def start_import(services: Services, url: str) -> str:
    feed, _ = await services.manage_feeds.add(url, enabled=False)
    started = await services.start_import(feed.feed_id, "manual")
    assert started is not None
    return started.run.run_id


async def ended_run(services: Services, run_id: str) -> ImportRun:
    async def look() -> ImportRun | None:
        run = await services.imports.listed_runs.find(run_id)
        return run if run is not None and run.status is not RunStatus.RUNNING else None

    return await until_some(look, what="the end of a run")
