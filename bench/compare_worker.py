"""One workload of `bench.compare`, in a process of its own.

It runs with the interpreter, the sources and the benches of the checkout that is measured, so it
uses only what both checkouts have. It prints the CPU seconds and the items of each row as JSON.
The load comes from this process or from others; only Webloom's own processes are counted.
"""

import asyncio
import gc
import json
import os
import sys
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import uvloop

from bench.processes import PYTHON, running, usage, wait_for_url

Servers = dict[str, str]  # URLs, and the name of a MongoDB database
Rows = dict[str, list[float]]  # CPU seconds and items

PAGES = 4_000
RECORDS = 2_000
REQUESTS = 6_000
LISTS = 1_500
MESSAGES = {"SQLite": 40_000, "RabbitMQ": 6_000, "BullMQ": 5_000}
COPIED = 4_000
ITEMS = 20_000
POLL_SECONDS = 0.1
RUNS = 20  # of an import
READINGS = 8  # of each page
# Enough that what a process does once, at the first of them, does not count.
EVENTS = (60, 30)  # pages, versions of each
CHECKS = {"SQLite": 600, "MongoDB": 60}  # of each page
WATCHED = 300
HELPS = 4
OBJECTS_BETWEEN_COLLECTIONS = 20_000


@contextmanager
def _cpu(rows: Rows, name: str, items: int, pid: int | None = None) -> Iterator[None]:
    """Count what a process and its descendants use in the block. Default: this process, which
    then collects garbage as seldom as Webloom's processes do."""
    if pid is None:
        gc.collect()
        gc.freeze()
        gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    before = usage(pid or os.getpid())
    yield
    rows[name] = [usage(pid or os.getpid()).cpu_since(before), items]


async def command_line(folder: Path, servers: Servers) -> Rows:
    rows: Rows = {}
    for name, arguments in (("`webloom --help`", []), ("`webloom watch --help`", ["watch"])):
        command = [PYTHON, "-m", "webloom", *arguments, "--help"]
        with _cpu(rows, name, HELPS):
            for _ in range(HELPS):
                async with running(command) as process:
                    await process.wait_until_ended(timeout_seconds=60)
    return rows


