"""Processes and servers that are killed or frozen, over every broker.

The other faults that every broker has to survive are in the test_broker_ modules beside this one.
A holder that settles too late is covered in the contract, verb by verb
(test_a_holder_that_comes_late_changes_nothing), and with a real process in test_broker_handlers
(test_a_blocked_event_loop_costs_at_most_a_duplicate_delivery).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial

import pytest

from faults import broker_rooms
from faults.broker_process import message
from faults.broker_rooms import STALL, BrokerRoom, each_server, with_a_server
from faults.processes import eventually
from timeouts import TIMEOUT_SECONDS
from webloom.domain.errors import BrokerUnavailable
from webloom.ports.broker import Broker, Delivery

Say = Callable[[str], None]
HEARTBEAT = 2  # seconds; RabbitMQ's own; it takes several missed ones
EVERY_KIND = 60  # messages, among which each kind of treatment is found


class Load:
    """Publishers and consumers at work: some messages are delayed, retried or buried."""

    def __init__(self, room: BrokerRoom) -> None:
        self._room = room
        self._journal = room.journal
        self._stop = asyncio.Event()
        self._ending = False
        self.slowest = 0.0  # seconds until a publish had failed
        self.failed = 0

    @asynccontextmanager
    async def running(self, heartbeat: int | None = None) -> AsyncIterator[Broker]:
        """Yields the broker of the publishers."""
        async with AsyncExitStack() as stack:
            publisher = await stack.enter_async_context(self._room.open(heartbeat=heartbeat))
            consumer = await stack.enter_async_context(self._room.open(heartbeat=heartbeat))
            deliveries = await stack.enter_async_context(consumer.deliveries(self._room.queue, 8))
            slots = [asyncio.create_task(self._serve(deliveries)) for _ in range(8)]
            publishers = [asyncio.create_task(self._publish(publisher, n)) for n in range(4)]
            try:
                yield publisher
            finally:
                self._stop.set()
                await asyncio.gather(*publishers)
                assert not any(slot.done() for slot in slots), "a slot has ended by itself"
                self._ending = True
                for slot in slots:
                    slot.cancel()
                await asyncio.wait(slots)

    async def goes_on(self) -> None:
        """New messages of every kind are accepted and served."""
        accepted, acked = (len(self._journal.names(what)) for what in ("accepted", "acked"))

        def look() -> bool:
            return (
                len(self._journal.names("accepted")) > accepted + EVERY_KIND
                and len(self._journal.names("acked")) > acked + EVERY_KIND
            )

        await eventually(look, what="work goes on")

    async def _publish(self, broker: Broker, publisher: int) -> None:
        number = 0
        while not self._stop.is_set():
            number += 1
            name = f"p{publisher}.{number}"
            delay = 0.4 if number % 10 == 1 else 0.0
            begun = time.monotonic()
            while True:
                try:
                    await broker.publish(self._room.queue, message(name), delay=delay)
                except BrokerUnavailable:
                    self.failed += 1
                    self.slowest = max(self.slowest, time.monotonic() - begun)
                    self._journal.note("unsure", name)
                    if self._stop.is_set():
                        return
                    await asyncio.sleep(0.05)
                    begun = time.monotonic()
                else:
                    self._journal.note("accepted", name)
                    break
            await asyncio.sleep(0.005)

    async def _serve(self, deliveries: AsyncIterator[Delivery]) -> None:
        while not self._ending:
            delivery = await anext(deliveries)
            name = delivery.message_id
            self._journal.note("got", name)
            if name.endswith("7"):
                await self._insist(name, partial(delivery.dead_letter, "ends with seven"))
            elif name.endswith("3") and delivery.attempt == 1:
                await self._insist(name, partial(delivery.retry, 0.3))
            else:
                await delivery.ack()
                self._journal.note("acked", name)

    async def _insist(self, name: str, settle: Callable[[], Awaitable[None]]) -> None:
        self._journal.note("moved", name)
        while True:
            try:
                await settle()
            except BrokerUnavailable:
                await asyncio.sleep(0.2)
            else:
                self._journal.note("moved", name)
                return


async def test_a_message_whose_consumer_is_killed_is_redelivered_every_time(
    room: BrokerRoom, say: Say
) -> None:
    async with room.open() as broker:
        await broker.publish(room.queue, message("poison"))
        room.journal.note("accepted", "poison")
    waits: list[float] = []
    killed = 0.0
    for attempt in (1, 2, 3):
        victim = room.start("serve", 1, 600, lease=0.9)
        [got] = await victim.said("got")
        reported = attempt if room.backend.counts_kills else min(attempt, 2)
        assert (got.name, *got.more) == ("poison", str(reported), str(int(attempt > 1)))
        if attempt > 1:
            waits.append(got.at - killed)
        victim.kill()
        killed = time.monotonic()
    async with room.open() as broker, broker.deliveries(room.queue, 1) as deliveries:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            survivor = await anext(deliveries)
        assert survivor.attempt == (4 if room.backend.counts_kills else 2)
        assert survivor.redelivered
        await survivor.ack()
        room.journal.note("acked", "poison")
    say(f"came again after {', '.join(f'{wait:.1f}' for wait in waits)} s (a start included)")
    await room.settled(say)


async def test_no_message_is_lost_when_consumers_are_killed(room: BrokerRoom, say: Say) -> None:
    names = [f"m{n}" for n in range(400)]
    async with room.open() as broker:
        for start in range(0, len(names), 100):
            accepted = await broker.publish_many(
                room.queue, [message(name) for name in names[start : start + 100]]
            )
            for name in accepted:
                room.journal.note("accepted", str(name))
        for _ in range(4):
            victim = room.start("serve", 8, 0.02, lease=0.9)
            await victim.said("acked", 20)
            with room.journal.fault():
                victim.kill()
    await room.settled(say)


async def test_messages_accepted_from_a_producer_outlive_its_death(
    room: BrokerRoom, say: Say
) -> None:
    for number in range(3):
        victim = room.start("publish", f"p{number}", 100_000, 16)
        await victim.said("accepted", 100 + 37 * number)
        with room.journal.fault():
            victim.kill()
    await room.settled(say)


@with_a_server
async def test_a_server_killed_under_load_loses_no_accepted_message(
    room: BrokerRoom, say: Say
) -> None:
    load = Load(room)
    times = []
    async with load.running():
        await load.goes_on()
        for _ in range(2):
            with room.journal.fault():  # RabbitMQ is not done when it answers again
                await room.restart()
                begun = time.monotonic()
                await load.goes_on()
                times.append(time.monotonic() - begun)
            await load.goes_on()
    say(f"work goes on {', '.join(f'{each:.1f}' for each in times)} s after a restart")
    await room.settled(say)


async def test_a_frozen_broker_fails_publishes_in_time_and_recovers_by_itself(
    room: BrokerRoom, say: Say
) -> None:
    """A server that is stopped, or, on SQLite, a file that no one else may write."""
    load = Load(room)
    async with load.running(heartbeat=HEARTBEAT) as broker:
        await load.goes_on()
        with room.journal.fault():
            room.pause()
            paused = time.monotonic()
            try:
                await eventually(lambda: load.failed, what="a publish is given up")
                with pytest.raises(BrokerUnavailable):
                    await broker.publish(room.queue, message("meanwhile"))
                answered = time.monotonic() - paused
            finally:
                room.resume()
        begun = time.monotonic()
        await load.goes_on()
        came_back = time.monotonic() - begun
    say(
        f"{load.failed} publishes failed within {load.slowest:.1f} s of {answered:.1f} s; "
        f"work went on after {came_back:.1f} s"
    )
    assert load.slowest < room.backend.gives_up + STALL
    await room.settled(say)


@pytest.mark.parametrize("fault", ["killed", "paused"])
@each_server
async def test_contexts_close_in_time_while_the_server_is_down_or_frozen(
    room: BrokerRoom, say: Say, fault: str
) -> None:
    await leave_while(room, say, room.kill if fault == "killed" else None)


@broker_rooms.on_sqlite
async def test_contexts_close_in_time_while_the_database_file_is_locked(
    room: BrokerRoom, say: Say
) -> None:
    await leave_while(room, say, None)


async def leave_while(
    room: BrokerRoom, say: Say, kill: Callable[[], Awaitable[None]] | None
) -> None:
    """With one delivery held, one acknowledged on its way, and one slot that waits."""
    before = asyncio.all_tasks()
    async with AsyncExitStack() as stack:
        broker = await stack.enter_async_context(room.open())
        deliveries = await stack.enter_async_context(broker.deliveries(room.queue, 3))
        for name in ("held", "acked"):
            await broker.publish(room.queue, message(name))
            room.journal.note("accepted", name)
        held = {}
        for _ in range(2):
            delivery = await anext(deliveries)
            held[delivery.message_id] = delivery
        waiter = asyncio.ensure_future(anext(deliveries))
        await asyncio.sleep(0.1)
        with room.journal.fault():
            if kill is None:
                room.pause()
            else:
                await kill()
            begun = time.monotonic()
            await held["acked"].ack()
            room.journal.note("acked", "acked")  # or it comes again
            waiter.cancel()
            with suppress(asyncio.CancelledError):
                await waiter
            await stack.aclose()
        left = time.monotonic() - begun
    say(f"left within {left:.1f} s")
    assert left < 2 * room.backend.gives_up + STALL
    await eventually(lambda: not asyncio.all_tasks() - before, what="no task is left")
    room.resume()
    if kill is not None:
        await asyncio.to_thread(room.server.start)
    await room.settled(say)
