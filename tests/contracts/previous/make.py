"""Fill every store and broker with the code that is checked out, and write what they hold.

    PYTHONPATH=src:tests python -m contracts.previous.make COMMIT

writes data/COMMIT. Run it in a checkout of a version before the next one is released, and add the
commit to COMMITS. `data/f270a8c`, from before the redesign of the stores, was made by an earlier
form of this module, and its dump by the first version that had dumps.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiormq
import msgspec
import pymongo
from bson import json_util
from pamqp import commands as spec
from redis.asyncio import Redis

from contracts.adapters import Watching
from contracts.import_samples import add_feed as add_import_feed
from contracts.import_samples import (
    all_read,
    apply,
    begin,
    claimed,
    end,
    failure,
    import_all,
    key_of,
    new_run,
    posting,
    reading,
    started,
)
from contracts.inventory_samples import FAILED, complete, later, note, request, with_source
from contracts.inventory_samples import begin as begin_attempt
from contracts.previous.stores import DATABASE, Stores, mongodb_stores, sqlite_stores, stores_in
from contracts.previous.view import view
from contracts.watch_samples import HOUR, MAY, check, config, event, notification, price, url
from contracts.watch_samples import end as end_watch_run
from contracts.watch_samples import new_run as new_watch_run
from contracts.watch_samples import started as started_watch
from fakes.clock import FakeClock
from servers.mongod import MongoServer
from servers.rabbitmq import RabbitServer
from servers.redis import RedisServer
from webloom.adapters.bullmq.broker import open_bullmq
from webloom.adapters.rabbitmq.broker import open_rabbitmq
from webloom.adapters.sqlite.broker import SqliteBroker
from webloom.adapters.sqlite.database import open_database
from webloom.adapters.system_clock import SystemClock
from webloom.application.inventory.submit_url import message_for
from webloom.application.watch.check_page import PageCheck
from webloom.domain.feed import LastFetch
from webloom.domain.import_transitions import Ending
from webloom.domain.storage_event import Origin, milliseconds_of
from webloom.domain.watch import Target, Thresholds
from webloom.parsing.job_posting import ImportBatch, JobPosting
from webloom.parsing.storage_event import encoded
from webloom.ports.broker import Broker, Delivery, Message
from webloom.ports.heartbeats import Heartbeat
from webloom.ports.imports import Imports
from webloom.ports.inventory_store import InventoryStore

PREFIX = "previous."  # of queues on servers
SHORT = 15.0  # a lease


def site(name: str) -> str:
    return f"http://site.example/{name}"


def job(name: str, text: str = "as it was", **changes: Any) -> JobPosting:
    """With a content hash as short as ours are."""
    made = posting(name, text, **changes)
    return msgspec.structs.replace(made, content_hash=made.content_hash[:32])


# What the stores hold


async def fill(stores: Stores) -> None:
    await fill_inventory(stores.inventory)
    await fill_imports(stores.imports)
    await fill_watching(
        Watching(
            **stores_in(stores),
            watches=stores.watches,
            runs=stores.watch_runs,
            notifications=stores.notifications,
        )
    )
    assert await stores.lock.acquire("scheduler", "a process that died", 1.0)
    await stores.heartbeats.beat(
        Heartbeat(
            process_id="a process that died",
            role="worker",
            host="host",
            pid=1,
            slots=32,
            in_flight=1,
            completed=2,
            retried=3,
            failed=4,
            started_at=MAY,
            handled={"metadata_queue": 5},
            queues=("metadata_queue",),
        )
    )


async def fill_inventory(store: InventoryStore) -> None:
    await note(store, request("pending", url=site("pending")))
    await begin_attempt(store, request("begun", url=site("begun")))
    await complete(store, site("completed"), with_source("<p>some text äöü</p>\n" * 2000))
    await complete(store, site("no text"), with_source(None))
    await complete(store, site("failed"), FAILED)
    attempt = await begin_attempt(store, request("later", url=site("later")))
    assert await store.finish_attempt(attempt, later(30.0))
    await complete(store, site("refreshed"))
    [state] = await store.states([site("refreshed")])
    assert state is not None
    await note(store, request("refresh", url=site("refreshed"), background=True), state.token)
    await complete(store, site("forgotten"))
    assert await store.forget(site("forgotten"))


async def fill_imports(store: Imports) -> None:
    await add_import_feed(store, "feed", due=MAY, interval_minutes=90.0, close_missing=True)
    await import_all(store, [job(each) for each in "abcd"], size=2)
    claim = await begin(store)
    jobs = [job("a", "a second text", published_at=MAY), job("b")]
    await apply(store, claim, 0, jobs, failures=[failure(index=2)], duplicates=1)
    await store.postings.close(claim, [key_of("d")])
    fetch = LastFetch(etag='"1"', last_modified="yesterday", content_hash="00" * 32)
    read = all_read(4, 1, repairs={"an ampersand": 2}, format="rss", bytes_read=5_000_000_000)
    await end(store, claim, read, next_run_at=MAY + HOUR, last_fetch=fetch)

    await started(store, "feed", new_run("import in progress"))
    claim = await claimed(store, "a producer that died", "import in progress", SHORT)
    await apply(store, claim, 0, [job("a", "a third text"), job("e")])
    assert await store.runs.note_reading(claim, all_read(6, 3, format="rss"))

    await add_import_feed(store, "waiting", due=MAY)
    await started(store, "waiting", new_run("import waiting", trigger="schedule", due=MAY))
    await add_import_feed(
        store, "moved", moved_to="http://new.example/", mapping={"title": "a/b"}, enabled=False
    )
    await add_import_feed(store, "failing", due=MAY)
    claim = await begin(store, "failing")
    await store.runs.finish(
        claim, reading(), Ending(error="the server answered 500", next_run_at=MAY + 2 * HOUR)
    )
    await add_import_feed(store, "removed")
    await started(store, "removed", new_run("import of a removed feed"))
    assert await store.feeds.remove("id of removed")


async def fill_watching(store: Watching) -> None:
    target = Target(url="json://hook.example/", secret="secret", digest_minutes=60.0)
    chosen = config(
        "shop", targets=[target], thresholds=Thresholds(text_contains=["sale"]), accepts_events=True
    )
    await store.watches.add_watch("id of shop", chosen, next_run_at=MAY)
    run = await started_watch(store, "shop", new_watch_run("watch run that ended"))
    of_run: dict[str, Any] = {"run_id": run.run_id, "origin": Origin.CHECKER}
    await store.pages.store_event(event("a", text="one", price=price(10), **of_run))
    changed = event(
        "b",
        text="next",
        at=MAY + HOUR,
        is_change=True,
        changes={"textChanged": True},
        alerts=["b has changed"],
    )
    await store.pages.store_event(event("b", text="first", **of_run))
    await store.pages.store_event(replace(changed, **of_run))
    await check(store, run, "c", "the server answered 500")
    await store.runs.note_published(run.run_id, MAY)
    await end_watch_run(store, run, next_run_at=MAY + HOUR)
    assert await store.alerts.assign_batch("id of shop", run.run_id, "a batch") == ["a batch"]

    run = await started_watch(store, "shop", new_watch_run("watch run in progress"))
    of_run = {"run_id": run.run_id, "origin": Origin.CHECKER}
    changed = event(
        "a",
        text="two",
        at=MAY + HOUR,
        price=price(8, 10),
        availability="in_stock",
        is_change=True,
        changes={"textChanged": True},
        alerts=["the price fell"],
    )
    await store.pages.store_event(replace(changed, **of_run))
    await store.runs.note_published(run.run_id, MAY + HOUR)

    await store.pages.store_event(event("x", watch_id="job of another program"))
    await store.watches.add_watch(
        "id of paused", config("paused", pages="p", enabled=False), next_run_at=None
    )
    sent = store.notifications
    await sent.add([notification(each) for each in ("to send", "sent", "failed", "given up")])
    await sent.note_sent(["notice sent"], MAY + timedelta(minutes=1))
    await sent.note_failed(["notice failed"], error="no answer", retry_at=MAY + HOUR)
    await sent.note_failed(["notice given up"], error="no such hook", retry_at=None)


# What the brokers hold


def work() -> dict[str, list[Message]]:
    """What is left to do for what is in progress, by queue."""
    feed: dict[str, Any] = {
        "run_id": "import in progress",
        "source_url": job("a").source_url,
        "total_batches": 3,
    }
    batches = [
        ImportBatch(**feed, batch_index=1, jobs=[job("f"), job("b", "a second text")]),
        ImportBatch(
            **feed,
            batch_index=2,
            jobs=[job("g")],
            known=job("c").dedupe_key + job("c").content_hash,
        ),
    ]
    checked = {
        "jobId": "id of shop",
        "runId": "watch run in progress",
        "url": url("b"),
        "ts": milliseconds_of(MAY + 2 * HOUR),
        "origin": "checker",
        "snapshotHash": "hash of last",
        "version": 3,
        "parsed": {"title": "b", "text": "last"},
        "diff": {"textChanged": True},
        "price": {"current": 12.5, "currency": "EUR"},
    }
    sent = {
        "jobId": "job of another program",
        "url": url("x"),
        "ts": milliseconds_of(MAY + HOUR),
        "parsed": {"title": "x", "text": "more"},
    }
    check = PageCheck(run_id="watch run in progress", watch_id="id of shop", url=url("c"))
    return {
        "metadata_queue": [message_for(request("pending", url=site("pending")))],
        "import-feed": [
            Message(id=f"import in progress-{each.batch_index}", body=msgspec.json.encode(each))
            for each in batches
        ],
        "storage-agent": [
            Message(id="of a checker", body=encoded(checked)),
            Message(id="of another program", body=encoded(sent)),
        ],
        "watch-pages": [replace(check.message, id="a check")],
    }


def fetch(name: str) -> Message:
    return message_for(request(name, url=site(name)))


async def queue_up(broker: Broker, prefix: str, *, keeps_taken: bool) -> None:
    queue = f"{prefix}metadata_queue"

    async def take() -> Delivery:
        async with broker.deliveries(queue, 1) as deliveries:
            return await anext(deliveries)

    await broker.publish(queue, fetch("dead"))
    await (await take()).dead_letter("nobody can fetch it")
    await broker.publish(queue, fetch("taken"))
    if keeps_taken:
        assert (await take()).message_id == "taken"
        await broker.publish(queue, fetch("again"))
        await (await take()).retry()
    for name, messages in work().items():
        assert all(await broker.publish_many(prefix + name, messages))


async def publish_late(broker: Broker, prefix: str) -> None:
    await broker.publish(f"{prefix}metadata_queue", fetch("late"), delay=1.0)


def write(folder: Path, name: str, data: bytes) -> None:
    (folder / f"{name}.gz").write_bytes(gzip.compress(data, mtime=0))


async def on_sqlite(data: Path, folder: Path) -> dict[str, Any]:
    file, clock = folder / "webloom.db", FakeClock()
    async with sqlite_stores(file, clock) as stores:
        await fill(stores)
        seen = await view(stores)
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path)),
        "WEBLOOM_STORE": f"sqlite:///{file}",
        "WEBLOOM_DATA_DIR": str(folder),
    }
    dump = [sys.executable, "-m", "webloom", "dump", str(data / "dump.zst")]
    await asyncio.to_thread(subprocess.run, dump, env=env, cwd=folder, check=True)
    async with open_database(file, clock) as database:
        broker = SqliteBroker(database, limits={}, lease=SHORT)
        await queue_up(broker, "", keeps_taken=True)
        await publish_late(broker, "")
    assert not file.with_name("webloom.db-wal").exists()
    write(data, "webloom.db", file.read_bytes())
    return seen


async def on_mongodb(data: Path, server: MongoServer) -> dict[str, Any]:
    async with mongodb_stores(server.url, FakeClock()) as stores:
        await fill(stores)
        seen = await view(stores)
    with pymongo.MongoClient[dict[str, Any]](server.url) as client:
        database = client[DATABASE]
        held = {
            name: {
                "indexes": [
                    {field: value for field, value in index.items() if field != "v"}
                    for index in database[name].list_indexes()
                ],
                "documents": list(database[name].find()),
            }
            for name in sorted(database.list_collection_names())
        }
    text = json_util.dumps(held, json_options=json_util.CANONICAL_JSON_OPTIONS, indent=1)
    write(data, "mongodb.json", text.encode())
    return seen


async def on_bullmq(data: Path, server: RedisServer) -> None:
    async with open_bullmq(server.url, SystemClock(), limits={}, lease=3600.0) as broker:
        await queue_up(broker, PREFIX, keeps_taken=True)
        await publish_late(broker, PREFIX)
    redis = Redis.from_url(server.url, decode_responses=True)
    readers: dict[str, Any] = {
        "string": redis.get,
        "hash": redis.hgetall,
        "list": lambda key: redis.lrange(key, 0, -1),
        "set": redis.smembers,
        "zset": lambda key: redis.zrange(key, 0, -1, withscores=True),
        "stream": redis.xrange,
    }
    held = {}
    for key in sorted(await redis.keys("*")):
        if await redis.pttl(key) > 0:
            continue  # a lock: it has expired since
        kind = str(await redis.type(key))
        value = await readers[kind](key)
        held[key] = [kind, sorted(value) if kind == "set" else value]
    await redis.aclose()
    write(data, "bullmq.json", json.dumps(held, indent=1).encode())


async def on_rabbitmq(data: Path, server: RabbitServer) -> None:
    async with open_rabbitmq(server.url, SystemClock(), limits={}) as broker:
        await queue_up(broker, PREFIX, keeps_taken=False)
        names = server.ctl("list_queues", "name").split()[1:]  # after a heading
        await publish_late(broker, PREFIX)
        waits = [f"{PREFIX}metadata_queue.wait.1000ms"]
        messages = await all_messages(server, waits + names)

    def listed(what: str, *columns: str) -> list[dict[str, Any]]:
        found = json.loads(server.ctl(f"list_{what}", *columns, "--formatter", "json"))
        return [each for each in found if PREFIX in each.get("name", each.get("destination_name"))]

    ends = ("source_name", "destination_name", "destination_kind", "routing_key")
    held = {
        "queues": [
            each | {"arguments": {name: value for name, _, value in each["arguments"]}}
            if isinstance(each["arguments"], list)
            else each
            for each in listed("queues", "name", "arguments")
        ],
        "exchanges": listed("exchanges", "name", "type"),
        "bindings": [each for each in listed("bindings", *ends) if each["source_name"]],
        "messages": messages,
    }
    write(data, "rabbitmq.json", json.dumps(held, indent=1).encode())


async def all_messages(server: RabbitServer, names: list[str]) -> list[dict[str, Any]]:
    connection = await aiormq.connect(server.url)
    channel = await connection.channel()
    found = []
    for name in names:
        while (message := await channel.basic_get(name, no_ack=True)).delivery_tag is not None:
            properties: dict[str, Any] = {str(k): v for k, v in message.header.properties}
            properties["cluster_id"] = None
            if properties["headers"] is not None:
                properties["headers"].pop("x-delivery-count", None)  # the server's own
            assert isinstance(message.delivery, spec.Basic.GetOk)
            found.append(
                {
                    "exchange": message.delivery.exchange,
                    "routing_key": message.delivery.routing_key,
                    "properties": {
                        field: value for field, value in properties.items() if value is not None
                    },
                    "body": message.body.decode(),
                }
            )
    await connection.close()
    return found


async def main(commit: str) -> None:
    data = Path(__file__).parent / "data" / commit
    data.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seen = {"sqlite": await on_sqlite(data, folder)}
        mongod, redis = MongoServer(folder / "mongod"), RedisServer(folder / "redis")
        with mongod.running():
            seen["mongodb"] = await on_mongodb(data, mongod)
        with redis.running():
            await on_bullmq(data, redis)
        rabbitmq = RabbitServer(folder / "rabbitmq")
        with rabbitmq.running():
            await on_rabbitmq(data, rabbitmq)
    left = {
        queue: {each.id: each.body.decode() for each in messages}
        for queue, messages in work().items()
    }
    write(data, "work.json", json.dumps(left, indent=1).encode())
    write(data, "seen.json", json.dumps(seen, indent=1).encode())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
