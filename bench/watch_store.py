"""What the storage agent writes: how fast, and how much of it stays.

Events go straight to the store, in turns with bare PyMongo calls that write the same documents into
collections with the same indexes.
"""

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import zstandard
from bson.raw_bson import RawBSONDocument
from pymongo import AsyncMongoClient

from bench.processes import PYTHON, running
from bench.stack import _indexes as indexes_of
from bench.stack import running_server
from bench.table import Row
from bench.watch_events import PAGES_OF_WATCH, event, messages
from servers.mongod import MongoServer
from servers.rabbitmq import RabbitServer
from webloom.bootstrap.connections import open_services
from webloom.bootstrap.services import Services
from webloom.parsing.storage_event import canonical
from webloom.ports.broker import Message
from webloom.settings import load_settings

PAGES = 100
VERSIONS = 10
TEXT_BYTES = 5_000
WIDTH = 32  # as many as an agent serves at a time
ROUNDS = 3
KEPT_VERSIONS = 30
KEPT_BYTES = 100_000
LEVEL = 9
POLL_SECONDS = 0.1
AGENT_SECONDS = 300.0

Document = dict[str, Any]
Client = AsyncMongoClient[Document]


async def measure_events(folder: Path) -> list[Row]:
    whole = [messages(page, versions=VERSIONS, size=TEXT_BYTES) for page in range(PAGES)]
    in_turns = [version for versions in zip(*whole, strict=True) for version in versions]
    ours, bare = [], []
    async with (
        running_server(MongoServer(folder / "mongod")) as mongod,
        running_server(RabbitServer(folder / "rabbitmq")) as rabbitmq,
    ):
        async with Client(mongod.url, w="majority", journal=True) as client:
            for turn in range(ROUNDS):
                name = f"events{turn}"
                ours.append(await _store(folder, mongod.url, name, in_turns))
                writes = await _writes(client, name)
                bare.append(await _write(client, f"bare{turn}", name, writes))
                for database in (name, f"bare{turn}"):
                    await client.drop_database(database)
        agent = await _through_agent(folder, mongod.url, rabbitmq.url, in_turns)
    return [
        Row(
            measure=f"events stored on MongoDB, {WIDTH} at a time",
            unit="events/s",
            webloom=median(ours),
            peer="the bare writes, as many at a time",
            peer_value=median(bare),
            must=0.5,
        ),
        Row(
            measure="the same, through RabbitMQ and `webloom storage-agent`",
            unit="events/s",
            webloom=agent,
            peer="the bare writes, as many at a time",
            peer_value=median(bare),
            must=None,
        ),
    ]


@asynccontextmanager
async def opened(folder: Path, **environment: str) -> AsyncIterator[Services]:
    settings = load_settings({"WEBLOOM_DATA_DIR": str(folder), **environment})
    async with open_services(settings) as services:
        yield services


async def _store(folder: Path, mongodb: str, database: str, todo: Sequence[bytes]) -> float:
    """Events a second."""
    environment = {"WEBLOOM_STORE": mongodb, "WEBLOOM_MONGODB_DATABASE": database}
    async with opened(folder / database, **environment) as services:
        events = iter([event(message) for message in todo])

        async def one_after_the_other() -> None:
            for each in events:
                await services.pages.store_event(each)

        await services.page_storage.usage()  # the indexes are there then
        started = time.perf_counter()
        await asyncio.gather(*(one_after_the_other() for _ in range(WIDTH)))
        return len(todo) / (time.perf_counter() - started)


@dataclass(frozen=True, kw_only=True)
class _Writes:
    """What one event makes necessary."""

    page: Document
    snapshot: Document
    price: Document
    log: Document | None  # a first version is not a change


async def _writes(client: Client, database: str) -> list[_Writes]:
    """In the order of the versions. A version is written whole, as it must be at first."""
    stored = client[database]
    pages = {each["url"]: each async for each in stored["pages"].find()}
    prices = {(each["url"], each["version"]): each async for each in stored["price_history"].find()}
    logs = {
        (each["url"], each["version"]["current"]): each
        async for each in stored["change_logs"].find()
    }
    snapshots = await stored["snapshots"].find().sort("version").to_list()
    whole = {each["url"]: each["parsed"] for each in snapshots}
    found = []
    for snapshot in snapshots:
        key = snapshot["url"], snapshot["version"]
        written = {name: value for name, value in snapshot.items() if name != "base"}
        written |= {"parsed": whole[snapshot["url"]], "expireAt": None}
        found.append(
            _Writes(
                page=pages[snapshot["url"]],
                snapshot=written,
                price=prices[key],
                log=logs.get(key),
            )
        )
    if len(found) != PAGES * VERSIONS or len(logs) != PAGES * (VERSIONS - 1):
        raise RuntimeError(f"of {PAGES * VERSIONS} versions {len(found)} were stored")
    return found


