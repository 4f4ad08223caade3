"""The demo's shop: watched, checked a few times in a row while its prices move, and shown."""

from __future__ import annotations

import asyncio

from webloom.bootstrap.services import Services
from webloom.domain.page import Selection
from webloom.domain.schedule import Schedule
from webloom.domain.watch import RunStatus, Watch, WatchRun
from webloom.ports.page_history import ChangeFilter
from webloom_demo.report import DemoReport, ShownPage
from webloom_demo.shop import shop_pages

WATCH_ID = "loom-and-weft"  # a second demo finds the watch of the first
SECONDS = 6.0  # between two checks, for those who stay
CHECKS = 8  # that are shown
MOST_CHANGES = 12
MOST_PRICES = 24
POLL_SECONDS = 0.1


async def show_watches(
    services: Services, address: str, report: DemoReport, stop: asyncio.Event
) -> bool:
    """False: it was stopped before its end."""
    watch = await _add(services, address)
    report.watching(watch)
    for number in range(1, CHECKS + 1):
        run = await _check(services, stop)
        if run is None:
            return False
        report.check(number, run)
    report.pages(await _pages(services, watch))
    chosen = ChangeFilter(watch_id=watch.watch_id)
    changes, _ = await services.page_history.change_logs(chosen, limit=MOST_CHANGES)
    report.changes(changes)
    return True


async def _add(services: Services, address: str) -> Watch:
    urls = [f"http://{address}{each.path}" for each in shop_pages()]
    schedule = Schedule(every_minutes=SECONDS / 60)
    watch, is_new = await services.manage_watches.add(
        urls,
        name="Loom & Weft: the sale",
        watch_id=WATCH_ID,
        schedule=schedule,
        selection=Selection(ignore_pattern=["^It is now "]),
    )
    if not is_new:  # the site may have another port now
        edited = await services.manage_watches.edit(WATCH_ID, urls=urls, enabled=True)
        watch = edited or watch
    return watch


async def _check(services: Services, stop: asyncio.Event) -> WatchRun | None:
    """One run to its end; that which is in progress, if there is one. None: it was stopped."""
    started = await services.start_watch(WATCH_ID, "manual")
    while started is not None and not stop.is_set():
        run = await services.watch_runs.find_run(started.run.run_id)
        if run is not None and run.status is not RunStatus.IN_PROGRESS:
            return run
        await asyncio.sleep(POLL_SECONDS)
    return None


async def _pages(services: Services, watch: Watch) -> list[ShownPage]:
    shown = []
    for each, url in zip(shop_pages(), watch.config.urls, strict=True):
        page = await services.pages.find_page(WATCH_ID, url)
        if page is not None:
            prices, _ = await services.page_history.prices(WATCH_ID, url, limit=MOST_PRICES)
            shown.append(ShownPage(each.path, each.about, page, prices[::-1]))
    return shown
