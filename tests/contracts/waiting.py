"""Waiting in tests: always for something, and never for ever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from webloom.ports.broker import Delivery

PATIENCE = 10.0  # far more than anything takes


async def take(deliveries: AsyncIterator[Delivery]) -> Delivery:
    async with asyncio.timeout(PATIENCE):
        return await anext(deliveries)


async def nothing_comes(deliveries: AsyncIterator[Delivery], seconds: float = 0.2) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(seconds):
            await anext(deliveries)


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await condition():  # noqa: ASYNC110 - the database knows no events
            await asyncio.sleep(0.005)
