"""Calls of one kind that are made at the same time share a round trip.

    await gathering.ask(item) -> waiting -> run([item, ...]) -> one answer for each item

While one batch is on its way to the server and back, the next one gathers. Nobody waits for the
sake of a larger batch.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from webloom.adapters.mongodb.errors import Unsure
from webloom.domain.errors import BackendRefused, StoreUnavailable, WebloomError

log = logging.getLogger(__name__)

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_TOGETHER = 500


class Gathering(Generic[Item, Result]):
    def __init__(
        self, run: Callable[[list[Item]], Awaitable[Sequence[Result | WebloomError]]]
    ) -> None:
        """`run` answers in the order of its items; an error stands for the answer to one."""
        self._run = run
        self._waiting: list[tuple[Item, asyncio.Future[Result]]] = []
        self._server: asyncio.Task[None] | None = None
        self._closed = False

    async def ask(self, item: Item) -> Result:
        if self._closed:
            raise StoreUnavailable("the connection to MongoDB is closed")
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        if self._server is None:
            self._server = asyncio.create_task(self._serve())
        return await future

    async def close(self) -> None:
        """What is on its way is waited for."""
        self._closed = True
        if self._server is not None:
            await self._server

    async def _serve(self) -> None:
        try:
            while self._waiting:
                batch = self._waiting[:MOST_TOGETHER]
                del self._waiting[:MOST_TOGETHER]
                await self._answer(batch)
        finally:
            self._server = None

    async def _answer(self, batch: list[tuple[Item, asyncio.Future[Result]]]) -> None:
        try:
            results = await self._run([item for item, _ in batch])
        except (Unsure, BackendRefused) as error:
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
