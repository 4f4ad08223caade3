"""A bad network between a process and its broker."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest

from faults.broker_process import message
from faults.broker_rooms import STALL, BrokerRoom, each_server, with_a_server
from faults.processes import eventually_async
from webloom.domain.errors import BrokerUnavailable
from webloom.ports.broker import Broker

Say = Callable[[str], None]
LATENCY = 0.2  # seconds, each way


async def publish_again(room: BrokerRoom, broker: Broker, name: str) -> None:
    """As soon as it is possible."""

    async def possible() -> bool:
        try:
            await broker.publish(room.queue, message(name))
        except BrokerUnavailable:
            return False
        room.journal.note("accepted", name)
        return True

    await eventually_async(possible, what=f"{name} is accepted")


@with_a_server
async def test_a_publish_whose_reply_was_lost_can_be_repeated_without_loss(
    room: BrokerRoom, say: Say
) -> None:
    """One message where the broker knows ids; else at most one more for each repeat."""
    names = [f"m{n}" for n in range(5)]
    async with (
        room.open() as witness,
        room.proxy() as proxy,
        room.open(port=proxy.port) as broker,
    ):
        await broker.publish(room.queue, message("before"))
        room.journal.note("accepted", "before")
        proxy.drop_replies()
        publishing = [
            asyncio.create_task(broker.publish(room.queue, message(name))) for name in names
        ]

        async def stored() -> bool:
            return (await witness.depth(room.queue)).ready == 1 + len(names)

        await eventually_async(stored, what="the server has them")
        assert proxy.dropped > 0
        proxy.cut()
        answers = await asyncio.gather(*publishing, return_exceptions=True)
        assert [type(answer) for answer in answers] == [BrokerUnavailable] * len(names)
        for name in names:
            room.journal.note("unsure", name)
        proxy.pass_all()
        for name in names:
            await publish_again(room, broker, name)
        copies = (await witness.depth(room.queue)).ready - 1 - len(names)
        say(f"{copies} of {len(names)} are there twice")
        assert copies == (0 if room.backend.knows_ids else len(names))
    await room.settled(say)


@each_server
async def test_a_half_open_connection_is_given_up_in_time_and_replaced(
    room: BrokerRoom, say: Say
) -> None:
    """It is gone without a sign: bytes go out, and none come back."""
    async with (
        room.proxy() as proxy,
        room.open(port=proxy.port) as broker,
        broker.deliveries(room.queue, 2) as deliveries,
    ):
        slot = asyncio.create_task(room.journal.acking(deliveries))
        await publish_again(room, broker, "before")
        with room.journal.fault():
            proxy.hold()
            begun = time.monotonic()
            with pytest.raises(BrokerUnavailable):
                await broker.publish(room.queue, message("into the void"))
            failed = time.monotonic() - begun
            begun = time.monotonic()
            with pytest.raises(BrokerUnavailable):
                await broker.publish(room.queue, message("into the void"))
            again = time.monotonic() - begun
            proxy.pass_all()
            begun = time.monotonic()
            await publish_again(room, broker, "afterwards")
            back = time.monotonic() - begun

        async def served() -> bool:
            return "afterwards" in room.journal.names("acked")

        await eventually_async(served, what="the consumer is back too")
        served_after = time.monotonic() - begun
        slot.cancel()
        await asyncio.wait([slot])
    say(
        f"a publish failed after {failed:.1f} s, the next after {again:.1f} s; accepted again "
        f"after {back:.1f} s, served after {served_after:.1f} s"
    )
    assert failed < room.backend.gives_up + STALL
    assert again < room.backend.gives_up + STALL
    await room.settled(say)


@with_a_server
async def test_publishers_and_slots_work_in_parallel_over_a_slow_network(
    room: BrokerRoom, say: Say
) -> None:
    """Slots work in parallel, and so do publishers: what is measured is far less than the sum."""
    names = [f"m{n}" for n in range(150)]
    async with room.proxy() as proxy, room.open(port=proxy.port) as broker:
        await broker.publish(room.queue, message("warm"))
        room.journal.note("accepted", "warm")
        proxy.delay = LATENCY
        begun = time.monotonic()
        await asyncio.gather(*(broker.publish(room.queue, message(name)) for name in names))
        published = time.monotonic() - begun
        for name in names:
            room.journal.note("accepted", name)
        async with broker.deliveries(room.queue, 16) as deliveries:
            begun = time.monotonic()
            slots = [asyncio.create_task(room.journal.acking(deliveries)) for _ in range(16)]

            async def all_served() -> bool:
                return room.journal.names("acked") == {"warm", *names}

            await eventually_async(all_served, what="all are served")
            served = time.monotonic() - begun
            for slot in slots:
                slot.cancel()
            await asyncio.wait(slots)
    one_by_one = 2 * LATENCY * len(names)
    say(f"{len(names)} published in {published:.1f} s, served in {served:.1f} s")
    assert published < one_by_one / 2
    assert served < one_by_one / 2
    await room.settled(say)


@with_a_server
async def test_no_message_is_lost_when_connections_are_cut(room: BrokerRoom, say: Say) -> None:
    async with (
        room.proxy() as proxy,
        room.open(port=proxy.port) as broker,
        broker.deliveries(room.queue, 4) as deliveries,
    ):
        slots = [asyncio.create_task(room.journal.acking(deliveries)) for _ in range(4)]
        for n in range(40):
            if n % 10 == 9:
                with room.journal.fault():
                    proxy.cut()
                    room.journal.note("unsure", f"m{n}")
            await publish_again(room, broker, f"m{n}")
        for slot in slots:
            slot.cancel()
        await asyncio.wait(slots)
    await room.settled(say)
