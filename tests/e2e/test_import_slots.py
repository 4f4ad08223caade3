"""The import slots of a scheduler, shared by the feeds of several hosts."""

from __future__ import annotations

import asyncio
from pathlib import Path

from e2e.feed_site import FeedSite, item, rss
from e2e.running import until, until_some
from e2e.watched_site import ALLOWED
from webloom.bootstrap import Services, open_services
from webloom.domain.import_run import ImportRun, RunStatus
from webloom.domain.politeness import slots_of_one_host
from webloom.entrypoints.scheduler import MOST_RUNS, run_scheduler
from webloom.entrypoints.worker import serve_batches
from webloom.settings import load_settings


async def start(services: Services, url: str) -> str:
    feed, _ = await services.manage_feeds.add(url, enabled=False)
    started = await services.start_import(feed.feed_id, "manual")
    assert started is not None
    return started.run.run_id


async def ended(services: Services, run_id: str) -> ImportRun:
    async def look() -> ImportRun | None:
        run = await services.imports.find_run(run_id)
        return run if run is not None and run.status is not RunStatus.RUNNING else None

    return await until_some(look, what="the end of a run")


async def test_feeds_of_one_host_leave_half_of_the_slots_to_others(tmp_path: Path) -> None:
    most = slots_of_one_host(MOST_RUNS)
    settings = load_settings(
        {"WEBLOOM_DATA_DIR": str(tmp_path), "WEBLOOM_ALLOW_ADDRESSES": ALLOWED}
    )
    async with FeedSite() as hanging, FeedSite() as healthy, open_services(settings) as services:
        hanging.feed = healthy.feed = rss(item(1))
        slow = [
            await start(services, hanging.url(f"/gated-feed?n={n}")) for n in range(MOST_RUNS + 1)
        ]
        quick = await start(services, healthy.url("/feed"))
        stop = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(run_scheduler(services, stop))
            group.create_task(serve_batches(services, stop))
            try:
                await until(lambda: len(hanging.requests) == most, what="half of the slots in use")
                assert (await ended(services, quick)).status is RunStatus.COMPLETED
                assert len(hanging.requests) == most, "the others wait without a slot"
                waiting = [await services.imports.find_run(each) for each in slow[most:]]
                assert {run.status for run in waiting if run} == {RunStatus.RUNNING}
                hanging.opened.set()
                for run_id in slow:
                    run = await ended(services, run_id)
                    assert (run.status, run.reading.fetched) == (RunStatus.COMPLETED, 1)
                assert len(hanging.requests) == len(slow), "each was fetched once"
            finally:
                stop.set()
