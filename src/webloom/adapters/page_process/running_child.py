"""One child that reads pages, as its parent holds it: asked, watched, ended."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio import IncompleteReadError, TimerHandle
from asyncio.subprocess import Process
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from webloom.adapters.child_process import (
    crash,
    ended_for_want_of_files,
    last_words,
    pipe,
    start_child,
)
from webloom.adapters.page_process.frames import (
    LENGTH,
    MOST_BYTES,
    OUT_OF_MEMORY,
    Answered,
    Ready,
    Refused,
    answers,
)
from webloom.domain.errors import PageUnreadable, ResourcesExhausted
from webloom.domain.exhaustion import FILES_OF_THE_MACHINE

_CHILD: Final = "webloom.adapters.page_process.child"
_START_SECONDS: Final = 120.0  # on a machine that is very busy
_PATIENCE: Final = 3  # times the seconds of a page may pass while the child waits for its turn
_MOST_PAGES: Final = 500
_MOST_RESIDENT: Final = 256 * 1024 * 1024
_SHORTEST_WAIT: Final = 0.05  # seconds


class ChildCrashed(Exception):
    """The text is one sentence for a person."""


class RunningChild:
    def __init__(self, process: Process, *, memory: int) -> None:
        self._process = process
        self._memory = memory
        self._words = asyncio.ensure_future(last_words(process))
        self._pages = 0
        self._cpu = 0.0  # seconds, when it last spoke
        self._resident = 0
        self._overdue = ""  # why it was killed
        self._listening = asyncio.Lock()

    @classmethod
    async def started(cls, *, memory: int) -> RunningChild:
        """To be ended by `kill` and `ended`, in any case. Raises OSError, ResourcesExhausted."""
        return cls(await start_child(_CHILD, str(os.getpid()), str(memory)), memory=memory)

    @property
    def is_spent(self) -> bool:
        """What it has read before may weigh on what it reads next."""
        return (
            self._pages >= _MOST_PAGES
            or self._resident > _MOST_RESIDENT
            or self._process.returncode is not None
        )

    async def ready(self) -> None:
        """Raises ChildCrashed; PageUnreadable when it takes too long."""
        await self._said(None, _START_SECONDS)

    async def answer(self, order: bytes, seconds: float) -> Answered | Refused:
        """Raises ChildCrashed; PageUnreadable when it takes too long."""
        self._pages += 1
        said = await self._said(order, seconds)
        if isinstance(said, Ready):
            raise ChildCrashed("the reader did not answer what it was asked")
        self._resident = said.resident
        return said

    async def _said(self, order: bytes | None, seconds: float) -> Ready | Answered | Refused:
        watch = _Watch(self, seconds)
        try:
            async with self._listening:
                if order is not None:
                    orders = pipe(self._process.stdin)
                    orders.write(order)
                    await orders.drain()
                said = answers.decode(await self._frame())
        except (IncompleteReadError, ConnectionError):
            raise await self._end_told() from None
        except msgspec.MsgspecError as error:
            raise ChildCrashed(f"the reader's answer makes no sense: {error}") from error
        finally:
            watch.end()
        self._cpu = said.cpu
        return said

    async def _frame(self) -> bytes:
        out = pipe(self._process.stdout)
        (length,) = LENGTH.unpack(await out.readexactly(LENGTH.size))
        if length > MOST_BYTES:
            raise ChildCrashed("the reader answered with more than it may")
        return await out.readexactly(length)

    async def _end_told(self) -> ChildCrashed | PageUnreadable | ResourcesExhausted:
        self.kill()  # should it have closed its pipe only
        code = await self._process.wait()
        if self._overdue:
            return PageUnreadable(self._overdue)
        if code == OUT_OF_MEMORY:
            return ChildCrashed(
                f"reading the page took more memory than the {self._memory:,} bytes that it may"
            )
        words = await self._words
        if ended_for_want_of_files(code, words):
            return ResourcesExhausted(FILES_OF_THE_MACHINE)
        return ChildCrashed(f"the reader {crash(code, words)}")

    def cpu_since_it_spoke(self) -> float | None:
        """Seconds; None where the system does not say."""
        try:
            stat = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError):
            return None
        user, system = stat.rpartition(")")[2].split()[11:13]
        return max((int(user) + int(system)) / os.sysconf("SC_CLK_TCK") - self._cpu, 0.0)

    def kill_overdue(self, why: str) -> None:
        self._overdue = why
        self.kill()

    def kill(self) -> None:
        # Not by the process object, which would take the exit code from who waits for it.
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)

    async def ended(self) -> None:
        """After `kill`: nothing is left of it then."""
        pipe(self._process.stdin).close()
        async with self._listening:
            await pipe(self._process.stdout).read()  # a pipe not read to its end is never closed
        await self._process.wait()
        await self._words


class _Watch:
    """Kills a child that takes too long: by its own time, as a busy machine is no fault of a page;
    and by the clock, should it hang."""

    def __init__(self, child: RunningChild, seconds: float) -> None:
        self._child = child
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._started = self._loop.time()
        self._timer: TimerHandle = self._loop.call_later(seconds, self._look)

    def end(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        passed = self._loop.time() - self._started
        used = self._child.cpu_since_it_spoke()
        used = passed if used is None else used
        patience = self._seconds * _PATIENCE
        if used >= self._seconds:
            self._child.kill_overdue(f"reading the page took more than {self._seconds:g} s")
        elif passed >= patience:
            self._child.kill_overdue(
                f"reading the page took more than {patience:g} s, {used:.1f} s of them at work"
            )
        else:
            wait = max(min(self._seconds - used, patience - passed), _SHORTEST_WAIT)
            self._timer = self._loop.call_later(wait, self._look)
