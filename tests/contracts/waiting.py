"""Waiting in tests: always for something, and never forever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Protocol

import pytest

from timeouts import TIMEOUT_SECONDS
from webloom.ports.broker import Broker, Delivery, QueueDepth


async def take(deliveries: AsyncIterator[Delivery]) -> Delivery:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        return await anext(deliveries)


class Passing(Protocol):
    def time(self) -> float:
        """In seconds."""


async def take_in_time(
    passing: Passing, deliveries: AsyncIterator[Delivery], due: Mapping[str, float]
) -> Delivery:
    """Not before its time. In real time, others may have become due while the machine stood still,
    so that nothing is said of the order."""
    delivery = await take(deliveries)
    early = due.get(delivery.message_id, 0.0) - passing.time()
    assert early < 0.2, f"{delivery.message_id} is {early} s early"
    return delivery


async def nothing_comes(deliveries: AsyncIterator[Delivery], seconds: float = 0.2) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(seconds):
            await anext(deliveries)


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while not await condition():  # noqa: ASYNC110 - the database knows no events
            await asyncio.sleep(0.005)


async def depth_becomes(broker: Broker, expected: QueueDepth, queue: str = "queue") -> None:
    """A broker that does not tell what is in flight is compared in the rest."""

    async def reached() -> bool:
        depth = await broker.depth(queue)
        unknown = depth.in_flight is None
        return depth == (replace(expected, in_flight=None) if unknown else expected)

    try:
        await until(reached)
    except TimeoutError:
        assert await broker.depth(queue) == expected
