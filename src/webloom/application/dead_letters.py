"""The dead letters of a queue: all of them, and what becomes of those that are chosen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime

from webloom.ports.broker import Broker, DeadLetter

PAGE = 100
AT_ONCE = 50  # letters that are acted on together: a database commits them in one go


async def all_letters(broker: Broker, queue: str) -> AsyncIterator[DeadLetter]:
    """Each once, the oldest first: RabbitMQ may hold a letter twice that was buried again after a
    lost answer."""
    seen: set[str] = set()
    after = None
    while True:
        page = await broker.dead_letters(queue, limit=PAGE, after=after)
        fresh = [letter for letter in page if letter.id not in seen]
        for letter in fresh:
            yield letter
        if len(page) < PAGE or not fresh:
            return
        seen.update(letter.id for letter in fresh)
        after = page[-1].id


async def all_ids(broker: Broker, queue: str, before: datetime | None = None) -> list[str]:
    """Those that are there now: what dies again meanwhile is not chosen again. With `before`, of
    these the ones that were buried then or earlier."""
    return [
        letter.id
        async for letter in all_letters(broker, queue)
        if before is None or letter.buried_at <= before
    ]


async def act_on(ids: list[str], act: Callable[[str], Awaitable[bool]]) -> list[str]:
    """The ids of which there was no letter. `act` is the broker's, for one queue."""
    missing: list[str] = []
    for start in range(0, len(ids), AT_ONCE):
        some = ids[start : start + AT_ONCE]
        found = await asyncio.gather(*map(act, some), return_exceptions=True)
        for each, there in zip(some, found, strict=True):
            if isinstance(there, BaseException):
                raise there
            if not there:
                missing.append(each)
    return missing
