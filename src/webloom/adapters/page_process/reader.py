"""The PageReader port: a few child processes that read one page after the other.

read -> wait for a turn -> an idle child, or a new one -> order -> answer -> the child is idle again
                            `- killed when it takes too long, or the read is cancelled -'
"""

from __future__ import annotations

import asyncio
import logging
from asyncio import Semaphore, Task, TimerHandle
from contextlib import suppress
from dataclasses import replace
from typing import Self

import msgspec

from webloom.adapters.page_process.frames import Refused, encode, responses
from webloom.adapters.sandbox.parent import (
    MOST_MEMORY,
    Child,
    ChildFailed,
    Crashed,
    Limits,
    OutOfFiles,
    OutOfMemory,
)
from webloom.domain.errors import PageUnreadable, ResourcesExhausted
from webloom.domain.exhaustion import FILES_OF_THE_MACHINE
from webloom.ports.page_reader import PageOrder, PageRead

log = logging.getLogger(__name__)

_CHILD = "webloom.adapters.page_process.child"
_IDLE_SECONDS = 60.0  # after which a child is ended
_WALL_PER_CPU_SECOND = 3  # the limit on the clock, as a multiple of the limit on CPU time
# After which a child is replaced, as what it has read may weigh on what it reads next.
_MOST_PAGES = 500
_MOST_RESIDENT = 256 * 1024 * 1024


class ProcessPageReader:
    def __init__(
        self, *, processes: int = 2, seconds: float = 20.0, memory: int = MOST_MEMORY
    ) -> None:
        """`seconds` of CPU and `memory` in bytes are those of one page."""
        self._turns = Semaphore(processes)
        self._limits = Limits(cpu=seconds, wall=seconds * _WALL_PER_CPU_SECOND)
        self._memory = memory
        self._children: set[Child] = set()
        self._idle: list[tuple[float, Child]] = []  # since when; the last is taken first
        self._idle_check: TimerHandle | None = None
        self._ending: set[Task[None]] = set()
        self._is_open = False

    async def __aenter__(self) -> Self:
        self._is_open = True
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._is_open = False
        if self._idle_check is not None:
            self._idle_check.cancel()
        for child in list(self._children):
            self._end(child)
        while self._ending:
            await asyncio.wait(self._ending)

    async def read(self, order: PageOrder) -> PageRead:
        async with self._turns:
            packed = encode(replace(order, path=order.path.absolute()))
            try:
                if (child := self._take_idle()) is not None:
                    # It may have been killed while idle, or be full of what it read before.
                    with suppress(Crashed, OutOfMemory):
                        return await self._ask(child, packed, order.url)
                return await self._ask(await self._started(), packed, order.url)
            except OutOfFiles as error:
                raise ResourcesExhausted(FILES_OF_THE_MACHINE) from error
            except ChildFailed as error:
                subject = "the reader" if isinstance(error, Crashed) else "reading the page"
                raise PageUnreadable(f"{subject} {error}") from error

    async def _started(self) -> Child:
        if not self._is_open:
            raise PageUnreadable("the reader of pages was closed")
        try:
            child = await Child.started(_CHILD, memory=self._memory)
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

    async def _ask(self, child: Child, packed: bytes, url: str) -> PageRead:
        try:
            answer = responses.decode((await child.ask(packed, self._limits)).content)
        except msgspec.MsgspecError as error:
            self._end(child)
            raise Crashed(f"gave an answer that makes no sense: {error}") from error
        except BaseException:  # it may still be at work
            self._end(child)
            raise
        if _is_worn(child):
            self._end(child)
        else:
            self._release(child)
        if isinstance(answer, Refused):
            if answer.trace is not None:
                log.error("a page can't be read", extra={"url": url, "trace": answer.trace})
            raise PageUnreadable(answer.reason)
        return answer.read

    def _take_idle(self) -> Child | None:
        while self._idle:
            _, child = self._idle.pop()
            if not _is_worn(child):
                return child
            self._end(child)
        return None

    def _release(self, child: Child) -> None:
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

    def _end(self, child: Child) -> None:
        """Kills it now, and cleans up in a task."""
        child.kill()
        if child in self._children:
            self._children.remove(child)
            task = asyncio.get_running_loop().create_task(child.close())
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)


def _is_worn(child: Child) -> bool:
    return child.orders >= _MOST_PAGES or child.resident > _MOST_RESIDENT or not child.is_running