async def _inventory(servers: Servers, where: str, **settings: str) -> Rows:
    from bench.inventory import WIDTH, _filled_queue, _until_left
    from bench.site import Site

    rows: Rows = {}
    unknown: Any = None  # the process belongs to the driver
    site = Site(url=servers["site"], process=unknown)
    async with (
        _filled_queue(site, PAGES, slots=WIDTH, **settings) as (services, env),
        running([PYTHON, "-m", "webloom", "worker"], env=env) as worker,
    ):
        left = await _until_left(services, PAGES, PAGES * 9 // 10)  # past the start-up
        with _cpu(rows, f"page fetched and stored, {where}", left, worker.pid):
            await _until_left(services, PAGES, 0)
    return rows


async def inventory(folder: Path, servers: Servers) -> Rows:
    return await _inventory(servers, "SQLite")


async def inventory_on_stack(folder: Path, servers: Servers) -> Rows:
    settings = _mongodb(servers) | {"WEBLOOM_BROKER": servers["rabbitmq"]}
    return await _inventory(servers, "MongoDB and RabbitMQ", **settings)


async def api(folder: Path, servers: Servers) -> Rows:
    from bench.api import free_port
    from bench.load import Request, run_load
    from bench.records import record_url, write_records
    from bench.scale import _requests

    await write_records(folder, RECORDS)
    port = free_port()
    env = {
        "WEBLOOM_DATA_DIR": str(folder),
        "WEBLOOM_PORT": str(port),
        "WEBLOOM_QUEUE_LIMIT": "1000000",
        "WEBLOOM_CACHE_TTL": "1000000",
        "WEBLOOM_LOG_LEVEL": "warning",
    }
    posts = [
        Request(
            method="POST",
            path="/metadata",
            body=f'{{"url": "https://shop.example.com/item/{number}"}}',
            headers=(("Content-Type", "application/json"),),
        )
        for number in range(REQUESTS + REQUESTS // 10)
    ]
    gets = [
        Request(path=f"/metadata?url={quote(record_url(number), safe='')}&source=false")
        for number in range(RECORDS)
    ]
    lists = _requests(RECORDS, 1)["GET /metadata/records"]
    rows: Rows = {}
    async with running([PYTHON, "-m", "webloom", "api"], env=env) as process:
        base = f"http://127.0.0.1:{port}"
        await wait_for_url(f"{base}/health/live")
        for name, requests, total, connections in (
            ("POST /metadata", posts, REQUESTS, 64),
            ("GET of a record", gets, REQUESTS, 64),
            ("list page", lists, LISTS, 4),
        ):
            warm, todo = requests[: total // 10], requests[total // 10 :]
            await run_load(base, warm, connections=connections, seconds=60, total=len(warm))
            with _cpu(rows, name, total, process.pid):
                result = await run_load(
                    base, todo, connections=connections, seconds=300, total=total
                )
            if result.errors or len(result.statuses) != 1 or result.requests != total:
                raise RuntimeError(f"unexpected answers: {result}")
    return rows


class _Filled:
    """A broker whose queue has its messages already."""

    def __init__(self, broker: Any) -> None:
        self.deliveries = broker.deliveries

    async def publish_many(self, queue: str, messages: Any) -> None: ...


async def _messages(folder: Path, kind: str, **settings: str) -> Rows:
    from bench.through_broker import consume, publish
    from bench.watch_store import opened

    rows: Rows = {}
    count = MESSAGES[kind]
    async with opened(folder, WEBLOOM_QUEUE_LIMIT="1000000", **settings) as services:
        with _cpu(rows, f"message published, {kind}", count):
            await publish(services.broker, count, 128)
        filled: Any = _Filled(services.broker)
        with _cpu(rows, f"message served, {kind}", count):
            await consume(filled, count, 32)
    return rows


async def sqlite_messages(folder: Path, servers: Servers) -> Rows:
    return await _messages(folder, "SQLite")


async def rabbitmq_messages(folder: Path, servers: Servers) -> Rows:
    return await _messages(folder, "RabbitMQ", WEBLOOM_BROKER=servers["rabbitmq"])


async def bullmq_messages(folder: Path, servers: Servers) -> Rows:
    return await _messages(folder, "BullMQ", WEBLOOM_BROKER=servers["redis"])


async def copy(folder: Path, servers: Servers) -> Rows:
    from bench import stack
    from bench.records import write_records

    stack.RECORDS = COPIED
    rows: Rows = {}
    await write_records(folder, COPIED)
    await asyncio.to_thread(stack._add_sources, folder / "webloom.db")
    source, target, database = folder / "webloom.db", servers["mongodb"], servers["database"]
    with _cpu(rows, "record copied to MongoDB and verified", COPIED):
        if hasattr(stack, "Load"):
            await stack._copy(source, target, database)
        else:
            await _copy_collections(stack, source, target, database)
    return rows


async def _copy_collections(stack: Any, source: Path, target: str, database: str) -> None:
    """As versions before `Load` do it."""
    settings = stack.load_settings({"WEBLOOM_MONGODB_DATABASE": database})
    async with stack.open_copy(f"sqlite:///{source}", target, settings) as collections:
        for collection in collections.values():
            copied = await collection.copy(lambda _: None)
            await collection.verify(copied, lambda _: None)


async def _imports(system: Any, folder: Path, where: str) -> Rows:
    from bench.feeds import CHANGED_EVERY, start_feed_server
    from bench.imports import FEED, _twice

    feeds = folder / "feeds"
    feeds.mkdir()
    async with start_feed_server(feeds) as server:
        new, again = await _twice(system, server, ITEMS, updated=-(-ITEMS // CHANGED_EVERY))
        same = await system.cpu_of_runs(server.checked_url(FEED), RUNS, totalFetched=0)
    return {
        f"new item imported, {where}": [new.cpu_seconds, ITEMS],
        f"item imported again, 1 % changed, {where}": [again.cpu_seconds, ITEMS],
        f"import run that gets 304, {where}": [same, 1],
    }


async def imports(folder: Path, servers: Servers) -> Rows:
    from bench import import_runs

    import_runs.POLL_SECONDS = POLL_SECONDS
    async with import_runs.webloom_up(folder / "data") as system:
        return await _imports(system, folder, "SQLite")


async def imports_on_stack(folder: Path, servers: Servers) -> Rows:
    from bench import import_runs

    import_runs.POLL_SECONDS = POLL_SECONDS
    at = {name: servers[name] for name in ("mongodb", "redis", "database")}
    async with import_runs.webloom_on_stack(folder / "data", **at) as system:
        return await _imports(system, folder, "MongoDB and BullMQ")


async def feed_reading(folder: Path, servers: Servers) -> Rows:
    from bench.feeds import write_feed
    from bench.read_feed import read

    rows: Rows = {}
    write_feed(folder / "jobs.xml", ITEMS)
    with _cpu(rows, "feed item read", ITEMS):
        if await read(folder / "jobs.xml") != ITEMS:
            raise RuntimeError("items are missing")
    return rows


async def page_reading(folder: Path, servers: Servers) -> Rows:
    from bench import pages

    rows: Rows = {}
    made = pages.made_pages()
    last = [pages.last_version(pages._read(page).parsed) for page in made]
    with (
        pages._as_in_the_child(),
        _cpu(rows, "page of 600 KB read and compared", READINGS * len(made)),
    ):
        for _ in range(READINGS):
            for page, parsed in zip(made, last, strict=True):
                pages._check(page, parsed)
    return rows


async def _events(folder: Path, where: str, **settings: str) -> Rows:
    from bench.watch_events import event, messages
    from bench.watch_store import TEXT_BYTES, WIDTH, opened

    pages, versions = EVENTS
    made = [messages(page, versions=versions, size=TEXT_BYTES) for page in range(pages)]
    todo = iter([event(message) for each in zip(*made, strict=True) for message in each])
    rows: Rows = {}
    async with opened(folder, **settings) as services:

        async def one_after_the_other() -> None:
            for each in todo:
                await services.pages.store_event(each)

        await one_of(services, "page_storage", "pages").usage()  # the indexes are there then
        with _cpu(rows, f"storage event stored, {where}", pages * versions):
            await asyncio.gather(*(one_after_the_other() for _ in range(WIDTH)))
    return rows


def one_of(services: Any, *names: str) -> Any:
    """The first of these attributes that there is: older versions have other names."""
    return next(getattr(services, name) for name in names if hasattr(services, name))


async def events(folder: Path, servers: Servers) -> Rows:
    return await _events(folder, "SQLite")


async def events_on_mongodb(folder: Path, servers: Servers) -> Rows:
    return await _events(folder, "MongoDB", **_mongodb(servers))


async def _unchanged(folder: Path, servers: Servers, where: str, **settings: str) -> Rows:
    from bench import watch_unchanged

    watch_unchanged.CHECKS = checked = CHECKS[where]
    rows: Rows = {}
    async with watch_unchanged._checking(folder, servers["unchanged"], **settings) as checks:
        await checks.run("first")
        await checks.store()
        with _cpu(rows, f"check of an unchanged page, {where}", checked * len(checks.urls)):
            await checks.again()
    return rows


async def unchanged(folder: Path, servers: Servers) -> Rows:
    return await _unchanged(folder, servers, "SQLite")


async def unchanged_on_mongodb(folder: Path, servers: Servers) -> Rows:
    return await _unchanged(folder, servers, "MongoDB", **_mongodb(servers))


async def _hour(folder: Path, size: int) -> Rows:
    """Of watches with so many pages each."""
    from bench import watch_hour
    from bench.watch_site import watch_site

    rows: Rows = {}
    async with watch_site(watch_hour.HOSTS) as site, watch_hour._up(folder, {}) as up:
        configs = watch_hour._configs(site, WATCHED, size)
        for watch_id, config in configs.items():
            await up.services.watches.add_watch(watch_id, config, next_run_at=None)
        for check in ("first", "second"):
            measured = await watch_hour._check_all(up, configs)
            rows[f"page of the hour, {check} check, watches of {size}"] = [
                measured.cpu_seconds,
                WATCHED,
            ]
            await site.turn_later()
    return rows


async def hour(folder: Path, servers: Servers) -> Rows:
    return await _hour(folder, 50)


async def hour_of_single_pages(folder: Path, servers: Servers) -> Rows:
    return await _hour(folder, 1)


def _mongodb(servers: Servers) -> dict[str, str]:
    return {
        "WEBLOOM_STORE": servers["mongodb"],
        "WEBLOOM_MONGODB_DATABASE": servers["database"],
    }


WORKLOADS: dict[str, Callable[[Path, Servers], Coroutine[Any, Any, Rows]]] = {
    "cli": command_line,
    "inventory": inventory,
    "inventory-stack": inventory_on_stack,
    "api": api,
    "sqlite": sqlite_messages,
    "rabbitmq": rabbitmq_messages,
    "bullmq": bullmq_messages,
    "copy": copy,
    "imports": imports,
    "imports-stack": imports_on_stack,
    "feed": feed_reading,
    "page": page_reading,
    "events": events,
    "events-mongodb": events_on_mongodb,
    "unchanged": unchanged,
    "unchanged-mongodb": unchanged_on_mongodb,
    "hour": hour,
    "hour-single": hour_of_single_pages,
}


def main() -> None:
    name, servers = sys.argv[1], json.loads(sys.argv[2])
    os.umask(0o077)
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(uvloop.run(WORKLOADS[name](Path(folder), servers))))


if __name__ == "__main__":
    main()
