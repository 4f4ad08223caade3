"""The admin UI: how long it takes to install, what it weighs, how soon it shows a change, and what
open pages cost the API.

python -m bench ui
python -m bench.admin_ui weight history    some parts only
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

import uvloop
from aiohttp import ClientSession, ClientTimeout, TCPConnector

from bench.admin_ui_lists import measure_lists
from bench.admin_ui_visible import measure_visible
from bench.api import free_port
from bench.feeds import start_feed_server, write_feed
from bench.import_runs import Imported, System, webloom_up
from bench.processes import PYTHON, ROOT, ProcessFailed, running, wait_for_url
from bench.stack import running_server
from bench.table import Row, print_table
from servers.mongod import MongoServer
from ui_weight import MOST_JS, first_loads
from webloom.bootstrap.connections import open_whole
from webloom.domain.import_run import Counts, ImportRun, Phase, Reading, RunStatus
from webloom.settings import load_settings

HOST = "127.0.0.1"
MOST_SETUP = 90.0  # seconds
HEALTH_SECONDS = 15.0  # between two questions of an open page after the health
OPEN_PAGES = 200
ITEMS = 60_000
ROUNDS = 3
FEW, MANY = 100, 100_000  # runs
REQUESTS = 400


async def _install(folder: Path) -> list[Row]:
    """`make setup` of what is committed, in a fresh clone: the UI is built. Then again."""
    clone = folder / "clone"
    await _finished("git", "clone", "--quiet", "--local", str(ROOT), str(clone), cwd=folder)
    first = await _finished("make", "setup", cwd=clone)
    built = _written(clone)
    again = await _finished("make", "setup", cwd=clone)
    if not built or _written(clone) != built:
        raise ProcessFailed("make setup has not built the UI, or has built it again unchanged")
    return [
        Row(
            measure=measure,
            unit="s",
            webloom=seconds,
            peer="the limit",
            peer_value=MOST_SETUP,
            must=must,
            lower_is_better=True,
        )
        for measure, seconds, must in (
            ("make setup in a fresh clone, with the UI", first, 1.0),
            ("make setup again, which leaves the UI as it is", again, None),
        )
    ]


async def _finished(*command: str, cwd: Path) -> float:
    """How many seconds it took. Raises ProcessFailed if it did not go well."""
    started = asyncio.get_running_loop().time()
    process = await asyncio.create_subprocess_exec(*command, cwd=cwd)
    if await process.wait():
        raise ProcessFailed(f"{' '.join(command)} ended with {process.returncode}")
    return asyncio.get_running_loop().time() - started


def _written(clone: Path) -> dict[Path, int]:
    """The files of the UI with when they were written."""
    files = (clone / "src/webloom/_ui").rglob("*")
    return {file: file.stat().st_mtime_ns for file in files if file.is_file()}


async def _weight(_: Path) -> list[Row]:
    sizes = first_loads()
    heaviest = max(sizes, key=lambda page: sizes[page])
    return [
        Row(
            measure=f"JS of the first load, gzip, heaviest page ({heaviest})",
            unit="kB",
            webloom=sizes[heaviest] / 1000,
            peer="the limit",
            peer_value=MOST_JS / 1000,
            must=1.0,
            lower_is_better=True,
        )
    ]


async def _listeners(folder: Path) -> list[Row]:
    """CPU of the process that serves the API during an import, with and without open pages."""
    used: dict[int, list[float]] = {0: [], OPEN_PAGES: []}
    feeds = folder / "feeds"
    feeds.mkdir()
    write_feed(feeds / "feed.xml", ITEMS)
    async with start_feed_server(feeds) as server:
        for turn in range(ROUNDS):
            for pages in used:
                async with webloom_up(folder / f"{pages}-{turn}") as system, _open(system, pages):
                    run: Imported = await system.import_feed(server.plain_url("feed.xml"), ITEMS)
                used[pages].append(run.cpu_seconds)
    return [
        Row(
            measure=f"CPU of an import of {ITEMS:,} items, {OPEN_PAGES} live pages open",
            unit="s",
            webloom=median(used[OPEN_PAGES]),
            peer="with none open",
            peer_value=median(used[0]),
            must=1.15,
            lower_is_better=True,
        )
    ]


@asynccontextmanager
async def _open(system: System, pages: int) -> AsyncIterator[None]:
    """So many pages as the API sees them: every other one is the import history, the rest are the
    overview. Each has its stream, and asks after the health as all pages do."""
    kinds = (_history_page, _overview_page)
    async with ClientSession(
        system.base, connector=TCPConnector(limit=0), timeout=ClientTimeout(total=None)
    ) as session:
        listening = [asyncio.Event() for _ in range(pages)]
        tasks = [
            asyncio.create_task(each)
            for number, event in enumerate(listening)
            for each in (kinds[number % 2](session, event), _ask_for_health(session))
        ]
        try:
            await asyncio.gather(*(event.wait() for event in listening))
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _overview_page(session: ClientSession, listening: asyncio.Event) -> None:
    await _load(session, "/api/overview")
    async with session.get("/api/live?topics=overview") as answer:
        answer.raise_for_status()
        listening.set()
        while await answer.content.readany():
            pass


async def _history_page(session: ClientSession, listening: asyncio.Event) -> None:
    """It loads its rows when it begins to listen; and once more, with the feeds, when it hears of a
    run that is not among them."""
    shown = ("/api/feeds", "/api/import-logs?page=1&limit=20")
    await _load(session, *shown)
    async with session.get("/api/import-logs/stream") as answer:
        answer.raise_for_status()
        listening.set()
        is_new = True
        while said := await answer.content.readany():
            if is_new and b"event: import_log" in said:
                is_new = False
                await _load(session, *shown)


async def _ask_for_health(session: ClientSession) -> None:
    while True:
        await _load(session, "/health")
        await asyncio.sleep(HEALTH_SECONDS)


async def _load(session: ClientSession, *paths: str) -> None:
    for path in paths:
        async with session.get(path) as answer:
            await answer.read()


async def _history(folder: Path) -> list[Row]:
    """CPU of the API for the first page of the import history."""
    rows = []
    async with running_server(MongoServer(folder / "mongod")) as mongod:
        for kind in ("SQLite", "MongoDB"):
            took = {}
            for count in (FEW, MANY):
                url = f"sqlite:///{folder / f'{count}.db'}"
                if kind == "MongoDB":
                    url = mongod.url
                took[count] = await _first_page(folder, url, f"history{count}", count)
            rows.append(
                Row(
                    measure=f"first page of the import history, {MANY:,} runs, {kind}",
                    unit="ms",
                    webloom=took[MANY] * 1000,
                    peer=f"with {FEW} runs",
                    peer_value=took[FEW] * 1000,
                    must=1.2,
                    lower_is_better=True,
                )
            )
    return rows


async def _first_page(folder: Path, store: str, database: str, count: int) -> float:
    """The median time of a request, one after the other."""
    env = {
        "WEBLOOM_DATA_DIR": str(folder / database),
        "WEBLOOM_STORE": store,
        "WEBLOOM_MONGODB_DATABASE": database,
        "WEBLOOM_PORT": str(free_port()),
        "WEBLOOM_LOG_LEVEL": "warning",
    }
    settings = load_settings(env)
    async with open_whole(store, settings) as whole:
        for first in range(0, count, 1000):
            runs = [_run(number) for number in range(first, min(count, first + 1000))]
            await whole.put_if_newer("import_logs", runs)
    base = f"http://{HOST}:{env['WEBLOOM_PORT']}"
    loop = asyncio.get_running_loop()
    async with running([PYTHON, "-m", "webloom", "api"], env=env):
        await wait_for_url(f"{base}/health/live")
        async with ClientSession(base) as session:
            took = []
            for _ in range(REQUESTS):
                started = loop.time()
                async with session.get("/api/import-logs?page=1&limit=20") as answer:
                    found = await answer.json()
                took.append(loop.time() - started)
            assert found["total"] == count
    return median(took)


def _run(number: int) -> ImportRun:
    started = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=number)
    return ImportRun(
        run_id=f"run-{number:06d}",
        feed_id=f"feed-{number % 50}",
        source_url=f"https://jobs.example.com/{number % 50}.xml",
        source_name=f"Feed {number % 50}",
        status=RunStatus.COMPLETED,
        trigger="schedule",
        started_at=started,
        updated_at=started,
        finished_at=started,
        duration_ms=1000,
        batch_size=200,
        concurrency=4,
        reading=Reading(phase=Phase.STORING, fetched=200, published=1, all_published=True),
        counts=Counts(new=200),
        processed_batches=1,
    )


PARTS: dict[str, Callable[[Path], Awaitable[list[Row]]]] = {
    "install": _install,
    "weight": _weight,
    "visible": measure_visible,
    "lists": measure_lists,
    "listeners": _listeners,
    "history": _history,
}


async def measure(parts: list[str] | None = None) -> list[Row]:
    rows: list[Row] = []
    for part in parts or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            rows += await PARTS[part](Path(folder))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.admin_ui")
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=", ".join(PARTS))
    parts = parser.parse_args().parts
    if unknown := set(parts) - set(PARTS):
        parser.error(f"no part is called {', '.join(unknown)}; there are {', '.join(PARTS)}")
    sys.exit(0 if print_table(uvloop.run(measure(parts))) else 1)


if __name__ == "__main__":
    main()
