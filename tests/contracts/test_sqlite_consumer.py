"""The SQLite consumer between two looks at the database, moved step by step.

Its broker is a fake that answers when the test says so: what is tested here are moments that real
threads pass in microseconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from contracts.waiting import until
from patience import PATIENCE_SECONDS
from webloom.adapters.sqlite.consumer import Consumer, Hold, Taken
from webloom.domain.errors import BrokerUnavailable


class StepwiseBroker:
    lease = 3600.0

    def __init__(self) -> None:
        self.ready: list[Taken] = []
        self.given_back: list[int] = []
        self.claims = 0
        self.failures = 0  # retries that will fail
        self.probing = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.may_claim = asyncio.Event()
        self.may_claim.set()

    def now(self) -> float:
        return 0.0

    async def next_event(self, queue: str) -> float:
        found = 0.0 if self.ready else 3600.0  # what the reader's snapshot shows
        self.probing.set()
        await self.may_answer.wait()
        return found

    async def claim(self, queue: str, owner: str, most: int) -> tuple[list[Taken], float]:
        self.claims += 1
        taken, self.ready = self.ready[:most], self.ready[most:]
        await self.may_claim.wait()
        return taken, 3600.0

    async def renew(self, owner: str) -> None:
        pass

    def ack(self, hold: Hold) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        future.set_result(None)
        return future

    async def retry(self, hold: Hold, after: float) -> None:
        if self.failures:
            self.failures -= 1
            raise BrokerUnavailable("the disk is full")
        self.given_back.append(hold.row)

    async def bury(self, hold: Hold, reason: str) -> None:
        pass


def taken(row: int) -> Taken:
    return Taken(row=row, message_id=f"m{row}", body=b"{}", attempt=1, redelivered=0)


@asynccontextmanager
async def probing_consumer(
    broker: StepwiseBroker, changed: asyncio.Event
) -> AsyncIterator[tuple[Consumer, asyncio.Task[str]]]:
    """A consumer that found nothing, heard of a commit, and looks whether it left anything."""

    async def receive(consumer: Consumer) -> str:
        return (await anext(consumer)).message_id

    async with Consumer(broker, "queue", 1, changed).running() as consumer:
        waiter = asyncio.create_task(receive(consumer))

        async def has_claimed() -> bool:
            return broker.claims > 0

        await until(has_claimed)
        changed.set()
        await asyncio.wait_for(broker.probing.wait(), PATIENCE_SECONDS)
        yield consumer, waiter
        waiter.cancel()
        await asyncio.wait([waiter])


async def test_a_commit_during_a_look_at_the_queue_is_not_missed() -> None:
    broker, changed = StepwiseBroker(), asyncio.Event()
    async with probing_consumer(broker, changed) as (_, waiter):
        broker.ready.append(taken(1))
        changed.set()
        broker.may_answer.set()
        assert await asyncio.wait_for(waiter, PATIENCE_SECONDS) == "m1"


async def test_leaving_during_a_look_at_the_queue_does_not_wait_for_the_next_commit() -> None:
    broker, changed = StepwiseBroker(), asyncio.Event()

    async def leave() -> None:
        async with probing_consumer(broker, changed):
            asyncio.get_running_loop().call_later(0.01, broker.may_answer.set)

    await asyncio.wait_for(leave(), PATIENCE_SECONDS)


async def test_a_message_nobody_waits_for_any_more_is_given_back_however_often_it_takes() -> None:
    """Its lease does not run out: it is renewed with everything else that this consumer holds."""
    broker, changed = StepwiseBroker(), asyncio.Event()
    broker.ready.append(taken(1))
    broker.failures = 1
    broker.may_claim.clear()
    async with Consumer(broker, "queue", 1, changed).running() as consumer:
        waiter = asyncio.ensure_future(anext(consumer))

        async def has_claimed() -> bool:
            return broker.claims > 0

        await until(has_claimed)
        waiter.cancel()
        await asyncio.wait([waiter])
        broker.may_claim.set()

        async def is_given_back() -> bool:
            return broker.given_back == [1]

        await until(is_given_back)
