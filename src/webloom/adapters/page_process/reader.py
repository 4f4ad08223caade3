"""The PageReader port: a few child processes that read one page after the other.

read -> wait for a turn -> an idle child, or a new one -> order -> answer -> the child is idle again
                            `- killed when it takes too long, or the read is cancelled -'
"""

from __future__ import annotations

import asyncio
import logging
import os
from asyncio import Semaphore, Task, TimerHandle
from types import TracebackType
from typing import Self

from webloom.adapters.child_limits import MOST_MEMORY
from webloom.adapters.page_process.frames import Order, Refused, pack
from webloom.adapters.page_process.running_child import ChildCrashed, RunningChild
from webloom.domain.errors import PageUnreadable
from webloom.ports.page_reader import PageOrder, PageRead

log = logging.getLogger(__name__)

_IDLE_SECONDS = 60.0  # after which a child is ended


class ProcessPageReader:
    def __init__(
        self, *, processes: int = 2, seconds: float = 20.0, memory: int = MOST_MEMORY
    ) -> None:
        """`seconds` and `memory` in bytes are those of one page."""
        self._turns = Semaphore(processes)
        self._seconds = seconds
        self._memory = memory
        self._children: set[RunningChild] = set()
        self._idle: list[tuple[float, RunningChild]] = []  # since when; the last is taken first
        self._idle_check: TimerHandle | None = None
        self._ending: set[Task[None]] = set()
        self._is_open = False

    async def __aenter__(self) -> Self:
        self._is_open = True
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._is_open = False
        if self._idle_check is not None:
            self._idle_check.cancel()
        for child in list(self._children):
            self._end(child)
        while self._ending:
            await asyncio.wait(self._ending)

    async def read(self, order: PageOrder) -> PageRead:
        async with self._turns:
            packed = pack(
                Order(
                    path=os.fsencode(order.path.absolute()),
                    url=order.url,
                    status_code=order.status_code,
                    content_type=order.content_type,
                    selection=order.selection,
                    previous=order.previous,
                )
            )
            if (child := self._rested()) is not None:
                try:
                    return await self._ask(child, packed, order.url)
                except ChildCrashed:
                    pass  # it was killed while idle, or is full of what it read before
            try:
                return await self._ask(await self._started(), packed, order.url)
            except ChildCrashed as crash:
                raise PageUnreadable(str(crash)) from crash

    async def _started(self) -> RunningChild:
        if not self._is_open:
            raise PageUnreadable("the reader of pages was closed")
        try:
            child = await RunningChild.started(memory=self._memory)
        except OSError as error:
            raise PageUnreadable(
                f"a process to read the page can't be started: {error.strerror or error}"
            ) from error
        self._children.add(child)
        try:
            await child.ready()
        except BaseException:
            self._end(child)
            raise
        return child

    async def _ask(self, child: RunningChild, packed: bytes, url: str) -> PageRead:
        try:
            answer = await child.answer(packed, self._seconds)
        except BaseException:  # it may still be at work
            self._end(child)
            raise
        if child.is_spent:
            self._end(child)
        else:
            self._rest(child)
        if isinstance(answer, Refused):
            if answer.trace is not None:
                log.error("a page can't be read", extra={"url": url, "trace": answer.trace})
            raise PageUnreadable(answer.reason)
        return answer.read

    def _rested(self) -> RunningChild | None:
        while self._idle:
            _, child = self._idle.pop()
            if not child.is_spent:
                return child
            self._end(child)
        return None

    def _rest(self, child: RunningChild) -> None:
        loop = asyncio.get_running_loop()
        self._idle.append((loop.time(), child))
        if self._idle_check is None:
            self._idle_check = loop.call_later(_IDLE_SECONDS, self._end_idle)

    def _end_idle(self) -> None:
        loop = asyncio.get_running_loop()
        self._idle_check = None
        while self._idle and self._idle[0][0] <= loop.time() - _IDLE_SECONDS:
            self._end(self._idle.pop(0)[1])
        if self._idle:
            self._idle_check = loop.call_at(self._idle[0][0] + _IDLE_SECONDS, self._end_idle)

    def _end(self, child: RunningChild) -> None:
        """At once; what is left of it is cleared away meanwhile."""
        child.kill()
        if child in self._children:
            self._children.remove(child)
            task = asyncio.get_running_loop().create_task(child.ended())
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
