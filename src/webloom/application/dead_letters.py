"""List the dead letters of a queue, redeliver them, or discard them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from webloom.ports.broker import Broker, DeadLetter

PAGE = 100
AT_ONCE = 50  # letters handled concurrently: a database commits them together


@dataclass(frozen=True, kw_only=True, slots=True)
class DeadLetters:
    broker: Broker

    async def each(self, queue: str) -> AsyncIterator[DeadLetter]:
        """Each once, oldest first: RabbitMQ may hold a letter twice if an answer was lost when it
        was buried."""
        seen: set[str] = set()
        after = None
        while True:
            page = await self.broker.dead_letters(queue, limit=PAGE, after=after)
            fresh = [letter for letter in page if letter.id not in seen]
            for letter in fresh:
                yield letter
            if len(page) < PAGE or not fresh:
                return
            seen.update(letter.id for letter in fresh)
            after = page[-1].id

    async def ids(self, queue: str, before: datetime | None = None) -> list[str]:
        """Those that exist now, so that a letter that dies again meanwhile is not selected again.
        With `before`, only those buried by then."""
        return [
            letter.id
            async for letter in self.each(queue)
            if before is None or letter.buried_at <= before
        ]

    async def put_back(self, queue: str, ids: list[str]) -> list[str]:
        """Deliver them again, as if new. Returns the ids that were not found."""
        return await act_on(ids, partial(self.broker.put_back, queue))

    async def discard(self, queue: str, ids: list[str]) -> list[str]:
        """Delete them. Returns the ids that were not found."""
        return await act_on(ids, partial(self.broker.discard, queue))


async def act_on(ids: list[str], act: Callable[[str], Awaitable[bool]]) -> list[str]:
    """The ids for which `act` found no letter."""
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
