"""What slots count, over a real broker."""

from __future__ import annotations

import asyncio
import errno

from contracts.adapters import Processes
from contracts.waiting import until
from webloom.entrypoints.slots import PAUSE_SECONDS, Slots
from webloom.ports.broker import Broker, Delivery, Message

QUEUE = "queue"


async def test_a_message_that_is_put_off_is_not_handled_yet(broker: Broker) -> None:
    put_off: set[str] = set()
    done: set[str] = set()

    async def handle(delivery: Delivery) -> None:
        if delivery.body == b"bad":
            await delivery.dead_letter("bad")
        elif delivery.body == b"worse":
            raise ValueError
        elif delivery.message_id not in put_off:
            put_off.add(delivery.message_id)
            await delivery.retry()
        else:
            await delivery.ack()
            done.add(delivery.message_id)

    bodies = [b"good", b"fine", b"bad", b"worse"]
    sent = [Message(id=body.decode(), body=body) for body in bodies]
    await broker.publish_many(QUEUE, sent)
    async with broker.deliveries(QUEUE, 2) as deliveries:
        slots = Slots(handle, deliveries)
        slots.start(2)

        async def all_are_done() -> bool:
            return done == put_off == {"good", "fine"} and (await broker.depth(QUEUE)).dead == 2

        await until(all_are_done)
        stop = asyncio.Event()
        stop.set()
        await slots.serve_until(stop)
        await slots.drain(grace=30)
    assert slots.handled == len(sent)


async def test_a_message_that_there_are_no_resources_for_comes_again(
    brokers: Processes[Broker],
) -> None:
    tries = 0

    async def handle(delivery: Delivery) -> None:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise OSError(errno.EMFILE, "Too many open files")
        await delivery.ack()

    async with brokers.open() as broker, broker.deliveries(QUEUE, 1) as deliveries:
        await broker.publish(QUEUE, Message(id="one", body=b"one"))
        slots = Slots(handle, deliveries)
        slots.start(1)

        async def is_put_off() -> bool:
            return tries > 1 or (await broker.depth(QUEUE)).delayed == 1

        async def is_handled() -> bool:
            return slots.handled == 1

        await until(is_put_off)
        await brokers.pass_time(2 * PAUSE_SECONDS)
        await until(is_handled)
        await slots.drain(grace=30)
        assert (await broker.depth(QUEUE)).dead == 0
    assert tries == 2
