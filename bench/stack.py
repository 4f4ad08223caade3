"""The real engines: MongoDB, RabbitMQ and BullMQ, each on a private server of this run.

Every measure is taken in turns with what it is compared with, on the same servers.
"""

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import aio_pika
import zstandard
from pymongo import AsyncMongoClient, IndexModel

from bench.inventory import WIDTH, WORKERS, timed_run
from bench.processes import PYTHON, run_json
from bench.records import write_records
from bench.site import start_site
from bench.table import Row
from bench.through_broker import QUEUE as PUBLISHED_TO
from servers.mongod import MongoServer
from servers.private import PrivateServer
from servers.rabbitmq import RabbitServer
from servers.redis import RedisServer
from webloom.application.move.load import Load, scanned
from webloom.bootstrap.connections import open_copy
from webloom.settings import load_settings

PAGES = 12_000
MESSAGES = 20_000
JOBS = 5_000
SLOTS = 32
RECORDS = 20_000
PAGE = "".join(f"<p>item {n} costs {n * 7} and there is more to read here</p>" for n in range(230))
ROUNDS = 3


async def measure() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        async with (
            running_server(MongoServer(Path(folder) / "mongod")) as mongod,
            running_server(RabbitServer(Path(folder) / "rabbitmq")) as rabbitmq,
            running_server(RedisServer(Path(folder) / "redis")) as redis,
        ):
            return [
                *await _pages(mongod, rabbitmq),
                await _publishes(rabbitmq),
                await _jobs(redis),
                *await _copies(mongod, Path(folder)),
            ]


@asynccontextmanager
async def running_server(server: PrivateServer) -> AsyncIterator[Any]:
    await asyncio.to_thread(server.start)
    try:
        yield server
    finally:
        await asyncio.to_thread(server.kill)


async def _pages(mongod: MongoServer, rabbitmq: RabbitServer) -> list[Row]:
    """One worker each, as the embedded default has; and two, where the servers have to share the
    cores with them."""
    rows = []
    async with start_site() as site:
        for workers, must in ((1, 0.5), (WORKERS, None)):
            embedded, stack = [], []
            for turn in range(ROUNDS):
                embedded.append(await timed_run(site, pages=PAGES, workers=workers))
                stack.append(
                    await timed_run(
                        site,
                        pages=PAGES,
                        workers=workers,
                        WEBLOOM_STORE=mongod.url,
                        WEBLOOM_MONGODB_DATABASE=f"pages{workers}-{turn}",
                        WEBLOOM_BROKER=rabbitmq.url,
                    )
                )
            name = "1 worker" if workers == 1 else f"{workers} workers"
            rows.append(
                Row(
                    measure=f"pages on MongoDB and RabbitMQ, {name}, {WIDTH} slots in all",
                    unit="pages/s",
                    webloom=median(stack),
                    peer="the embedded default, as many workers",
                    peer_value=median(embedded),
                    must=must,
                )
            )
    return rows


async def _publishes(rabbitmq: RabbitServer) -> Row:
    ours, bare = [], []
    sizes = ["--url", rabbitmq.url, "--messages", str(MESSAGES), "--width", str(WIDTH)]
    for _ in range(ROUNDS):
        bare.append(await _per_second("bench.peers.bare_aio_pika", *sizes))
        ours.append(await _per_second("bench.through_broker", "publish", *sizes))
        async with await aio_pika.connect(rabbitmq.url) as connection:  # both begin with nothing
            await (await connection.channel()).queue_delete(PUBLISHED_TO)
    return Row(
        measure=f"confirmed publishes on RabbitMQ, {WIDTH} at a time",
        unit="messages/s",
        webloom=median(ours),
        peer="bare aio-pika",
        peer_value=median(bare),
        must=0.7,
    )


async def _jobs(redis: RedisServer) -> Row:
    ours, bare = [], []
    sizes = ["--url", redis.url, "--messages", str(JOBS), "--width", str(SLOTS)]
    for _ in range(ROUNDS):
        bare.append(await _per_second("bench.peers.bare_bullmq", *sizes))
        ours.append(await _per_second("bench.through_broker", "consume", *sizes))
    return Row(
        measure=f"BullMQ jobs served, {SLOTS} slots",
        unit="jobs/s",
        webloom=median(ours),
        peer="the bare package",
        peer_value=median(bare),
        must=0.9,
    )


async def _per_second(module: str, *arguments: str) -> float:
    return float((await run_json([PYTHON, "-m", module, *arguments]))["per_second"])


async def _copies(mongod: MongoServer, folder: Path) -> list[Row]:
    """`webloom copy` from SQLite, its verification included, against inserting the same documents
    from memory into a collection with the same indexes."""
    source = folder / "source"
    await write_records(source, RECORDS)
    await asyncio.to_thread(_add_sources, source / "webloom.db")
    whole, alone, unindexed = [], [], []
    documents: list[dict[str, Any]] = []
    async with AsyncMongoClient[dict[str, Any]](mongod.url, w="majority", journal=True) as client:
        for turn in range(ROUNDS):
            name = f"copy{turn}"
            whole.append(await _copy(source / "webloom.db", mongod.url, name))
            copied = client[name]["metadata"]
            documents = documents or await copied.find().to_list()
            indexed = client[name]["indexed"]
            await indexed.create_indexes(await _indexes(copied))
            alone.append(await _insert(indexed, documents))
            unindexed.append(await _insert(client[name]["bare"], documents))
            await client.drop_database(name)
    row = Row(
        measure="`webloom copy` to MongoDB, verification included",
        unit="records/s",
        webloom=median(whole),
        peer="insert_many, same documents and indexes",
        peer_value=median(alone),
        must=0.5,
    )
    bare = Row(
        measure="the same",
        unit="records/s",
        webloom=median(whole),
        peer="insert_many without any index",
        peer_value=median(unindexed),
        must=None,
    )
    return [row, bare]


def _add_sources(path: Path) -> None:
    connection = sqlite3.connect(path)
    with connection:
        source = zstandard.compress(PAGE.encode())
        connection.execute("INSERT INTO page_sources SELECT id, ? FROM records", (source,))
    connection.close()


async def _copy(source: Path, target: str, database: str) -> float:
    settings = load_settings({"WEBLOOM_MONGODB_DATABASE": database})
    async with (
        open_copy(f"sqlite:///{source}", target, settings) as (origin, goal),
        origin.snapshot() as snapshot,
    ):
        started = time.perf_counter()
        load = Load(
            target=goal, name="bench", now=datetime.now(UTC), progress=lambda name, items: None
        )
        verdicts = await load.run(lambda: scanned(snapshot), resume=True)
        if verdicts["metadata"].equal != RECORDS:
            raise RuntimeError(f"the copy is not whole: {verdicts['metadata']}")
        return RECORDS / (time.perf_counter() - started)


async def _indexes(collection: Any) -> list[Any]:
    made = await collection.index_information()
    kept = ("unique", "partialFilterExpression")
    return [
        IndexModel(each["key"], **{name: each[name] for name in kept if name in each})
        for name, each in made.items()
        if name != "_id_"
    ]


async def _insert(collection: Any, documents: list[dict[str, Any]]) -> float:
    started = time.perf_counter()
    for start in range(0, len(documents), 500):
        await collection.insert_many(documents[start : start + 500], ordered=False)
    return len(documents) / (time.perf_counter() - started)
