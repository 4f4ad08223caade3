from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pytest

from fakes.clock import FakeClock
from unit.deliveries import LEASE
from webloom.adapters.sqlite.broker import SqliteBroker
from webloom.adapters.sqlite.database import Database
from webloom.adapters.sqlite.heartbeats import SqliteHeartbeats
from webloom.adapters.sqlite.inventory_store import SqliteInventoryStore
from webloom.application.inventory.requeue_forgotten import QUIET_SECONDS, RequeueForgotten
from webloom.domain.inventory import METADATA_QUEUE, FetchRequest
from webloom.domain.request_state import NotedRequest
from webloom.ports.broker import Message
from webloom.ports.heartbeats import Heartbeat

REQUESTS = [FetchRequest(url=f"http://site.example/{n}", request_id=f"r{n}") for n in range(3)]
BEAT = Heartbeat(
    process_id="one", role="worker", host="here", pid=1, slots=1, in_flight=0, completed=0,
    retried=0, failed=0, started_at=datetime(2026, 1, 1, tzinfo=UTC),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Room:
    """Requests that nothing has happened to for long, and what else there is."""

    store: SqliteInventoryStore
    broker: SqliteBroker
    heartbeats: SqliteHeartbeats

    async def beat(self, *roles: str) -> None:
        for role in roles:
            await self.heartbeats.beat(replace(BEAT, process_id=role, role=role))

    async def fill(self, *, ready: int = 0, delayed: int = 0) -> None:
        """With messages of others."""
        for number in range(ready + delayed):
            message = Message(id=f"other {number}", body=b"{}")
            delay = 3600.0 if number >= ready else 0.0
            await self.broker.publish(METADATA_QUEUE, message, delay=delay)

    async def requeue(self) -> int:
        return await RequeueForgotten(
            store=self.store, broker=self.broker, heartbeats=self.heartbeats
        )()

    async def forgotten(self) -> list[FetchRequest]:
        quiet = await self.store.forgotten_requests(quiet_for=QUIET_SECONDS, limit=10)
        return [each.request for each in quiet]

    async def queued(self) -> list[str]:
        """Ids of all messages that are ready; they are gone then."""
        ready = (await self.broker.depth(METADATA_QUEUE)).ready
        async with self.broker.deliveries(METADATA_QUEUE, 10) as deliveries:
            taken = [await anext(deliveries) for _ in range(ready)]
            for each in taken:
                await each.ack()
        return [each.message_id for each in taken]


async def furnished(database: Database, clock: FakeClock, *, limit: int = 1000) -> Room:
    room = Room(
        store=SqliteInventoryStore(database),
        broker=SqliteBroker(database, limits={METADATA_QUEUE: limit}, lease=LEASE),
        heartbeats=SqliteHeartbeats(database),
    )
    for each in REQUESTS:
        await room.store.note_requests([NotedRequest(request=each, token=0)])
        clock.advance(1)
    clock.advance(QUIET_SECONDS)
    return room


@pytest.fixture
async def room(database: Database, clock: FakeClock) -> Room:
    return await furnished(database, clock)


async def test_what_was_put_back_is_quiet_from_then_on(
    database: Database, clock: FakeClock
) -> None:
    room = await furnished(database, clock, limit=2)
    await room.beat("worker")
    assert await room.requeue() == 2
    assert await room.queued() == ["r0", "r1"]
    assert await room.forgotten() == REQUESTS[2:]


async def test_without_a_worker_no_request_is_sent(room: Room) -> None:
    await room.beat("api", "scheduler")
    assert await room.requeue() == 0
    assert await room.queued() == []
    assert await room.forgotten() == REQUESTS


async def test_a_worker_of_other_queues_is_none(room: Room) -> None:
    imports_only = replace(BEAT, queues=("import-feed",))
    await room.heartbeats.beat(imports_only)
    assert await room.requeue() == 0
    await room.heartbeats.beat(replace(imports_only, queues=("import-feed", METADATA_QUEUE)))
    assert await room.requeue() == 3


@pytest.mark.parametrize(
    ("ready", "delayed"), [(3, 0), (1, 2)], ids=["as many are ready", "as many wait"]
)
async def test_a_message_that_may_be_there_is_not_doubled(
    room: Room, ready: int, delayed: int
) -> None:
    await room.beat("worker")
    await room.fill(ready=ready, delayed=delayed)
    assert await room.requeue() == 0
    assert len(await room.queued()) == ready
    assert await room.forgotten() == REQUESTS


async def test_fewer_messages_than_requests_mean_that_some_are_lost(room: Room) -> None:
    await room.beat("worker")
    await room.fill(ready=2)
    assert await room.requeue() == 3
    assert set(await room.queued()) >= {each.request_id for each in REQUESTS}
