"""What only the SQLite adapter promises: it lives on one machine, in one file."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from contracts.adapters import (
    LEASE,
    Place,
)
from contracts.import_samples import (
    SOURCE,
    add_feed,
    all_read,
    apply,
    claimed,
    end,
    import_all,
    posting,
    postings,
    started,
)
from contracts.import_samples import (
    begin as begin_import,
)
from contracts.inventory_samples import COMPLETED, begin, found, request
from contracts.sqlite_backend import database_file, open_sqlite, open_sqlite_broker
from contracts.test_heartbeats import WORKER
from contracts.waiting import take
from fakes.clock import FakeClock
from webloom.adapters.sqlite import posting_keys
from webloom.adapters.sqlite.database import open_database
from webloom.domain.errors import StoreUnavailable
from webloom.domain.import_run import Counts
from webloom.domain.inventory import Status
from webloom.ports.broker import Message


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(folder=tmp_path, name="here", server=None)


async def test_a_restart_of_the_machine_frees_every_lease(place: Place, clock: FakeClock) -> None:
    wanted = request()
    async with open_sqlite(place, clock) as stores:
        store = stores.store
        await begin(store, wanted, lease=3600)
    async with open_sqlite(place, clock) as stores:
        lock = stores.lock
        token = await lock.acquire("name", "a", 3600)
    async with open_sqlite(place, clock) as stores:
        heartbeats = stores.heartbeats
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
    async with open_sqlite(place, clock) as stores:
        store = stores.store
        attempt = await begin(store, wanted)
        assert (attempt.number, attempt.retry_count) == (2, 1)
        assert await store.finish_attempt(attempt, COMPLETED)
        assert (await found(store)).status is Status.COMPLETED
    async with open_sqlite(place, clock) as stores:
        lock = stores.lock
        new = await lock.acquire("name", "b", 10)
        assert token is not None
        assert new is not None
        assert new > token
    async with open_sqlite(place, clock) as stores:
        heartbeats = stores.heartbeats
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
    async with open_sqlite(place, clock) as stores:
        heartbeats = stores.heartbeats
        await heartbeats.beat(WORKER)

    clock.restart_machine()
    clock.jump_wall(-5 * 3600)

    async with open_sqlite_broker(place, clock, limits={}, lease=LEASE) as broker:
        assert (await broker.depth("queue")).ready == 1


async def test_a_restart_of_the_machine_frees_the_runs_of_its_producers(
    place: Place, clock: FakeClock
) -> None:
    async with open_sqlite(place, clock) as stores:
        store = stores.imports
        await add_feed(store)
        await started(store)
        claim = await claimed(store, "one", lease=3600)
        assert await store.runs.claim("two", lease=3600) is None
    clock.restart_machine()
    async with open_sqlite(place, clock) as stores:
        store = stores.imports
        assert (await claimed(store, "two")).token > claim.token


async def test_feeds_of_a_version_that_knew_of_no_move_can_move(
    place: Place, clock: FakeClock
) -> None:
    async with open_sqlite(place, clock) as stores:
        store = stores.imports
        feed = await add_feed(store)
    with closing(sqlite3.connect(database_file(place))) as connection:
        connection.execute("DROP INDEX feeds_moved")
        [(config,)] = connection.execute("SELECT config FROM feeds").fetchall()
        assert "moved" not in config  # it is written as before, and can be read by that version
    async with open_sqlite(place, clock) as stores:
        store = stores.imports
        assert await store.feeds.find(feed.feed_id) == feed
        wanted = replace(feed.config, moved_to="http://new.example/")
        moved = await store.feeds.edit(feed.feed_id, wanted, next_run_at=None)
        assert await store.feeds.at_url("http://new.example/") == moved is not None


async def test_a_large_message_comes_whole_and_leaves_nothing(
    place: Place, clock: FakeClock
) -> None:
    bodies = [b"%d" % n + b"x" * (100_000 * (n % 2)) for n in range(6)]
    async with open_sqlite_broker(place, clock, limits={}, lease=LEASE) as broker:
        messages = [Message(id=f"m{n}", body=body) for n, body in enumerate(bodies)]
        await broker.publish_many("queue", [*messages, Message(id="empty", body=b"")])
        async with broker.deliveries("queue", 9) as deliveries:
            taken = [await take(deliveries) for _ in range(7)]
            assert [each.body for each in taken] == [*bodies, b""]
            await taken[1].retry()
            again = await take(deliveries)
            assert again.body == bodies[1]
            await taken[3].dead_letter("no")
            [dead] = await broker.dead_letters("queue", limit=5)
            assert dead.body == bodies[3]
            assert await broker.put_back("queue", "m3")
            back = await take(deliveries)
            assert back.body == bodies[3]
            for each in (again, back, *taken):
                await each.ack()
    assert rows_in(place, "messages") == rows_in(place, "large_bodies") == 0


async def test_new_keys_move_to_the_large_index_together(
    place: Place, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(posting_keys, "MOST_FRESH", 5)
    names = [f"p{n}" for n in range(8)]
    async with open_sqlite(place, clock) as stores:
        store = stores.imports
        await import_all(store, postings(*names), size=3)
        assert (rows_in(place, "posting_keys"), rows_in(place, "fresh_keys")) == (6, 2)
        run = await import_all(store, postings(*names), size=3)
        assert run.counts == Counts(unchanged=8)
        keys = await store.postings.open_keys(SOURCE, after="", limit=9)
        assert keys == sorted(each.dedupe_key for each in postings(*names))


async def test_keys_that_begin_alike_are_distinguished(place: Place, clock: FakeClock) -> None:
    jobs = [posting(f"p{n}", dedupe_key="ab" * 19 + f"{n:02x}") for n in range(4)]
    async with open_sqlite(place, clock) as stores:
        store = stores.imports
        await import_all(store, jobs[:3])
        run = await import_all(store, jobs)
        assert run.counts == Counts(new=1, unchanged=3)
        for each in jobs:
            found = await store.postings.find(each.dedupe_key)
            assert found is not None
            assert found.posting == each
        claim = await begin_import(store)
        await apply(store, claim, 0, jobs[:1])
        await store.postings.close(claim, [jobs[1].dedupe_key])
        assert (await end(store, claim, all_read(1, 1))).closed_jobs == 1
        keys = await store.postings.open_keys(SOURCE, after="", limit=9)
        assert keys == [jobs[n].dedupe_key for n in (0, 2, 3)]


def rows_in(place: Place, table: str) -> int:
    with closing(sqlite3.connect(database_file(place))) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
