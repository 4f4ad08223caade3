"""The demo's shop: watched, checked a few times in a row while its prices move, and shown."""

from __future__ import annotations

import asyncio

from rich.console import Console

from webloom.bootstrap import Services
from webloom.domain.page import Selection
from webloom.domain.schedule import Schedule
from webloom.domain.storage_event import moment_of
from webloom.domain.watch import RunStatus, Watch, WatchRun
from webloom.entrypoints.cli.output import counted, plain, show_table, table
from webloom.entrypoints.cli.price_curve import price_curve
from webloom.entrypoints.demo_shop import shop_pages
from webloom.ports.page_store import ChangeFilter, ChangeLog

WATCH_ID = "loom-and-weft"  # a second demo finds the watch of the first
SECONDS = 6.0  # between two checks, for those who stay
CHECKS = 8  # that are shown
MOST_CHANGES = 12
MOST_PRICES = 24
POLL_SECONDS = 0.1


async def show_watches(services: Services, address: str, to: Console, stop: asyncio.Event) -> bool:
    """False: it was stopped before its end."""
    watch = await _add(services, address)
    to.print(
        f"Watching the sale of Loom & Weft, {counted(len(watch.config.urls), 'page')}; "
        f"{CHECKS} checks in a row, then one every {SECONDS:.0f} s:\n",
        soft_wrap=True,
    )
    for number in range(1, CHECKS + 1):
        run = await _check(services, stop)
        if run is None:
            return False
        to.print(f"check {number}: {_told(run)}", soft_wrap=True)
    to.print()
    await _show_pages(services, watch, to)
    await _show_changes(services, watch, to)
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
        run = await services.watches.find_run(started.run.run_id)
        if run is not None and run.status is not RunStatus.IN_PROGRESS:
            return run
        await asyncio.sleep(POLL_SECONDS)
    return None


def _told(run: WatchRun) -> str:
    tally = run.tally
    said = [counted(tally.processed, "page"), f"{tally.changes} changed"]
    if tally.price_changes:
        said.append(f"{counted(tally.price_changes, 'price')} moved")
    if run.failures:
        path, reason = run.failures[0].url.rpartition("/")[2], run.failures[0].reason
        said.append(f"{path} not seen: {reason}")
    return plain(", ".join(said))


async def _show_pages(services: Services, watch: Watch, to: Console) -> None:
    shown = table("page", "what it is", "version", "price", "what it did", "availability")
    for each, url in zip(shop_pages(), watch.config.urls, strict=True):
        page = await services.pages.find_page(WATCH_ID, url)
        if page is None:
            continue
        prices, _ = await services.pages.prices(WATCH_ID, url, limit=MOST_PRICES)
        amounts = [record.price for record in reversed(prices)]
        shown.add_row(
            each.path,
            plain(each.about),
            str(page.version or "-"),
            "-" if page.price is None else plain(f"{page.price:,.2f} {page.currency or ''}"),
            price_curve(amounts) if amounts else "-",
            plain(page.availability or "-"),
        )
    show_table(shown, to)
    to.print()


async def _show_changes(services: Services, watch: Watch, to: Console) -> None:
    changes, _ = await services.pages.change_logs(
        ChangeFilter(job_id=watch.watch_id), limit=MOST_CHANGES
    )
    to.print("The latest changes:\n")
    shown = table("seen", "page", "version", "what changed")
    for change in changes:
        shown.add_row(
            f"{moment_of(change.timestamp):%H:%M:%S} UTC",
            plain(_path(change)),
            f"{change.previous} -> {change.current}",
            plain("; ".join(change.alerts)),
        )
    show_table(shown, to)
    to.print()


def _path(change: ChangeLog) -> str:
    return "/" + change.url.split("/", 3)[3]
