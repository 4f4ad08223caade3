"""The SQLite consumer between two looks at the database, moved step by step.

Its broker answers when the test says so: what is tested here are moments that real threads pass in
microseconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from contracts.waiting import until
from fakes.clock import FakeClock
from patience import PATIENCE_SECONDS
from webloom.adapters.sqlite.broker import SqliteBroker
from webloom.adapters.sqlite.consumer import Consumer, Hold, Taken
from webloom.adapters.sqlite.database import Database, open_database
from webloom.domain.errors import BrokerUnavailable
from webloom.ports.broker import Message

QUEUE = "queue"
LEASE = 3600.0


class StepwiseBroker(SqliteBroker):
    """Goes on when the test says so."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, limits={}, lease=LEASE)
        self.given_back: list[str] = []
        self.claims = 0
        self.failures = 0  # retries that will fail
        self.probing = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.may_claim = asyncio.Event()
        self.may_claim.set()

    async def next_event(self, queue: str) -> float:
        found = await super().next_event(queue)
        self.probing.set()
        await self.may_answer.wait()
        return found

    async def claim(self, queue: str, owner: str, most: int) -> tuple[list[Taken], float]:
        taken = await super().claim(queue, owner, most)
        self.claims += 1
        await self.may_claim.wait()
        return taken

    async def retry(self, hold: Hold, after: float) -> None:
        if self.failures:
            self.failures -= 1
            raise BrokerUnavailable("the disk is full")
        await super().retry(hold, after)
        self.given_back.append(hold.message_id)

    async def put(self, message_id: str) -> None:
        """As another process does, of whose commits the consumer is told by the test."""
        await SqliteBroker(self._db, limits={}, lease=LEASE).publish(
            QUEUE, Message(id=message_id, body=b"{}")
        )


@pytest.fixture
async def broker(tmp_path: Path, clock: FakeClock) -> AsyncIterator[StepwiseBroker]:
    async with open_database(tmp_path / "webloom.db", clock) as database:
        yield StepwiseBroker(database)


@asynccontextmanager
async def probing_consumer(
    broker: StepwiseBroker, changed: asyncio.Event
) -> AsyncIterator[tuple[Consumer, asyncio.Task[str]]]:
    """A consumer that found nothing, heard of a commit, and looks whether it left anything."""

    async def receive(consumer: Consumer) -> str:
        return (await anext(consumer)).message_id

    async with Consumer(broker, QUEUE, 1, changed).running() as consumer:
        waiter = asyncio.create_task(receive(consumer))

        async def has_claimed() -> bool:
            return broker.claims > 0

        await until(has_claimed)
        changed.set()
        await asyncio.wait_for(broker.probing.wait(), PATIENCE_SECONDS)
        yield consumer, waiter
        waiter.cancel()
        await asyncio.wait([waiter])


async def test_a_commit_during_a_look_at_the_queue_is_not_missed(broker: StepwiseBroker) -> None:
    changed = asyncio.Event()
    async with probing_consumer(broker, changed) as (_, waiter):
        await broker.put("m1")
        changed.set()
        broker.may_answer.set()
        assert await asyncio.wait_for(waiter, PATIENCE_SECONDS) == "m1"


async def test_leaving_during_a_look_at_the_queue_does_not_wait_for_the_next_commit(
    broker: StepwiseBroker,
) -> None:
    changed = asyncio.Event()

    async def leave() -> None:
        async with probing_consumer(broker, changed):
            asyncio.get_running_loop().call_later(0.01, broker.may_answer.set)

    await asyncio.wait_for(leave(), PATIENCE_SECONDS)


async def test_a_message_nobody_waits_for_any_more_is_given_back_however_often_it_takes(
    broker: StepwiseBroker,
) -> None:
    """Its lease does not run out: it is renewed with everything else that this consumer holds."""
    changed = asyncio.Event()
    await broker.put("m1")
    broker.failures = 1
    broker.may_claim.clear()
    async with Consumer(broker, QUEUE, 1, changed).running() as consumer:
        waiter = asyncio.ensure_future(anext(consumer))

        async def has_claimed() -> bool:
            return broker.claims > 0

        await until(has_claimed)
        waiter.cancel()
        await asyncio.wait([waiter])
        broker.may_claim.set()

        async def is_given_back() -> bool:
            return broker.given_back == ["m1"]

        await until(is_given_back)
    assert (await broker.depth(QUEUE)).ready == 1
