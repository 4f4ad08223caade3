"""A SQLite file that can't grow: what is superseded makes room. A disk that is full is in
tests/faults/test_disk_full.py."""

from __future__ import annotations

import os
import random
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from contracts.page_samples import event, numbers, parsed
from fakes.clock import FakeClock
from webloom.adapters.sqlite.broker import SqliteBroker
from webloom.adapters.sqlite.database import QUIET_SECONDS, Database, Operation, open_database
from webloom.adapters.sqlite.heartbeats import SqliteHeartbeats
from webloom.adapters.sqlite.pages import sqlite_pages
from webloom.adapters.sqlite.reserve import STEPS, Reserve
from webloom.domain.errors import BrokerUnavailable, StoreFull
from webloom.domain.retention import Retention
from webloom.ports.broker import Message
from webloom.ports.heartbeats import Heartbeat
from webloom.ports.page_stores import PageStores

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

    await database.write(Operation(run=run), None)


def large(number: int) -> dict[str, object]:
    return parsed(f"{number}") | {"more": random.Random(number).randbytes(50_000).hex()}


async def store_until_full(store: PageStores, first: int) -> tuple[int, str]:
    """The number of the first version that has no room, and why."""
    for n in range(first, first + 100):
        try:
            await store.pages.store_event(event(f"{n}", version=n + 1, ts=n, content=large(n)))
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
        store = sqlite_pages(database, retention=Retention(), budget=1 << 30)
        broker = SqliteBroker(database, limits={"q": 10**6}, lease=15)
        heartbeats = SqliteHeartbeats(database)
        for n in range(8):
            await store.pages.store_event(event(f"{n}", version=n + 1, ts=n, content=large(n)))
        await stop_growing(database)
        stored = 8
        for _ in range(3):
            first = stored
            stored, why = await store_until_full(store, stored)
            assert "webloom.db is full: superseded versions are being pruned" in why
            assert "is full" in await publish_until_full(broker)
            assert database.room.full
            assert (await numbers(store))[-1] == (stored, f"{stored - 1}"), "it can be read"
            assert await store.storage.prune() > 0
            assert await numbers(store) == [(stored, f"{stored - 1}")], "the newest stays"
            await heartbeats.beat(BEAT)
            assert database.room.full is None
        assert first > 8, "there was room again"


async def test_a_process_learns_of_what_others_are_refused(
    tmp_path: Path, clock: FakeClock
) -> None:
    path = tmp_path / "webloom.db"
    async with open_database(path, clock) as ours, open_database(path, clock) as theirs:
        full = []
        for refuses in (False, True, False):
            if refuses:
                await stop_growing(theirs)
                await publish_until_full(SqliteBroker(theirs, limits={"q": 10**6}, lease=15))
            clock.advance(QUIET_SECONDS)
            await SqliteHeartbeats(ours).beat(BEAT)
            full.append(ours.room.full is not None)
        assert full == [False, True, False], "as long as there are refusals"


def test_a_reserve_is_given_up_in_steps_by_any_writer_and_completed(tmp_path: Path) -> None:
    reserve = Reserve(tmp_path / "webloom.db")
    assert not reserve.give_up(), "there is none yet"
    assert not reserve.is_short()
    reserve.keep()
    whole = reserve.path.stat()
    assert whole.st_mode & 0o777 == 0o600
    assert whole.st_blocks * 512 >= whole.st_size > 0, "it takes room on the disk"
    others = [Reserve(tmp_path / "webloom.db") for _ in range(STEPS)]
    with ThreadPoolExecutor(STEPS) as pool:
        assert all(pool.map(Reserve.give_to_log, others[1:]))
    assert reserve.path.stat().st_size == whole.st_size - (STEPS - 1) * (whole.st_size // STEPS)
    assert reserve.is_short()
    assert reserve.last_refusal != whole.st_mtime_ns, "others see that room is needed"
    seen = reserve.last_refusal
    assert reserve.complete()
    assert reserve.path.stat().st_size == whole.st_size
    assert reserve.last_refusal == seen, "that is not a refusal"


def test_making_and_completing_a_reserve_is_never_taken_for_a_refusal(tmp_path: Path) -> None:
    reserve, ours = Reserve(tmp_path / "webloom.db"), Reserve(tmp_path / "webloom.db")
    with ThreadPoolExecutor(1) as pool:
        for _ in range(20):
            made = pool.submit(reserve.keep)
            while not made.done():
                assert ours.last_refusal == 0
            os.truncate(reserve.path, 0)
            os.utime(reserve.path, ns=(0, 0))
            completed = pool.submit(reserve.complete)
            while not completed.done():
                assert ours.last_refusal == 0
            assert completed.result()
            reserve.path.unlink()
