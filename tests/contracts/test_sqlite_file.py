"""What only the SQLite adapter promises: it lives on one machine, in one file."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from contracts.adapters import (
    LEASE,
    Place,
    database_file,
    open_sqlite_broker,
    open_sqlite_heartbeats,
    open_sqlite_lock,
    open_sqlite_store,
)
from contracts.fake_clock import FakeClock
from contracts.inventory_samples import COMPLETED, begin, found, request
from contracts.test_heartbeats import WORKER
from contracts.waiting import take
from webloom.adapters.sqlite.database import open_database
from webloom.domain.errors import StoreUnavailable
from webloom.domain.inventory import Status
from webloom.ports.broker import Message


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(folder=tmp_path, name="here", server=None)


async def test_a_restart_of_the_machine_frees_every_lease(place: Place, clock: FakeClock) -> None:
    wanted = request()
    async with open_sqlite_store(place, clock) as store:
        await begin(store, wanted, lease=3600)
    async with open_sqlite_lock(place, clock) as lock:
        token = await lock.acquire("name", "a", 3600)
    async with open_sqlite_heartbeats(place, clock) as heartbeats:
        await heartbeats.beat(WORKER)
    async with open_sqlite_broker(place, clock, limits={}, lease=3600) as broker:
        await broker.publish("queue", Message(id="m", body=b"{}"))
        async with broker.deliveries("queue", 1) as deliveries:
            await take(deliveries)

    clock.restart_machine()

    async with (
        open_sqlite_broker(place, clock, limits={}, lease=3600) as broker,
        broker.deliveries("queue", 1) as deliveries,
    ):
        delivery = await take(deliveries)
        assert (delivery.message_id, delivery.redelivered) == ("m", True)
        await delivery.ack()
    async with open_sqlite_store(place, clock) as store:
        attempt = await begin(store, wanted)
        assert (attempt.number, attempt.retry_count) == (2, 1)
        assert await store.finish_attempt(attempt, COMPLETED)
        assert (await found(store)).status is Status.COMPLETED
    async with open_sqlite_lock(place, clock) as lock:
        new = await lock.acquire("name", "b", 10)
        assert token is not None
        assert new is not None
        assert new > token
    async with open_sqlite_heartbeats(place, clock) as heartbeats:
        assert await heartbeats.seen(within=1e9) == []


async def test_a_restart_of_the_machine_keeps_delays(place: Place, clock: FakeClock) -> None:
    async with open_sqlite_broker(place, clock, limits={}, lease=LEASE) as broker:
        await broker.publish("queue", Message(id="delayed", body=b"{}"), delay=60)
    clock.restart_machine()
    clock.advance(30)
    async with open_sqlite_broker(place, clock, limits={}, lease=LEASE) as broker:
        assert (await broker.depth("queue")).delayed == 1
        clock.advance(31)
        assert (await broker.depth("queue")).ready == 1


async def test_another_programs_database_is_refused_and_left_alone(
    place: Place, clock: FakeClock
) -> None:
    path = database_file(place)
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (a)")
    connection.commit()
    connection.close()
    with pytest.raises(StoreUnavailable, match="another program"):
        async with open_database(path, clock):
            pass
    connection = sqlite3.connect(path)
    names = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema")]
    connection.close()
    assert names == ["theirs"]


async def test_a_file_that_is_no_database_is_refused(place: Place, clock: FakeClock) -> None:
    path = database_file(place)
    path.write_bytes(b"this is not a database, " * 100)
    with pytest.raises(StoreUnavailable, match=r"webloom\.db"):
        async with open_database(path, clock):
            pass


async def test_processes_that_start_together_share_one_new_file(
    place: Place, clock: FakeClock
) -> None:
    async def use(name: str) -> None:
        async with open_sqlite_broker(place, clock, limits={}, lease=LEASE) as broker:
            await broker.publish("queue", Message(id=name, body=b"{}"))

    await asyncio.gather(*(use(f"m{n}") for n in range(12)))
    async with open_sqlite_broker(place, clock, limits={}, lease=LEASE) as broker:
        assert (await broker.depth("queue")).ready == 12


async def test_a_restart_with_the_clock_behind_delays_nothing(
    place: Place, clock: FakeClock
) -> None:
    async with open_sqlite_broker(place, clock, limits={}, lease=LEASE) as broker:
        await broker.publish("queue", Message(id="m", body=b"{}"))
    async with open_sqlite_heartbeats(place, clock) as heartbeats:
        await heartbeats.beat(WORKER)

    clock.restart_machine()
    clock.jump_wall(-5 * 3600)

    async with open_sqlite_broker(place, clock, limits={}, lease=LEASE) as broker:
        assert (await broker.depth("queue")).ready == 1
