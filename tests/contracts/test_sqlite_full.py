"""A SQLite file that can't grow: what is superseded makes room."""

from __future__ import annotations

import random
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from contracts.page_samples import event, numbers, parsed
from fakes.clock import FakeClock
from webloom.adapters.sqlite.broker import SqliteBroker
from webloom.adapters.sqlite.database import Database, Verb, open_database
from webloom.adapters.sqlite.heartbeats import SqliteHeartbeats
from webloom.adapters.sqlite.page_store import SqlitePageStore
from webloom.domain.errors import BrokerUnavailable, StoreFull
from webloom.ports.broker import Message
from webloom.ports.heartbeats import Heartbeat
from webloom.ports.page_store import Retention

BEAT = Heartbeat(
    process_id="p", role="worker", host="h", pid=1, slots=1, in_flight=0, completed=0, retried=0,
    failed=0, started_at=datetime(2026, 3, 1, tzinfo=UTC),
)  # fmt: skip


async def stop_growing(database: Database) -> None:
    """As a full disk does, for the writer of this process."""

    def run(connection: sqlite3.Connection, items: list[None]) -> list[None]:
        [pages] = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return [None] * len(items)

    await database.write(Verb(run=run), None)


def large(number: int) -> dict[str, object]:
    return parsed(f"{number}") | {"more": random.Random(number).randbytes(50_000).hex()}


async def store_until_full(store: SqlitePageStore, first: int) -> tuple[int, str]:
    """The number of the first version that has no room, and why."""
    for n in range(first, first + 100):
        try:
            await store.store_event(event(f"{n}", version=n + 1, ts=n, content=large(n)))
        except StoreFull as error:
            return n, str(error)
    raise AssertionError("there was room for all of them")


async def publish_until_full(broker: SqliteBroker) -> str:
    for number in range(100):
        try:
            await broker.publish("q", Message(id=f"{number}", body=bytes(10_000)))
        except BrokerUnavailable as error:
            return str(error)
    raise AssertionError("there was room for all of them")


async def test_a_file_that_cannot_grow_is_read_and_pruned_and_written_again(
    tmp_path: Path, clock: FakeClock
) -> None:
    async with open_database(tmp_path / "webloom.db", clock) as database:
        store = SqlitePageStore(database, retention=Retention(), budget=1 << 30)
        broker = SqliteBroker(database, limits={"q": 10**6}, lease=15)
        heartbeats = SqliteHeartbeats(database)
        for n in range(8):
            await store.store_event(event(f"{n}", version=n + 1, ts=n, content=large(n)))
        await stop_growing(database)
        stored = 8
        for _ in range(3):
            first = stored
            stored, why = await store_until_full(store, stored)
            assert "webloom.db is full: superseded versions are being pruned" in why
            assert "is full" in await publish_until_full(broker)
            assert database.room.full
            assert (await numbers(store))[-1] == (stored, f"{stored - 1}"), "it can be read"
            assert await store.prune() > 0
            assert await numbers(store) == [(stored, f"{stored - 1}")], "the newest stays"
            await heartbeats.beat(BEAT)
            assert database.room.full is None
        assert first > 8, "there was room again"
