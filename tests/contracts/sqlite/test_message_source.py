"""A consumer on SQLite between two looks at the database, moved step by step.

Its source answers when the test says so: what is tested here are moments that real threads pass in
microseconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from fakes.clock import FakeClock
from timeouts import TIMEOUT_SECONDS
from webloom.adapters.consumer import Consumer, Received
from webloom.adapters.sqlite.broker import SqliteBroker
from webloom.adapters.sqlite.database import Database, open_database
from webloom.adapters.sqlite.message_source import Handle, MessageLeases, SqliteSource
from webloom.ports.broker import Message

QUEUE = "queue"
LEASE = 3600.0


class StepwiseSource(SqliteSource):
    def __init__(self, database: Database) -> None:
        super().__init__(database, MessageLeases(database, LEASE), QUEUE)
        self.has_claimed = asyncio.Event()
        self.may_go_on = asyncio.Event()
        self.may_go_on.set()
        self.probing = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def claim(self, most: int) -> tuple[list[Received[Handle]], float]:
        claimed = await super().claim(most)
        self.has_claimed.set()
        await self.may_go_on.wait()
        return claimed

    async def next_event(self) -> float:
        found = await super().next_event()
        self.probing.set()
        await self.may_answer.wait()
        return found


@pytest.fixture
async def database(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Database]:
    async with open_database(tmp_path / "webloom.db", clock) as opened:
        yield opened


@asynccontextmanager
async def probing(source: StepwiseSource) -> AsyncIterator[asyncio.Task[str]]:
    """A consumer that found nothing, heard of a commit, and looks whether it left anything."""

    async def receive(consumer: Consumer[Handle]) -> str:
        return (await anext(consumer)).message_id

    async with Consumer(source, QUEUE, 1).running() as consumer:
        waiter = asyncio.create_task(receive(consumer))
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await source.has_claimed.wait()
            source.committed()
            await source.probing.wait()
        yield waiter
        waiter.cancel()
        await asyncio.wait([waiter])


async def test_a_commit_during_a_look_at_the_queue_is_not_missed(database: Database) -> None:
    source = StepwiseSource(database)
    async with probing(source) as waiter:
        broker = SqliteBroker(database, limits={}, lease=LEASE)
        await broker.publish(QUEUE, Message(id="m1", body=b"{}"))
        source.committed()
        source.may_answer.set()
        async with asyncio.timeout(TIMEOUT_SECONDS):
            assert await waiter == "m1"


async def test_a_commit_during_a_claim_that_finds_nothing_is_not_missed(
    database: Database,
) -> None:
    source = StepwiseSource(database)
    source.may_answer.set()
    source.may_go_on.clear()
    async with asyncio.timeout(TIMEOUT_SECONDS), Consumer(source, QUEUE, 1).running() as consumer:
        waiter = asyncio.ensure_future(anext(consumer))
        await source.has_claimed.wait()
        broker = SqliteBroker(database, limits={}, lease=LEASE)
        await broker.publish(QUEUE, Message(id="m1", body=b"{}"))
        source.committed()
        source.may_go_on.set()
        assert (await waiter).message_id == "m1"


async def test_leaving_during_a_look_at_the_queue_does_not_wait_for_the_next_commit(
    database: Database,
) -> None:
    source = StepwiseSource(database)
    async with asyncio.timeout(TIMEOUT_SECONDS):
        async with probing(source):
            asyncio.get_running_loop().call_later(0.01, source.may_answer.set)
