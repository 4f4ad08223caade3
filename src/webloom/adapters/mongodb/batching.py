"""Calls of one kind that are made at the same time share a round trip.

    await batcher.ask(item) -> waiting -> run([item, ...]) -> one answer for each item

While a batch is on its way to the server and back, the next one fills. A call that finds nobody
else goes at once. Under load, a kind of call that nobody waits for at a screen may linger a little
for others to come: a batch costs the server and us a millisecond, whatever its size. A kind with a
pace rests after every batch, so that calls which come one after the other continue together. When
enough have come, a second batch sets out beside the first, which most of the time waits for a disk.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from webloom.adapters.mongodb.errors import NotTried, Unsure
from webloom.domain.errors import BackendRefused, StoreFull, StoreUnavailable, WebloomError

log = logging.getLogger(__name__)

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_TOGETHER = 500
ENOUGH = 24  # calls that wait, for a second batch to go
MOST_BATCHES = 2  # of one kind on their way at once


class Batcher(Generic[Item, Result]):
    def __init__(
        self,
        run: Callable[[list[Item]], Awaitable[Sequence[Result | WebloomError]]],
        *,
        linger: float = 0.0,
        pace: float = 0.0,
        most: int = MOST_TOGETHER,
        enough: int = ENOUGH,
    ) -> None:
        """`run` answers in the order of its items; an error stands for the answer to one."""
        self._run = run
        self._linger = linger
        self._pace = pace
        self._most = most
        self._enough = enough
        self._waiting: list[tuple[Item, asyncio.Future[Result]]] = []
        self._servers: set[asyncio.Task[None] | None] = set()
        self._closed = False

    async def ask(self, item: Item) -> Result:
        if self._closed:
            raise StoreUnavailable("the connection to MongoDB is closed")
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        if not self._servers or (
            len(self._waiting) >= self._enough and len(self._servers) < MOST_BATCHES
        ):
            self._servers.add(asyncio.create_task(self._serve()))
        return await future

    async def close(self) -> None:
        """What is on its way is waited for."""
        self._closed = True
        await asyncio.gather(*(server for server in self._servers if server is not None))

    async def _serve(self) -> None:
        try:
            while self._waiting:
                batch = self._waiting[: self._most]
                del self._waiting[: self._most]
                await self._answer(batch)
                pause = self._pace or (self._linger if self._waiting else 0.0)
                if pause and len(self._waiting) < self._enough and not self._closed:
                    await asyncio.sleep(pause)
        finally:  # at once, so that the next caller starts a new server
            self._servers.discard(asyncio.current_task())

    async def _answer(self, batch: list[tuple[Item, asyncio.Future[Result]]]) -> None:
        try:
            results = await self._run([item for item, _ in batch])
        except (Unsure, NotTried, BackendRefused, StoreFull) as error:
            self._fail(batch, error)
        except Exception as error:
            if len(batch) == 1:
                self._fail(batch, error)
                return
            log.exception("a batch failed; repeating each of its calls alone")
            for call in batch:
                await self._answer([call])
        else:
            for (_, future), result in zip(batch, results, strict=True):
                if future.done():
                    continue
                if isinstance(result, WebloomError):
                    future.set_exception(result)
                else:
                    future.set_result(result)

    @staticmethod
    def _fail(batch: list[tuple[Item, asyncio.Future[Result]]], error: Exception) -> None:
        for _, future in batch:
            if not future.done():
                future.set_exception(error)
