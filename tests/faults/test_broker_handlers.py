"""Handlers that take too long or fail, delays, and clocks that jump, over every broker."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta

import pytest

from faults.broker_process import message
from faults.broker_rooms import BrokerRoom
from faults.processes import eventually
from timeouts import TIMEOUT_SECONDS
from webloom.adapters.system_clock import SystemClock
from webloom.ports.broker import Broker, Delivery

Say = Callable[[str], None]
LEASE = 2.0
KEPT_LEASE = 5.0  # which is kept even on a busy machine
HEARTBEAT = 1  # of RabbitMQ: its server gives a silent client up after two or three
KEPT_HEARTBEAT = 3
HOUR = 3600.0
# By far the longest is the first: a queue that looks only at its head would keep the others for it.
LONGEST = 6.0
DELAYS = (LONGEST, 0.25, 1.1, 0.13, 0.6, 1.7, 0.4, 2.2, 0.05, 0.9)


async def accepted(room: BrokerRoom, broker: Broker, name: str, delay: float = 0.0) -> None:
    await broker.publish(room.queue, message(name), delay=delay)
    room.journal.note("accepted", name)


async def test_a_delivery_handled_longer_than_its_lease_stays_with_its_holder(
    room: BrokerRoom, say: Say
) -> None:
    holder = room.start("serve", 1, 2.5 * KEPT_LEASE, lease=KEPT_LEASE, heartbeat=KEPT_HEARTBEAT)
    async with room.open(lease=KEPT_LEASE) as broker:
        await accepted(room, broker, "long")
        await holder.said("got")
        async with broker.deliveries(room.queue, 4) as deliveries:
            slots = [asyncio.create_task(room.journal.acking(deliveries)) for _ in range(4)]
            await holder.said("acked")
            assert room.journal.names("got") == set()
            for slot in slots:
                slot.cancel()
            await asyncio.wait(slots)
        with room.journal.fault():  # its acknowledgement may still be on its way
            holder.kill()
    await room.settled(say)


async def test_a_blocked_event_loop_costs_at_most_a_duplicate_delivery(
    room: BrokerRoom, say: Say
) -> None:
    """The consumer that took over has the last word: the first holder's late ack is ignored."""
    lease = 1.5 * LEASE  # which the one who takes over has to keep
    sleeper = room.start("block", 5 * lease, lease=lease, heartbeat=HEARTBEAT)
    async with room.open(lease=lease) as broker:
        await accepted(room, broker, "blocked")
        [got] = await sleeper.said("got")
        async with broker.deliveries(room.queue, 1) as deliveries:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                taken_over = await anext(deliveries)
            say(f"taken over after {time.monotonic() - got.at:.1f} s")
            assert (taken_over.message_id, taken_over.redelivered) == ("blocked", True)
            room.journal.note("unsure", "blocked")  # two hold it now
            await sleeper.said("acked")
            await asyncio.sleep(1)
            depth = await broker.depth(room.queue)
            assert depth.in_flight in (1, None), "it is still the new holder's"
            await taken_over.retry(0.1)  # so that it is seen whether it was still there
            async with asyncio.timeout(TIMEOUT_SECONDS):
                again = await anext(deliveries)
            assert again.message_id == "blocked"
            await again.ack()
            room.journal.note("acked", "blocked")
        await accepted(room, broker, "next")
        await sleeper.said("got", 2)
        sleeper.kill()
    await room.settled(say)


async def test_messages_do_not_wait_behind_a_long_delivery_while_a_slot_is_idle(
    room: BrokerRoom, say: Say
) -> None:
    """Neither what is published nor what comes again."""
    async with (
        room.open() as busy,
        room.open() as idle,
        busy.deliveries(room.queue, 1) as deliveries,
        idle.deliveries(room.queue, 2) as others,
    ):
        await accepted(room, busy, "long")
        long = await anext(deliveries)
        slots = [asyncio.create_task(room.journal.acking(others)) for _ in range(2)]
        names = set()
        for n in range(6):
            names |= {f"m{n}", f"delayed{n}"}
            await accepted(room, busy, f"m{n}")
            await accepted(room, busy, f"delayed{n}", delay=0.2)
        begun = time.monotonic()
        if not room.shares_at_once:
            await asyncio.sleep(1)
            await long.ack()
            slots.append(asyncio.create_task(room.journal.acking(deliveries)))
        await eventually(lambda: room.journal.names("acked") == names, what="all are served")
        say(f"served within {time.monotonic() - begun:.1f} s")
        for slot in slots:
            slot.cancel()
        await asyncio.wait(slots)
        await long.ack()
        room.journal.note("acked", "long")
    await room.settled(say)


