"""A child process from its parent's side: requests, time limits, failures."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import signal
import sys
from asyncio import IncompleteReadError, StreamReader, StreamWriter, TimerHandle
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from webloom.adapters.resources import require_descriptors
from webloom.adapters.sandbox.child import OUT_OF_FILES, OUT_OF_MEMORY
from webloom.adapters.sandbox.frames import HEAD, MOST_BYTES, Frame
from webloom.domain.errors import ResourcesExhausted
from webloom.domain.exhaustion import PROCESSES, exhaustion_in

MOST_MEMORY: Final = 1024 * 1024 * 1024
START_SECONDS: Final = 360.0  # on a machine that is very busy
_END_SECONDS: Final = 10.0  # from the end of what it writes to its exit code
_STREAM_BUFFER: Final = 1024 * 1024
_STDERR_TAIL: Final = 2000  # bytes of what a crashed child wrote
_DESCRIPTORS: Final = 16  # that starting a child takes for a moment, and a few more
_SHORTEST_WAIT: Final = 0.05  # seconds between two looks at the time that a child has used
# As Python and the dynamic linker say it.
_OUT_OF_FILES = re.compile(rf"\[Errno ({errno.EMFILE}|{errno.ENFILE})\]|: Error 2[34]\b")
_Stream = TypeVar("_Stream", StreamReader, StreamWriter)


class ChildFailed(Exception):
    """The text completes "reading ..." or "the reader ..."."""


class TookTooLong(ChildFailed):
    pass


class OutOfMemory(ChildFailed):
    pass


class Crashed(ChildFailed):
    pass


class OutOfFiles(Crashed):
    """It could not open a file of its own, or its input, because no descriptor was left."""


class Limits(NamedTuple):
    """Of the time until the next frame. A busy machine is not the fault of what is worked on, so
    that CPU time counts where it is given, and the clock only ends what hangs."""

    wall: float  # seconds
    cpu: float | None = None


class Child:
    """To be ended by `close`, in any case."""

    def __init__(self, process: Process, *, memory: int) -> None:
        self._process = process
        self._memory = memory
        self._stderr = asyncio.ensure_future(_stderr_tail(process))  # a full pipe would stop it
        self._cpu = 0.0  # seconds, at its last frame
        self._overdue: TookTooLong | None = None  # why it was killed
        self._receiving = asyncio.Lock()
        self.orders = 0
        self.resident = 0  # bytes, at its last frame

    @classmethod
    async def started(cls, module: str, *, memory: int = MOST_MEMORY) -> Child:
        """Runs `python -m module`. Raises ResourcesExhausted, OSError."""
        # uvloop leaves the pipes of a child open that it could not start, and names no reason.
        require_descriptors(_DESCRIPTORS)
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", module, str(os.getpid()), str(memory)),
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                limit=_STREAM_BUFFER,
                # Its input is not trusted: it gets no secret from the environment.
                env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                start_new_session=True,  # Ctrl-C in a terminal is for its parent to deal with
            )
        except OSError as error:
            if error.errno == errno.EAGAIN:  # of fork
                raise ResourcesExhausted(PROCESSES) from error
            if exhausted := exhaustion_in(error):
                raise exhausted from error
            raise
        return cls(process, memory=memory)

    @property
    def is_running(self) -> bool:
        return self._process.returncode is None

    async def ready(self, seconds: float = START_SECONDS) -> None:
        """Raises ChildFailed."""
        await self.answer(Limits(wall=seconds))

    async def ask(self, order: bytes, limits: Limits) -> Frame:
        """The first frame of the answer. Raises ChildFailed."""
        self.orders += 1
        return await self.answer(limits, order)

    async def answer(self, limits: Limits, order: bytes | None = None) -> Frame:
        """The next frame. Raises ChildFailed."""
        watchdog = _Watchdog(self, limits)
        try:
            async with self._receiving:
                if order is not None:
                    orders = _pipe(self._process.stdin)
                    orders.write(Frame(order).packed())
                    await orders.drain()
                frame = await self._frame()
        except (IncompleteReadError, ConnectionError):
            raise await self._failure() from None
        finally:
            watchdog.end()
        self._cpu, self.resident = frame.cpu, frame.resident
        return frame

    async def _frame(self) -> Frame:
        out = _pipe(self._process.stdout)
        content, body, cpu, resident = HEAD.unpack(await out.readexactly(HEAD.size))
        if max(content, body) > MOST_BYTES:
            raise Crashed("answered with more than it may")
        return Frame(await out.readexactly(content), await out.readexactly(body), cpu, resident)

    async def _failure(self) -> ChildFailed:
        with suppress(TimeoutError):
            async with asyncio.timeout(_END_SECONDS):
                await self._process.wait()
        self.kill()  # should it have closed its pipe only
        code = await self._process.wait()
        if self._overdue is not None:
            return self._overdue
        if code == OUT_OF_MEMORY:
            return OutOfMemory(f"took more memory than the {self._memory:,} bytes that it may")
        stderr = await self._stderr
        how = f"by signal {-code}" if code < 0 else f"with code {code}"
        last_line = stderr.rsplit("\n", 1)[-1]
        message = f"ended unexpectedly {how}{f': {last_line}' if last_line else ''}"
        return OutOfFiles(message) if is_out_of_files(code, stderr) else Crashed(message)

    def cpu_seconds(self) -> float | None:
        """Used since its last frame; None where the system does not say."""
        try:
            stat = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError):
            return None
        user, system = stat.rpartition(")")[2].split()[11:13]
        return max((int(user) + int(system)) / os.sysconf("SC_CLK_TCK") - self._cpu, 0.0)

    def kill(self, why: TookTooLong | None = None) -> None:
        self._overdue = self._overdue or why
        # Not by the process object, which would take the exit code from who waits for it.
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)

    async def close(self) -> None:
        """Kills it and frees its pipes."""
        self.kill()
        _pipe(self._process.stdin).close()
        async with self._receiving:
            await _pipe(self._process.stdout).read()  # a pipe not read to its end is never closed
        await self._process.wait()
        await self._stderr


class _Watchdog:
    """Kills a child that takes too long."""

    def __init__(self, child: Child, limits: Limits) -> None:
        self._child = child
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._started = self._loop.time()
        self._timer: TimerHandle = self._loop.call_later(min(filter(None, limits)), self._check)

    def end(self) -> None:
        self._timer.cancel()

    def _check(self) -> None:
        wall, cpu = self._limits
        passed = self._loop.time() - self._started
        used = self._child.cpu_seconds() if cpu is not None else None
        if cpu is not None and (passed if used is None else used) >= cpu:
            self._child.kill(TookTooLong(f"took more than {cpu:g} s"))
        elif passed >= wall:
            at_work = "" if used is None else f", {used:.1f} s of them at work"
            self._child.kill(TookTooLong(f"took more than {wall:g} s{at_work}"))
        else:
            left = [wall - passed, *([] if cpu is None or used is None else [cpu - used])]
            self._timer = self._loop.call_later(max(min(left), _SHORTEST_WAIT), self._check)


def _pipe(stream: _Stream | None) -> _Stream:
    if stream is None:
        raise RuntimeError("the child has no pipe")
    return stream


async def _stderr_tail(child: Process) -> str:
    """The end of what the child writes to its standard error."""
    errors = _pipe(child.stderr)
    kept = b""
    while piece := await errors.read(_STDERR_TAIL):
        kept = (kept + piece)[-_STDERR_TAIL:]
    return kept.decode("utf-8", "replace").strip()


def is_out_of_files(code: int, stderr: str) -> bool:
    """Whether a child ended because no descriptor was left; it opens only one file at a time."""
    return code == OUT_OF_FILES or (code > 0 and _OUT_OF_FILES.search(stderr) is not None)
