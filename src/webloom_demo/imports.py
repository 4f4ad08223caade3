"""The demo's job feeds: added, imported, and imported again after they have changed."""

from __future__ import annotations

import asyncio

from webloom.bootstrap.services import Services
from webloom.domain.feed import Feed
from webloom.domain.import_run import ImportRun, RunStatus
from webloom_demo.feeds import demo_feeds
from webloom_demo.report import DemoReport

POLL_SECONDS = 0.2
MINUTES = 1.0  # so that those who watch see the next edition soon
FIRST, KNOWN = "The first import:", "An import of feeds that an earlier demo has added:"
AGAIN = "The same feeds again, after some of their postings have changed:"


async def show_imports(
    services: Services, address: str, report: DemoReport, stop: asyncio.Event
) -> bool:
    """False: it was stopped before its end."""
    feeds, are_new = await _add(services, address, report)
    for heading in (FIRST if are_new else KNOWN, AGAIN):
        runs = await _import(services, feeds, stop)
        if runs is None:
            return False
        report.import_runs(heading, runs)
    return True


async def _add(services: Services, address: str, report: DemoReport) -> tuple[list[Feed], bool]:
    """The feeds, and whether there were none of them before."""
    shown, are_new = [], True
    for demo in demo_feeds():
        feed, is_new = await services.manage_feeds.add(
            f"http://{address}{demo.path}",
            demo.name,
            interval_minutes=MINUTES,
            close_missing=demo.close_missing,
        )
        are_new &= is_new
        shown.append((demo.about, feed))
    report.feeds(shown)
    return [feed for _, feed in shown], are_new


async def _import(
    services: Services, feeds: list[Feed], stop: asyncio.Event
) -> list[ImportRun] | None:
    """The runs at their end, in the order of the feeds."""
    started = [await services.start_import(feed.feed_id, "manual") for feed in feeds]
    run_ids = [each.run.run_id for each in started if each is not None]
    while not stop.is_set():
        found = [await services.imports.listed_runs.find(run_id) for run_id in run_ids]
        runs = [run for run in found if run is not None]
        if all(run.status is not RunStatus.RUNNING for run in runs):
            return runs
        await asyncio.sleep(POLL_SECONDS)
    return None