async def test_delays_of_any_length_block_no_others_and_never_end_early(
    room: BrokerRoom, say: Say
) -> None:
    """Half of them are published with a delay, half are given back with one."""
    due: dict[str, float] = {}
    late: dict[str, float] = {}
    loop = asyncio.get_running_loop()

    async def serve(deliveries: AsyncIterator[Delivery]) -> None:
        while True:
            delivery = await anext(deliveries)
            name = delivery.message_id
            if name.startswith("retry") and delivery.attempt == 1:
                due[name] = loop.time() + float(name.removeprefix("retry"))
                await delivery.retry(float(name.removeprefix("retry")))
            else:
                late[name] = loop.time() - due[name]
                await delivery.ack()
                room.journal.note("acked", name)

    async with room.open() as broker, broker.deliveries(room.queue, 8) as deliveries:
        await broker.publish(room.queue, message("acked first"), delay=0.01)
        async with asyncio.timeout(TIMEOUT_SECONDS):  # what a delay needs is there now
            await (await anext(deliveries)).ack()
        slots = [asyncio.create_task(serve(deliveries)) for _ in range(8)]
        for delay in DELAYS:
            due[f"delayed{delay}"] = loop.time() + delay
            await accepted(room, broker, f"delayed{delay}", delay)
            await accepted(room, broker, f"retry{delay}")
        await eventually(lambda: len(late) == 2 * len(DELAYS), what="all have come")
        for slot in slots:
            slot.cancel()
        await asyncio.wait(slots)
    say(f"late by {min(late.values()) * 1000:.0f} to {max(late.values()) * 1000:.0f} ms")
    assert min(late.values()) > -0.005, late
    assert {*list(late)[-2:]} == {f"delayed{LONGEST}", f"retry{LONGEST}"}, late
    await room.settled(say)


@pytest.mark.parametrize("error", [MemoryError, asyncio.CancelledError, RuntimeError])
async def test_an_error_in_a_handler_stops_no_other_slot_and_loses_no_message(
    room: BrokerRoom, say: Say, error: type[BaseException]
) -> None:
    """Slots that die with a delivery in their hands, and one that gives it back on its way out."""

    async def die(deliveries: AsyncIterator[Delivery], *, gives_back: bool) -> None:
        delivery = await anext(deliveries)
        try:
            raise error("in the handler")
        finally:
            if gives_back:
                await delivery.retry(0.1)
                room.journal.note("moved", delivery.message_id)

    async with room.open(lease=LEASE) as broker, broker.deliveries(room.queue, 4) as deliveries:
        victims = [
            asyncio.create_task(die(deliveries, gives_back=gives_back))
            for gives_back in (True, False, False)
        ]
        for n in range(3):
            await accepted(room, broker, f"deadly{n}")
        raised = await asyncio.gather(*victims, return_exceptions=True)
        assert [type(each) for each in raised] == [error] * 3
        slot = asyncio.create_task(room.journal.acking(deliveries))
        for n in range(20):
            await accepted(room, broker, f"m{n}")
        await eventually(lambda: len(room.journal.names("acked")) == 21, what="the slot works on")
        slot.cancel()
        await asyncio.wait([slot])
    await room.settled(say)


@pytest.mark.parametrize("error", [MemoryError, asyncio.CancelledError])
async def test_an_error_that_leaves_the_broker_context_loses_no_message(
    room: BrokerRoom, say: Say, error: type[BaseException]
) -> None:
    async with room.open(lease=LEASE) as witness:
        for n in range(3):
            await accepted(room, witness, f"m{n}")
        with pytest.raises(error):
            await fail_in_the_middle(room, error)
    await room.settled(say)


async def fail_in_the_middle(room: BrokerRoom, error: type[BaseException]) -> None:
    async with (
        room.open(lease=LEASE) as broker,
        broker.deliveries(room.queue, 2) as deliveries,
    ):
        await anext(deliveries)
        raise error("in the middle")


class SetClock(SystemClock):
    """The wall clock is set; the steady one goes on."""

    def __init__(self) -> None:
        super().__init__()
        self.shift = 0.0

    def now(self) -> datetime:
        return super().now() + timedelta(seconds=self.shift)

    def time(self) -> float:
        return self.now().timestamp()


@pytest.mark.parametrize("jump", [-HOUR, HOUR], ids=["back", "forward"])
async def test_a_jump_of_the_wall_clock_moves_no_lease_and_no_delay(
    room: BrokerRoom, say: Say, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    """Of the machine that publishes and serves: the broker's own may tell moments, but not ours."""
    clock = SetClock()
    monkeypatch.setattr(time, "time", clock.time)  # what libraries ask
    async with (
        room.open(lease=KEPT_LEASE, clock=clock) as broker,
        room.open(lease=KEPT_LEASE, clock=clock) as other,
        broker.deliveries(room.queue, 3) as deliveries,
        other.deliveries(room.queue, 2) as others,
    ):
        await accepted(room, broker, "held")
        held = await anext(deliveries)
        begun = time.monotonic()
        await accepted(room, broker, "delayed", delay=1.5)
        clock.shift = jump
        waiters = [asyncio.ensure_future(anext(each)) for each in (deliveries, others)]
        came, _ = await asyncio.wait(
            waiters, timeout=TIMEOUT_SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
        spent = time.monotonic() - begun
        assert spent > 1.45
        [first] = came
        assert first.result().message_id == "delayed", "what is held goes to no one else"
        await first.result().ack()
        room.journal.note("acked", "delayed")
        others_came, _ = await asyncio.wait(set(waiters) - came, timeout=KEPT_LEASE + 1)
        assert not others_came
        for waiter in waiters:
            waiter.cancel()
        await asyncio.wait(waiters)
        await held.ack()
        room.journal.note("acked", "held")
    say(f"the delay of 1.5 s took {spent:.1f} s")
    await room.settled(say)