async def _write(client: Client, database: str, like: str, writes: Sequence[_Writes]) -> float:
    """Events a second, one call after the other for each."""
    target = client[database]
    for name in ("pages", "snapshots", "price_history", "change_logs", "job_runs"):
        await target[name].create_indexes(await indexes_of(client[like][name]))
    runs = sorted({each.page["jobId"] for each in writes})
    await target["job_runs"].insert_many([{"_id": run, "runId": run} for run in runs])
    todo = iter(writes)

    async def one_after_the_other() -> None:
        for each in todo:
            await target["pages"].replace_one({"_id": each.page["_id"]}, each.page, upsert=True)
            await target["snapshots"].insert_one(each.snapshot)
            await target["price_history"].insert_one(each.price)
            if each.log is not None:
                await target["change_logs"].insert_one(each.log)
            counted = {"pagesProcessed": 1, "changesDetected": 1}
            await target["job_runs"].update_one({"_id": each.page["jobId"]}, {"$inc": counted})

    started = time.perf_counter()
    await asyncio.gather(*(one_after_the_other() for _ in range(WIDTH)))
    return len(writes) / (time.perf_counter() - started)


async def _through_agent(folder: Path, mongodb: str, rabbitmq: str, todo: Sequence[bytes]) -> float:
    """Events a second, from when the agent has begun to when all are stored."""
    environment = {
        "WEBLOOM_DATA_DIR": str(folder / "agent"),
        "WEBLOOM_STORE": mongodb,
        "WEBLOOM_MONGODB_DATABASE": "agent",
        "WEBLOOM_BROKER": rabbitmq,
        "WEBLOOM_LOG_LEVEL": "warning",
        "WEBLOOM_QUEUE_LIMIT": str(len(todo) + 1),
    }
    async with opened(folder / "publisher", **environment) as services:
        for start in range(0, len(todo), 100):
            await services.broker.publish_many(
                services.settings.input_queue,
                [
                    Message(id=f"event-{start + n}", body=b)
                    for n, b in enumerate(todo[start:][:100])
                ],
            )
    async with (
        Client(mongodb) as client,
        running([PYTHON, "-m", "webloom", "storage-agent"], env=environment),
        asyncio.timeout(AGENT_SECONDS),
    ):
        stored = client["agent"]["price_history"]
        before = await _at_least(1, stored)
        started = time.perf_counter()
        now = await _at_least(len(todo), stored)
        return (now - before) / (time.perf_counter() - started)


async def _at_least(wanted: int, collection: Any) -> int:
    """How many documents there are, as soon as there are so many."""
    while True:
        found: int = await collection.count_documents({})
        if found >= wanted:
            return found
        await asyncio.sleep(POLL_SECONDS)


async def measure_versions(folder: Path) -> list[Row]:
    """What a page of 100 KB takes that changes a little from version to version."""
    page = PAGES_OF_WATCH
    events = [event(each) for each in messages(page, versions=KEPT_VERSIONS, size=KEPT_BYTES)]
    compressor = zstandard.ZstdCompressor(level=LEVEL)
    whole = sum(len(compressor.compress(canonical(each.parsed))) for each in events)
    async with opened(folder / "sqlite") as services:
        for each in events:
            await services.pages.store_event(each)
        kept = _sqlite_bytes(services.settings.database)
    async with running_server(MongoServer(folder / "mongod")) as mongod:
        environment = {"WEBLOOM_STORE": mongod.url, "WEBLOOM_MONGODB_DATABASE": "versions"}
        async with opened(folder / "mongodb", **environment) as services:
            for each in events:
                await services.pages.store_event(each)
        async with AsyncMongoClient(mongod.url, document_class=RawBSONDocument) as client:
            documents = await client["versions"]["snapshots"].find().to_list()
    taken = sum(len(each.raw) for each in documents)
    around = taken - sum(len(each["parsed"]) for each in documents)
    measure = f"a version of {KEPT_BYTES // 1000} KB, 1 % changed, {KEPT_VERSIONS} kept"
    return [
        Row(
            measure=f"{measure}, {where}",
            unit="bytes",
            webloom=ours / KEPT_VERSIONS,
            peer=f"each whole, zstd level {LEVEL}",
            peer_value=theirs / KEPT_VERSIONS,
            must=0.1,
            lower_is_better=True,
        )
        for where, ours, theirs in (("SQLite", kept, whole), ("MongoDB", taken, whole + around))
    ]


def _sqlite_bytes(path: Path) -> int:
    connection = sqlite3.connect(path)
    try:
        count, size = connection.execute(
            "SELECT count(*), sum(length(body)) FROM snapshot_bodies"
        ).fetchone()
    finally:
        connection.close()
    if count != KEPT_VERSIONS:
        raise RuntimeError(f"of {KEPT_VERSIONS} versions {count} are kept")
    return int(size)
