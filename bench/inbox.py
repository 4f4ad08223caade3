"""The inbox with 1,000 unread changes among 1,000,000, over HTTP, on both stores.

python -m bench inbox
python -m bench.inbox SQLite --changes 100000    one store, a smaller size

The changes are written by the databases themselves, as events of 10,000 pages would have left them;
all but the unread ones are done.
"""

import argparse
import asyncio
import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import uvloop
from aiohttp import ClientSession
from pymongo import AsyncMongoClient

from bench.api import free_port
from bench.processes import PYTHON, running, wait_for_url
from bench.stack import running_server
from bench.table import Row, print_table
from bench.watch_events import event, messages
from servers.mongod import MongoServer
from webloom.adapters.mongodb.page_codec import log_document
from webloom.bootstrap.connections import open_services
from webloom.deltas import compressed
from webloom.domain.inbox import InboxState, Triage
from webloom.settings import load_settings
from webloom.stores.page_items import log_of

CHANGES, UNREAD = 1_000_000, 1_000
PAGES, WATCHES = 10_000, 1_000
TEXT_BYTES = 5_000
LIMIT_MS = 1_000
ROUNDS = 15
STORES = ("SQLite", "MongoDB")
_FIRST_TS = 1_767_225_600_000
_INSERTED = 5_000  # documents at once

_SQL = """
CREATE TEMP TABLE numbers AS
    WITH RECURSIVE counted (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM counted LIMIT :changes)
    SELECT n FROM counted;
INSERT INTO pages (id, key, job_id, url, search, last_updated)
    SELECT n, randomblob(16), 'watch-' || (n % :watches), 'https://shop.example.com/p/' || n, '', 0
    FROM numbers WHERE n < :pages;
INSERT INTO snapshots (id, page, number, ts, claimed, hash, key, rank, below, bytes, expire_at)
    SELECT n, n % :pages, 1 + n / :pages, :ts + n, 0, '', randomblob(16), 0, 0, 0, :expires
    FROM numbers;
INSERT INTO change_logs (snapshot, page, job_id, ts, rank, body, expire_at, is_keyed, inbox,
                         inbox_at, inbox_decided_at)
    SELECT n, n % :pages, 'watch-' || (n % :watches), :ts + n, 0, :body, :expires, 1,
        iif(n % :every, 'done', 'unread'), iif(n % :every, NULL, :ts + n), iif(n % :every, 1, NULL)
    FROM numbers;
DROP TABLE numbers;
"""


def _log(changes: int) -> tuple[Any, datetime]:
    """A change of a shop's page."""
    *_, last = messages(0, versions=2, size=TEXT_BYTES)
    expires = datetime.now(UTC) + timedelta(days=30)
    return log_of(event(last), "0" * 32, expires), expires


def fill_sqlite(file: Path, changes: int) -> None:
    log, expires = _log(changes)
    body = compressed(msgspec.json.encode({"changes": log.changes, "alerts": log.alerts}))
    values = {
        "changes": changes, "pages": PAGES, "watches": WATCHES, "ts": _FIRST_TS, "body": body,
        "every": changes // UNREAD, "expires": int(expires.timestamp() * 1000),
    }  # fmt: skip
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA synchronous = OFF")
    with connection:
        for statement in _SQL.split(";"):
            connection.execute(statement, values)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


async def fill_mongodb(url: str, changes: int) -> None:
    async with AsyncMongoClient[dict[str, Any]](url) as client:
        logs = client["webloom"]["change_logs"]
        documents = _documents(changes)
        while some := list(islice(documents, _INSERTED)):
            await logs.insert_many(some, ordered=False)


