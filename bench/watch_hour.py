"""100,000 watched pages that are due in one hour: how much of the hour one machine needs.

A whole `webloom up` with its usual settings, against a site on loopback that has a process of its
own on the same machine. All watches are due at one moment; the time ends when the last run does.

    first check     every page is read and stored
    second check    of 20 pages one has changed, 5 answer 304, 4 have other bytes and the same text

    behind          100,000 watches of one page are due: how fast the first of them are checked

No page waits for a host here: the hosts are many, and answer at once.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.processes import PYTHON, Process, running, usage, wait_for_url
from bench.table import Row
from bench.watch_site import Kind, WatchSite, kind_of, watch_site
from bench.watch_store import opened
from servers.private import free_port
from webloom.bootstrap.services import Services
from webloom.domain.schedule import Schedule
from webloom.domain.watch import RunStatus, WatchConfig, WatchRun
from webloom.ports.page_storage import Usage
from webloom.ports.watch_run_listing import RunFilter

DUE = 100_000
HOUR = 3600.0
MUST = 0.5
CORES = 2  # of the machine that the bench reckons with
HOSTS = 50
PAGES = 3_000
LAYOUTS = (50, 1)  # URLs of a watch
HEAD_START = timedelta(seconds=3)  # to make all watches due
ADDED_AT_ONCE = 1000
POLL_SECONDS = 0.25
ROUND_SECONDS = 600.0


@dataclass(frozen=True, kw_only=True)
class _Speed:
    seconds: float
    cpu_seconds: float  # of all processes of ours


@dataclass(frozen=True, kw_only=True)
class _Round(_Speed):
    """From when the watches were due to the end of the last run."""

    runs: list[WatchRun]


async def measure_hour(folder: Path, **environment: str) -> list[Row]:
    rows: list[Row] = []
    for size in LAYOUTS:
        async with watch_site(HOSTS) as site, _up(folder / str(size), environment) as up:
            configs = _configs(site, PAGES, size)
            for watch_id, config in configs.items():
                await up.services.watches.add_watch(watch_id, config, next_run_at=None)
            first = await _check_all(up, configs)
            await _verify(up.services, first, Counter())
            await site.turn_later()
            second = await _check_all(up, configs)
            await _verify(up.services, second, Counter(map(kind_of, range(PAGES))))
            watches = f"{len(configs):,} watches of {size}"
            rows += _rows(f"first check, {watches}", first)
            rows += _rows(f"second check, {watches}", second)
    behind = await _first_of_many(folder / "behind", environment)
    return rows + _rows(f"first check, {DUE:,} watches of 1", behind)


def _rows(name: str, measured: _Speed) -> list[Row]:
    """Of PAGES pages."""
    return [
        Row(
            measure=f"{DUE:,} pages, {name}",
            unit="s",
            webloom=DUE * measured.seconds / PAGES,
            peer="the hour",
            peer_value=HOUR,
            must=MUST,
            lower_is_better=True,
        ),
        Row(
            measure=f"CPU of a page, {name}",
            unit="ms",
            webloom=1000 * measured.cpu_seconds / PAGES,
            peer=f"{CORES} cores for that time",
            peer_value=1000 * CORES * measured.seconds / PAGES,
            must=None,
            lower_is_better=True,
        ),
    ]


@dataclass(frozen=True, kw_only=True)
class _Up:
    services: Services  # the bench's own, beside those of the process
    process: Process


@asynccontextmanager
async def _up(folder: Path, environment: dict[str, str]) -> AsyncIterator[_Up]:
    port = str(free_port())
    environment = environment | {
        "WEBLOOM_DATA_DIR": str(folder),
        "WEBLOOM_PORT": port,
        "WEBLOOM_ALLOW_ADDRESSES": "127.0.0.0/8",
        "WEBLOOM_LOG_LEVEL": "warning",
    }
    async with running([PYTHON, "-m", "webloom", "up"], env=environment) as process:
        await wait_for_url(f"http://127.0.0.1:{port}/health/live")
        async with opened(folder, **environment) as services:
            yield _Up(services=services, process=process)


def _configs(site: WatchSite, pages: int, size: int) -> dict[str, WatchConfig]:
    """Watches by their id. All pages of a watch are of one host."""
    configs = {}
    for place, start in enumerate(range(0, pages, size)):
        name = f"watch-{place:05d}"
        urls = [site.url(number, place) for number in range(start, start + size)]
        configs[name] = WatchConfig(name=name, urls=urls, schedule=Schedule(every_minutes=60))
    return configs


async def _check_all(up: _Up, configs: dict[str, WatchConfig]) -> _Round:
    watches = up.services.watches
    await asyncio.gather(  # the next run moves only with the schedule
        *(
            watches.edit_watch(watch_id, replace(config, enabled=False), next_run_at=None)
            for watch_id, config in configs.items()
        )
    )
    due = datetime.now(UTC) + HEAD_START
    due = due.replace(microsecond=due.microsecond // 1000 * 1000)  # as runs tell of it
    await asyncio.gather(
        *(
            watches.edit_watch(watch_id, config, next_run_at=due)
            for watch_id, config in configs.items()
        )
    )
    await asyncio.sleep((due - datetime.now(UTC)).total_seconds())
    before = usage(up.process.pid)
    async with asyncio.timeout(ROUND_SECONDS):
        while True:
            is_due = await watches.due_watches(due, limit=1)
            if not is_due and not await up.services.watch_runs.active_runs(limit=1):
                break
            await asyncio.sleep(POLL_SECONDS)
    cpu_seconds = usage(up.process.pid).cpu_since(before)
    runs = [run for run in await _runs(up.services) if run.started_at >= due]
    if len(runs) != len(configs):
        raise RuntimeError(f"{len(configs)} watches were due, and there were {len(runs)} runs")
    ended = max(run.finished_at for run in runs if run.finished_at is not None)
    return _Round(seconds=(ended - due).total_seconds(), cpu_seconds=cpu_seconds, runs=runs)


async def _first_of_many(folder: Path, environment: dict[str, str]) -> _Speed:
    """From the first page that is stored on: as many as PAGES."""
    async with watch_site(HOSTS) as site:
        async with opened(folder, **environment) as services:
            await _add_due(services, _configs(site, DUE, 1))
        async with _up(folder, environment) as up, asyncio.timeout(ROUND_SECONDS):
            first = await _stored(up.services, 1)
            started, before = time.perf_counter(), usage(up.process.pid)
            last = await _stored(up.services, first + PAGES)
            seconds = time.perf_counter() - started
            cpu_seconds = usage(up.process.pid).cpu_since(before)
            failed = sum(run.tally.failed for run in await _runs(up.services))
    if failed:
        raise RuntimeError(f"{failed} pages could not be checked")
    share = PAGES / (last - first)
    return _Speed(seconds=seconds * share, cpu_seconds=cpu_seconds * share)


async def _add_due(services: Services, configs: dict[str, WatchConfig]) -> None:
    watches, due, left = services.watches, datetime.now(UTC), list(configs.items())
    while left:
        some, left = left[:ADDED_AT_ONCE], left[ADDED_AT_ONCE:]
        await asyncio.gather(*(watches.add_watch(*each, next_run_at=due) for each in some))


async def _stored(services: Services, wanted: int) -> int:
    """How many versions there are, as soon as there are so many."""
    while True:
        found = {
            each.collection: each.items
            for each in await services.page_storage.usage(with_superseded=False)
        }
        if found["snapshots"] >= wanted:
            return found["snapshots"]
        await asyncio.sleep(POLL_SECONDS)


async def _used(services: Services) -> dict[str, Usage]:
    used = await services.page_storage.usage(with_superseded=False)
    return {each.collection: each for each in used}


async def _runs(services: Services) -> Sequence[WatchRun]:
    found: list[WatchRun] = []
    cursor = None
    while True:
        some, cursor = await services.watch_run_listing.runs(RunFilter(), limit=500, cursor=cursor)
        found += some
        if cursor is None:
            return found


async def _verify(services: Services, measured: _Round, kinds: Counter[Kind]) -> None:
    """Raises RuntimeError: a page was not counted once, or is not stored as it is."""
    price_changes = kinds[Kind.PRICE_CHANGED]
    changes = price_changes + kinds[Kind.TEXT_CHANGED]
    runs, usage_of = (
        measured.runs,
        {
            each.collection: each
            for each in await services.page_storage.usage(with_superseded=False)
        },
    )
    for what, wanted, found in (
        ("runs that completed", len(runs), _completed(runs)),
        ("pages processed", PAGES, sum(run.tally.processed for run in runs)),
        ("pages that failed", 0, sum(run.tally.failed for run in runs)),
        ("changes", changes, sum(run.tally.changes for run in runs)),
        ("price changes", price_changes, sum(run.tally.price_changes for run in runs)),
        ("versions", PAGES + changes, usage_of["snapshots"].items),
        ("change logs", changes, usage_of["change_logs"].items),
        ("price records", PAGES + changes, usage_of["price_history"].items),
    ):
        if found != wanted:
            raise RuntimeError(f"of {wanted} {what} there are {found}")


def _completed(runs: Sequence[WatchRun]) -> int:
    return sum(run.status is RunStatus.COMPLETED for run in runs)
