"""What the tests of the RabbitMQ adapter share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from servers.rabbitmq import RabbitServer
from timeouts import TIMEOUT_SECONDS
from webloom.adapters.rabbitmq.broker import RabbitBroker, open_rabbitmq
from webloom.adapters.system_clock import SystemClock
from webloom.ports.broker import Delivery, Message


def message(name: str) -> Message:
    return Message(id=name, body=f'"{name}"'.encode())


@asynccontextmanager
async def opened(server: RabbitServer, **limits: int) -> AsyncIterator[RabbitBroker]:
    async with open_rabbitmq(server.url, SystemClock(), limits=limits) as broker:
        yield broker


async def becomes(condition: Callable[[], bool], seconds: float = TIMEOUT_SECONDS) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - the state of a connection is not an event
            await asyncio.sleep(0.005)


@asynccontextmanager
async def serving(
    deliveries: AsyncIterator[Delivery], slots: int, served: list[str]
) -> AsyncIterator[None]:
    """Slots that note and acknowledge whatever comes."""

    async def serve() -> None:
        async for delivery in deliveries:
            served.append(delivery.message_id)
            await delivery.ack()

    tasks = [asyncio.create_task(serve()) for _ in range(slots)]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
