"""Queue -> fetch -> stored -> acknowledged, against a bare loop and against Scrapy.

The queue is filled first; what is timed is the work of `webloom worker` processes, one for each
core of the machine that the bench reckons with, from the first pages to the last.
"""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median

from bench.processes import PYTHON, run_json, running, usage
from bench.site import Site, page_urls, start_site
from bench.table import Row
from webloom.bootstrap.connections import open_services
from webloom.bootstrap.services import Services
from webloom.domain.inventory import Status
from webloom.settings import load_settings

WIDTH = 128
WORKERS = 2
PAGES = 20_000
SCRAPY_PAGES = 5_000
ROUNDS = 3


async def measure() -> list[Row]:
    alone, together, bare, scrapy = [], [], [], []
    async with start_site() as site:
        for _ in range(ROUNDS):  # in turns, so that a slow minute slows all of them
            bare.append(await _bare(site))
            together.append(await timed_run(site, pages=PAGES, workers=WORKERS))
            alone.append(await timed_run(site, pages=PAGES, workers=1))
            scrapy.append(await _scrapy(site))
    against_bare = median(a / b for a, b in zip(together, bare, strict=True)) * median(bare)
    peer = f"bare aiohttp loop, {WIDTH} wide"
    return [
        Row(
            measure=f"pages fetched and stored, {WORKERS} workers, {WIDTH} slots in all",
            unit="pages/s",
            webloom=against_bare,
            peer=peer,
            peer_value=median(bare),
            must=0.35,
        ),
        Row(
            measure="the same",
            unit="pages/s",
            webloom=median(together),
            peer="Scrapy, items to a file",
            peer_value=median(scrapy),
            must=4.0,
        ),
        Row(
            measure=f"pages fetched and stored, 1 worker, {WIDTH} slots",
            unit="pages/s",
            webloom=median(alone),
            peer=peer,
            peer_value=median(bare),
            must=None,
        ),
    ]


async def measure_memory() -> list[Row]:
    """One worker over 50,000 pages: what it holds at the end, against after the first 10,000."""
    async with (
        start_site() as site,
        _filled_queue(site, 50_000, slots=WIDTH) as (services, env),
        running([PYTHON, "-m", "webloom", "worker"], env=env) as worker,
    ):
        await _until_left(services, 50_000, 40_000)
        early = usage(worker.pid).rss_bytes
        await _until_left(services, 50_000, 0)
        late = usage(worker.pid).rss_bytes
    return [
        Row(
            measure="worker memory after 50,000 pages",
            unit="MB",
            webloom=late / 1e6,
            peer="after 10,000 pages",
            peer_value=early / 1e6,
            must=1.15,
            lower_is_better=True,
        ),
        Row(
            measure="the same",
            unit="MB",
            webloom=late / 1e6,
            peer="the limit",
            peer_value=250,
            must=1.0,
            lower_is_better=True,
        ),
    ]


async def _bare(site: Site) -> float:
    command = ["-m", "bench.peers.bare_aiohttp", "--site", site.url]
    result = await run_json([PYTHON, *command, "--pages", str(PAGES), "--width", str(WIDTH)])
    return float(result["pages_per_second"])


async def _scrapy(site: Site) -> float:
    with tempfile.TemporaryDirectory() as folder:
        command = ["-m", "bench.peers.scrapy_spider", "--site", site.url]
        sizes = ["--pages", str(SCRAPY_PAGES), "--width", str(WIDTH)]
        output = ["--output", str(Path(folder) / "items.jsonl")]
        result = await run_json([PYTHON, *command, *sizes, *output])
    return float(result["pages_per_second"])


async def timed_run(site: Site, *, pages: int, workers: int, **settings: str) -> float:
    """Pages per second of so many workers, on the backends that the settings name."""
    async with _filled_queue(site, pages, slots=WIDTH // workers, **settings) as (services, env):
        async with asyncio.TaskGroup() as group:
            ended = asyncio.Event()
            for _ in range(workers):
                group.create_task(_worker(env, ended))
            left = await _until_left(services, pages, pages * 9 // 10)  # past the start-up
            started = time.perf_counter()
            await _until_left(services, pages, 0)
            seconds = time.perf_counter() - started
            ended.set()
        return left / seconds


async def _worker(env: dict[str, str], ended: asyncio.Event) -> None:
    async with running([PYTHON, "-m", "webloom", "worker"], env=env):
        await ended.wait()


async def _until_left(services: Services, pages: int, most: int) -> int:
    """Wait until so many pages or fewer are not yet stored."""
    while True:
        left = pages - (await services.records.count_by_status())[Status.COMPLETED]
        if left <= most:
            return left
        await asyncio.sleep(0.25)


@asynccontextmanager
async def _filled_queue(
    site: Site, pages: int, *, slots: int, **settings: str
) -> AsyncIterator[tuple[Services, dict[str, str]]]:
    with tempfile.TemporaryDirectory() as folder:
        env = {
            "WEBLOOM_DATA_DIR": folder,
            "WEBLOOM_SLOTS": str(slots),
            "WEBLOOM_HOST_CONCURRENCY": str(slots),
            "WEBLOOM_QUEUE_LIMIT": str(pages),
            "WEBLOOM_ALLOW_ADDRESSES": "127.0.0.1",
            "WEBLOOM_LOG_LEVEL": "warning",
        } | settings
        async with open_services(load_settings(env)) as services:
            urls = page_urls(site.url, pages)
            for start in range(0, pages, 1000):
                await services.submit_url.many(urls[start : start + 1000])
            yield services, env
