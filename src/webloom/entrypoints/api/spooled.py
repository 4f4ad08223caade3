"""Large bodies on the disk, within the room that the spool has: files without a name, which the
system removes when this process ends, however that happens."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import ExitStack, aclosing, asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO

from webloom.bootstrap.network import spool_room
from webloom.cancellation import cancel_and_wait
from webloom.domain.spool import shortage, step
from webloom.entrypoints.api.responses import Refusal
from webloom.private_files import make_spool
from webloom.settings import Settings

AT_ONCE = 1 << 20


@asynccontextmanager
async def spooled(body: AsyncIterator[bytes], settings: Settings) -> AsyncIterator[IO[bytes]]:
    """All of it. Raises Refusal."""
    with ExitStack() as stack:
        with _refused(settings):
            file = stack.enter_context(await asyncio.to_thread(_opened, settings.spool))
            await _fill(file, body, settings, lambda written: None)
        yield file


@asynccontextmanager
async def through_spool(
    body: AsyncGenerator[bytes], settings: Settings
) -> AsyncIterator[AsyncGenerator[bytes]]:
    """The same bytes, to be read at any pace: `body` is written as fast as it comes, and closed at
    its end. Raises Refusal, also when it is read, and then what `body` raises."""
    with ExitStack() as stack:
        with _refused(settings):
            file = stack.enter_context(await asyncio.to_thread(_opened, settings.spool))
        growing = _Growing(file)

        async def write() -> None:
            with _refused(settings):
                async with aclosing(body):
                    await _fill(file, body, settings, growing.note)

        writing = asyncio.create_task(write())
        writing.add_done_callback(lambda _: growing.changed.set())
        try:
            yield _read(growing, writing)
        finally:
            await cancel_and_wait(writing)
            await asyncio.gather(writing, return_exceptions=True)


class _Growing:
    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.size = 0  # that can be read
        self.changed = asyncio.Event()

    def note(self, size: int) -> None:
        self.size = size
        self.changed.set()

    def read(self, at: int) -> bytes:
        return os.pread(self.file.fileno(), min(AT_ONCE, self.size - at), at)


async def _read(growing: _Growing, writing: asyncio.Task[None]) -> AsyncGenerator[bytes]:
    """What has failed is not read to its end."""
    at = 0
    while True:
        growing.changed.clear()
        if writing.done():
            writing.result()
        if at < growing.size:
            piece = await asyncio.to_thread(growing.read, at)
            at += len(piece)
            yield piece
        elif writing.done():
            return
        else:
            await growing.changed.wait()


@contextmanager
def _refused(settings: Settings) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = f"The backup can't be written to {settings.spool}: {error.strerror or error}."
        raise Refusal(507, reason) from error


def _opened(spool: Path) -> IO[bytes]:
    make_spool(spool)
    return tempfile.TemporaryFile(dir=spool)


async def _fill(
    file: IO[bytes], body: AsyncIterator[bytes], settings: Settings, note: Callable[[int], None]
) -> None:
    """`note` is called with the number of bytes written so far."""
    room = spool_room(settings)
    written = allowed = 0
    waiting = bytearray()
    async for piece in body:
        if written + len(piece) > allowed:
            use = await room.use(is_fresh=True)
            use = replace(use, used=use.used + written)  # it has no name to be found by
            if reason := shortage(use, room.limits, len(piece)):
                raise Refusal(507, f"The backup does not fit on this machine: {reason}.")
            allowed = written + len(piece) + step(room.limits)
        written += len(piece)
        waiting += piece
        if len(waiting) >= AT_ONCE:
            await asyncio.to_thread(_write, file, waiting)
            note(written)
            waiting = bytearray()
    await asyncio.to_thread(_write, file, waiting)
    note(written)
    file.seek(0)


def _write(file: IO[bytes], some: bytearray) -> None:
    file.write(some)
    file.flush()