def _documents(changes: int) -> Iterator[dict[str, Any]]:
    log, _ = _log(changes)
    for number in range(changes):
        ts, page, key = _FIRST_TS + number, number % PAGES, f"{number * 2654435761:032x}"
        triage = Triage(state=InboxState.DONE, decided_at=1)
        if number % (changes // UNREAD) == 0:
            triage = Triage(state=InboxState.UNREAD, at=ts)
        made = msgspec.structs.replace(
            log,
            key=key,
            watch_id=f"watch-{page % WATCHES}",
            url=f"https://shop.example.com/p/{page}",
            place=log.place._replace(ts=ts),
            triage=triage,
        )
        number_of = 1 + number // PAGES
        yield log_document(made) | {"version": {"previous": number_of - 1, "current": number_of}}


async def measure(stores: tuple[str, ...] = STORES, changes: int = CHANGES) -> list[Row]:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        if "SQLite" in stores:
            settings = {"WEBLOOM_DATA_DIR": f"{folder}/sqlite"}
            async with open_services(load_settings(settings)):
                pass
            file = Path(folder) / "sqlite" / "webloom.db"
            await asyncio.to_thread(fill_sqlite, file, changes)
            rows += await _ask("SQLite", settings, changes)
        if "MongoDB" in stores:
            async with running_server(MongoServer(Path(folder) / "mongod")) as mongod:
                settings = {
                    "WEBLOOM_DATA_DIR": f"{folder}/mongodb",
                    "WEBLOOM_STORE": mongod.url,
                }
                async with open_services(load_settings(settings)):
                    pass
                await fill_mongodb(mongod.url, changes)
                rows += await _ask("MongoDB", settings, changes)
    return rows


async def _ask(store: str, settings: dict[str, str], changes: int) -> list[Row]:
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    more = {"WEBLOOM_PORT": str(port), "WEBLOOM_LOG_LEVEL": "warning"}
    times: dict[str, list[float]] = {}
    async with running([PYTHON, "-m", "webloom", "api"], env=settings | more):
        await wait_for_url(f"{base}/health/live")
        async with ClientSession(base) as session:
            for _ in range(ROUNDS):
                for name, milliseconds in await _round(session):
                    times.setdefault(name, []).append(milliseconds)
    return [
        Row(
            measure=f"{store}, {UNREAD:,} unread of {changes:,} changes: {name}",
            unit="ms",
            webloom=median(found),
            peer="the limit",
            peer_value=LIMIT_MS,
            must=1.0,
            lower_is_better=True,
        )
        for name, found in times.items()
    ]


async def _round(session: ClientSession) -> list[tuple[str, float]]:
    async def timed(path: str, body: Any = None) -> tuple[Any, float]:
        started = time.perf_counter()
        data = None if body is None else json.dumps(body).encode()
        async with session.request("GET" if data is None else "POST", path, data=data) as answer:
            found = await answer.json()
            assert answer.status == 200, found
        return found, (time.perf_counter() - started) * 1000

    first, unread = await timed("/api/changes?state=unread")
    assert (len(first["data"]), first["total"]) == (50, UNREAD), first["total"]
    rest = f"/api/changes?state=unread&limit=200&cursor={first['nextCursor']}"
    _, following = await timed(rest)
    of_watch, watch = await timed(f"/api/changes?state=unread&jobId={first['data'][0]['jobId']}")
    assert of_watch["data"]
    _, counts = await timed("/api/changes/counts")
    _, done = await timed("/api/changes?state=done")
    ids = [each["id"] for each in first["data"]]
    body = {"ids": ids, "state": "done"}
    decided, deciding = await timed("/api/changes/state", body)
    assert decided["found"] == len(ids)
    await timed("/api/changes/state", {"ids": ids, "state": "unread"})
    return [
        ("first page", unread),
        ("the next 200", following),
        ("first page of a watch", watch),
        ("counts", counts),
        ("first page of what is done", done),
        ("50 marked as done", deciding),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.inbox", description=__doc__)
    parser.add_argument("stores", nargs="*", default=list(STORES), help=", ".join(STORES))
    parser.add_argument("--changes", type=int, default=CHANGES)
    given = parser.parse_args()
    rows = uvloop.run(measure(tuple(given.stores), given.changes))
    sys.exit(0 if print_table(rows) else 1)


if __name__ == "__main__":
    main()
