"""A process that uses a broker and says what it does, to be killed by a test at any moment.

    python broker_process.py '{"url": …, "queue": …}' <verb> [<argument> …]

It writes one line for each thing that is certain: what, message id, seconds on the machine's steady
clock, and more. A line that a test can read was true before the process died.
"""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from unittest.mock import patch

import msgspec

from webloom.adapters.bullmq.broker import open_bullmq
from webloom.adapters.rabbitmq import connection
from webloom.adapters.rabbitmq.broker import open_rabbitmq
from webloom.adapters.sqlite.broker import SqliteBroker
from webloom.adapters.sqlite.database import open_database
from webloom.adapters.system_clock import SystemClock
from webloom.domain.errors import BrokerUnavailable, QueueFull
from webloom.ports.broker import Broker, Delivery, Message
from webloom.ports.clock import Clock

SQLITE = "sqlite:///"


@dataclass(frozen=True, kw_only=True)
class Way:
    """To a broker, and how it is used."""

    url: str
    queue: str
    quorum: bool = False
    limit: int | None = None
    lease: float = 2.0
    heartbeat: int | None = None  # of RabbitMQ, in seconds

    def as_json(self) -> str:
        return msgspec.json.encode(asdict(self)).decode()


@asynccontextmanager
async def open_broker(way: Way, clock: Clock | None = None) -> AsyncIterator[Broker]:
    clock = clock or SystemClock()
    limits = {} if way.limit is None else {way.queue: way.limit}
    if way.url.startswith(SQLITE):
        async with open_database(Path(way.url.removeprefix(SQLITE)), clock) as database:
            yield SqliteBroker(database, limits=limits, lease=way.lease)
    elif way.url.startswith("amqp"):
        heartbeat = way.heartbeat or connection.HEARTBEAT
        with patch.object(connection, "HEARTBEAT", heartbeat):
            async with open_rabbitmq(way.url, clock, limits=limits, quorum=way.quorum) as rabbitmq:
                yield rabbitmq
    else:
        async with open_bullmq(way.url, clock, limits=limits, lease=way.lease) as bullmq:
            yield bullmq


def say(what: str, name: str = "-", *more: object) -> None:
    """One write, so that a kill leaves whole lines."""
    words = [what, name, f"{time.monotonic():.6f}", *map(str, more)]
    os.write(1, (" ".join(words) + "\n").encode())


def message(name: str) -> Message:
    return Message(id=name, body=b'{"text": "' + b"x" * 300 + b'"}')


async def publish(broker: Broker, queue: str, prefix: str, count: str, at_once: str) -> None:
    """Each message until it is accepted or there is no room for it."""
    names = iter(f"{prefix}.{n}" for n in range(int(count)))

    async def insist() -> None:
        for name in names:
            while True:
                try:
                    await broker.publish(queue, message(name))
                except BrokerUnavailable:
                    say("unsure", name)
                    await asyncio.sleep(0.05)
                except QueueFull:
                    say("full", name)
                    break
                else:
                    say("accepted", name)
                    break

    await asyncio.gather(*(insist() for _ in range(int(at_once))))


async def serve(broker: Broker, queue: str, slots: str, seconds: str) -> None:
    """Acknowledge everything, after so many seconds of work each, forever."""

    async def work(delivery: Delivery) -> None:
        await asyncio.sleep(float(seconds))

    await _serve(broker, queue, int(slots), work)


async def block(broker: Broker, queue: str, seconds: str) -> None:
    """As serve, with one slot and an event loop that stands still meanwhile."""

    async def work(delivery: Delivery) -> None:
        time.sleep(float(seconds))  # noqa: ASYNC251 - it is the fault

    await _serve(broker, queue, 1, work)


async def share(broker: Broker, queue: str, prefix: str, count: str) -> None:
    """Publish and serve at once; ends only when it is killed."""
    await asyncio.gather(
        publish(broker, queue, prefix, count, "8"), serve(broker, queue, "8", "0.001")
    )


async def soak(broker: Broker, queue: str, count: str) -> None:
    """Publish and acknowledge so many, and tell the memory at the start, half-way and at the end"""
    total, group, acked = int(count), 250, 0
    all_done = asyncio.Event()

    async def work(deliveries: AsyncIterator[Delivery]) -> None:
        nonlocal acked
        while True:
            delivery = await anext(deliveries)
            await delivery.ack()
            acked += 1
            if acked in (total // 10, total // 2, total):
                say("memory", f"{acked}", resource_kib())
            if acked == total:
                all_done.set()

    async with broker.deliveries(queue, 64) as deliveries:
        slots = [asyncio.create_task(work(deliveries)) for _ in range(64)]
        for start in range(0, total, group):
            names = [f"m{n}" for n in range(start, start + group)]
            await broker.publish_many(queue, [message(name) for name in names])
            while start + group - acked > 4 * group:  # noqa: ASYNC110 - what waits stays short
                await asyncio.sleep(0.005)
        await all_done.wait()
        for slot in slots:
            slot.cancel()
        await asyncio.wait(slots)
    say("done")


def resource_kib() -> int:
    """What the process holds now; its peak where the system tells no more."""
    with suppress(OSError):
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize() // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


async def _serve(
    broker: Broker,
    queue: str,
    slots: int,
    work: Callable[[Delivery], Coroutine[object, object, None]],
) -> None:
    async def slot(deliveries: AsyncIterator[Delivery]) -> None:
        while True:
            delivery = await anext(deliveries)
            say("got", delivery.message_id, delivery.attempt, int(delivery.redelivered))
            await work(delivery)
            await delivery.ack()
            say("acked", delivery.message_id)

    async with broker.deliveries(queue, slots) as deliveries:
        await asyncio.gather(*(slot(deliveries) for _ in range(slots)))


VERBS = {each.__name__: each for each in (publish, serve, block, share, soak)}


async def main(way: Way, verb: str, *arguments: str) -> None:
    async with open_broker(way) as broker:
        say("ready")
        await VERBS[verb](broker, way.queue, *arguments)


if __name__ == "__main__":
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    asyncio.run(main(msgspec.json.decode(sys.argv[1], type=Way), *sys.argv[2:]))
