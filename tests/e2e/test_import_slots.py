"""The import slots of a scheduler, shared by the feeds of several hosts."""

from __future__ import annotations

import asyncio
from pathlib import Path

from e2e.feed_site import FeedSite, item, rss
from e2e.import_runs import ended_run, start_import
from e2e.running import until
from e2e.watched_site import ALLOWED
from webloom.bootstrap.connections import open_services
from webloom.domain.import_run import RunStatus
from webloom.domain.politeness import slots_of_one_host
from webloom.entrypoints.scheduler import MOST_RUNS, run_scheduler
from webloom.entrypoints.worker import serve_batches
from webloom.settings import load_settings


async def test_feeds_of_one_host_leave_half_of_the_slots_to_others(tmp_path: Path) -> None:
    most = slots_of_one_host(MOST_RUNS)
    settings = load_settings(
        {"WEBLOOM_DATA_DIR": str(tmp_path), "WEBLOOM_ALLOW_ADDRESSES": ALLOWED}
    )
    async with FeedSite() as hanging, FeedSite() as healthy, open_services(settings) as services:
        hanging.feed = healthy.feed = rss(item(1))
        slow = [
            await start_import(services, hanging.url(f"/gated-feed?n={n}"))
            for n in range(MOST_RUNS + 1)
        ]
        quick = await start_import(services, healthy.url("/feed"))
        stop = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(run_scheduler(services, stop))
            group.create_task(serve_batches(services, stop))
            try:
                await until(lambda: len(hanging.requests) == most, what="half of the slots in use")
                assert (await ended_run(services, quick)).status is RunStatus.COMPLETED
                assert len(hanging.requests) == most, "the others wait without a slot"
                waiting = [await services.imports.listed_runs.find(each) for each in slow[most:]]
                assert {run.status for run in waiting if run} == {RunStatus.RUNNING}
                hanging.opened.set()
                for run_id in slow:
                    run = await ended_run(services, run_id)
                    assert (run.status, run.reading.fetched) == (RunStatus.COMPLETED, 1)
                assert len(hanging.requests) == len(slow), "each was fetched once"
            finally:
                stop.set()
