"""What is written for a page that stays as it is: its checks go the whole way, from the fetch on.

SQLite's triggers count the rows that are written; MongoDB's driver tells of every command.
"""

import json
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web
from pymongo import AsyncMongoClient, monitoring

from bench.pages import made_pages
from bench.stack import running_server
from bench.table import Row
from bench.watch_store import opened
from servers.mongod import MongoServer
from servers.private import free_port
from webloom.application.watch.check_page import CheckPage
from webloom.bootstrap.services import Services
from webloom.bootstrap.use_cases import open_check_page
from webloom.domain.schedule import Schedule
from webloom.domain.watch import WatchConfig
from webloom.domain.watch_run import NewRun, NextRun

HOST = "127.0.0.1"
CHECKS = 50  # that are answered 304, and as many that get the same page
WATCH = "unchanged"
TABLES = ("pages", "snapshots", "snapshot_bodies", "change_logs", "price_history")
COLLECTIONS = ("pages", "snapshots", "change_logs", "price_history")
_WRITES = {"insert": "documents", "update": "updates", "delete": "deletes"}
_OF_A_CHECK = frozenset(("lastChecked", "lastOutcome", "lastError", "places", "validators"))


async def measure_unchanged(folder: Path) -> list[Row]:
    async with _site() as site:
        on_sqlite = await _on_sqlite(folder / "sqlite", site)
        async with running_server(MongoServer(folder / "mongod")) as mongod:
            on_mongodb = await _on_mongodb(folder / "mongodb", site, mongod.url)
    return [
        Row(
            measure=f"writes but the time of the check, page unchanged, {where}",
            unit="writes",
            webloom=writes,
            peer="checks, half of them 304",
            peer_value=2 * CHECKS,
            must=0.0,
            lower_is_better=True,
        )
        for where, writes in (("SQLite", on_sqlite), ("MongoDB", on_mongodb))
    ]


@asynccontextmanager
async def _site() -> AsyncIterator[str]:
    """One page: `/checked` has an ETag and answers 304, `/plain` is always sent whole."""
    body = made_pages()[0].body

    async def answer(request: web.Request) -> web.Response:
        etag = {"ETag": '"1"'} if request.path == "/checked" else {}
        if etag and request.headers.get("If-None-Match") == etag["ETag"]:
            return web.Response(status=304, headers=etag)
        return web.Response(body=body, headers=etag, content_type="text/html")

    app = web.Application()
    app.router.add_get("/{name}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    port = free_port()
    await web.TCPSite(runner, HOST, port).start()
    try:
        yield f"http://{HOST}:{port}"
    finally:
        await runner.cleanup()


async def _on_sqlite(folder: Path, site: str) -> int:
    async with _checking(folder, site) as checks:
        await checks.run("first")
        await checks.store()
        connection = sqlite3.connect(checks.services.settings.database, isolation_level=None)
        try:
            connection.execute("CREATE TABLE bench_writes (name TEXT)")
            for table in TABLES:
                for verb in ("INSERT", "UPDATE", "DELETE"):
                    connection.execute(
                        f"CREATE TRIGGER bench_{table}_{verb} AFTER {verb} ON {table} "
                        f"BEGIN INSERT INTO bench_writes VALUES ('{table}'); END"
                    )
            await checks.again()
            (written,) = connection.execute("SELECT count(*) FROM bench_writes").fetchone()
        finally:
            connection.close()
    return int(written)


async def _on_mongodb(folder: Path, site: str, url: str) -> int:
    """An update of a page is one for the check; what it changes besides counts."""
    counter = _WriteCounter()
    monitoring.register(counter)
    environment = {"WEBLOOM_STORE": url, "WEBLOOM_MONGODB_DATABASE": "unchanged"}
    async with (
        _checking(folder, site, **environment) as checks,
        AsyncMongoClient[dict[str, Any]](url) as client,
    ):
        await checks.run("first")
        await checks.store()
        pages = client["unchanged"]["pages"]
        before = await pages.find().sort("_id").to_list()
        counter.counts = dict.fromkeys(COLLECTIONS, 0)
        await checks.again()
        after = await pages.find().sort("_id").to_list()
    if counter.counts["pages"] < 2 * CHECKS:
        raise RuntimeError(f"only {counter.counts['pages']} of {2 * CHECKS} checks were noted")
    changed: int = sum(
        old.get(name) != new.get(name)
        for old, new in zip(before, after, strict=True)
        for name in (old.keys() | new.keys()) - _OF_A_CHECK
    )
    return sum(counter.counts.values()) - 2 * CHECKS + changed


class _WriteCounter(monitoring.CommandListener):
    """Counts what each command inserts, updates or deletes, by collection."""

    def __init__(self) -> None:
        self.counts = dict.fromkeys(COLLECTIONS, 0)

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        collection = event.command.get(event.command_name)
        if event.command_name in _WRITES and collection in self.counts:
            self.counts[collection] += len(event.command[_WRITES[event.command_name]])

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None: ...

    def failed(self, event: monitoring.CommandFailedEvent) -> None: ...


@dataclass(frozen=True, kw_only=True)
class _Delivery:
    """A message of `watch-pages`, without a broker."""

    body: bytes
    message_id: str = "check"
    attempt: int = 1
    redelivered: bool = False

    async def ack(self) -> None: ...

    async def retry(self, after: float = 0.0) -> None:
        raise RuntimeError(f"the check could not be made: {self.body.decode()}")

    async def dead_letter(self, reason: str) -> None:
        raise RuntimeError(reason)


@dataclass(frozen=True, kw_only=True)
class _Checks:
    services: Services
    check_page: CheckPage
    urls: list[str]

    async def again(self) -> None:
        for number in range(CHECKS):
            await self.run(f"run-{number}")

    async def run(self, run_id: str) -> None:
        runs = self.services.watch_runs
        await runs.start_run(WATCH, NewRun(run_id=run_id, trigger="manual"))
        for url in self.urls:
            message: Mapping[str, str] = {"runId": run_id, "jobId": WATCH, "url": url}
            await self.check_page(_Delivery(body=json.dumps(message).encode()))
        run = await runs.finish_run(run_id, NextRun(None, None))
        if run is not None and run.tally.failed and run_id != "first":
            raise RuntimeError(f"a page could not be checked: {run.failures}")

    async def store(self) -> None:
        """What the first check has found."""
        queue = self.services.settings.input_queue
        async with self.services.broker.deliveries(queue, 1) as deliveries:
            for _ in self.urls:
                await self.services.store_event(await anext(deliveries))


@asynccontextmanager
async def _checking(folder: Path, site: str, **environment: str) -> AsyncIterator[_Checks]:
    environment |= {"WEBLOOM_ALLOW_ADDRESSES": HOST, "WEBLOOM_HOST_DELAY": "0"}
    async with (
        opened(folder, **environment) as services,
        open_check_page(services, services.host_turns) as check_page,
    ):
        urls = [f"{site}/checked", f"{site}/plain"]
        config = WatchConfig(name=WATCH, urls=urls, schedule=Schedule(every_minutes=60))
        await services.watches.add_watch(WATCH, config, next_run_at=None)
        yield _Checks(services=services, check_page=check_page, urls=urls)
