"""Put the fixtures where the stores and brokers of today find them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiormq
import pymongo
from bson import json_util
from pamqp.commands import Basic
from redis.asyncio import Redis

from contracts.previous.stores import DATABASE

DATA = Path(__file__).parent / "data"
COMMITS = ["f270a8c", "eec8de5"]  # of earlier versions, which `make.py` was run with


def fixture(commit: str, name: str) -> bytes:
    return gzip.decompress((DATA / commit / f"{name}.gz").read_bytes())


def seen(commit: str, store: str) -> dict[str, Any]:
    """What the stores of that version showed."""
    shown: dict[str, Any] = json.loads(fixture(commit, "seen.json"))[store]
    return shown


def load_sqlite(commit: str, folder: Path) -> Path:
    file = folder / "webloom.db"
    file.write_bytes(fixture(commit, "webloom.db"))
    return file


def load_mongodb(commit: str, url: str) -> None:
    """With its indexes: today's code meets them. Rows of the ledger of imports live for a week, and
    these are of a run in progress: they are as if written now."""
    held = json_util.loads(
        fixture(commit, "mongodb.json"), json_options=json_util.CANONICAL_JSON_OPTIONS
    )
    for row in held["import_logs_batches"]["documents"]:
        row["at"] = datetime.now(UTC)
    with pymongo.MongoClient[dict[str, Any]](url) as client:
        client.drop_database(DATABASE)
        database = client[DATABASE]
        for name, collection in held.items():
            if collection["documents"]:
                database[name].insert_many(collection["documents"])
            indexes = [each for each in collection["indexes"] if each["name"] != "_id_"]
            if indexes:
                database.command("createIndexes", name, indexes=indexes)


async def load_bullmq(commit: str, url: str) -> None:
    redis = Redis.from_url(url, decode_responses=True)
    try:
        for key, (kind, value) in json.loads(fixture(commit, "bullmq.json")).items():
            await redis.delete(key)
            if kind == "string":
                await redis.set(key, value)
            elif kind == "hash":
                await redis.hset(key, mapping=value)
            elif kind == "list":
                await redis.rpush(key, *value)
            elif kind == "set":
                await redis.sadd(key, *value)
            elif kind == "zset":
                await redis.zadd(key, dict(value))
            else:
                for entry, fields in value:
                    await redis.xadd(key, fields, id=entry)
    finally:
        await redis.aclose()


async def load_rabbitmq(commit: str, url: str) -> None:
    held = json.loads(fixture(commit, "rabbitmq.json"))
    connection = await aiormq.connect(url)
    try:
        channel = await connection.channel()
        for each in held["queues"]:
            await channel.queue_declare(each["name"], durable=True, arguments=each["arguments"])
        for each in held["exchanges"]:
            await channel.exchange_declare(each["name"], exchange_type=each["type"], durable=True)
        for each in held["bindings"]:
            await _bind(channel, each)
        for each in held["messages"]:
            await channel.basic_publish(
                each["body"].encode(),
                exchange=each["exchange"],
                routing_key=each["routing_key"],
                properties=Basic.Properties(**each["properties"]),
            )
    finally:
        await connection.close()


async def _bind(channel: aiormq.abc.AbstractChannel, binding: Mapping[str, str]) -> None:
    target, exchange = binding["destination_name"], binding["source_name"]
    if binding["destination_kind"] == "exchange":
        await channel.exchange_bind(target, exchange, routing_key=binding["routing_key"])
    else:
        await channel.queue_bind(target, exchange, routing_key=binding["routing_key"])
