"""The FeedReader port: a child process for each feed that is read."""

from __future__ import annotations

import asyncio
import mmap
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from webloom.adapters.feed_process.frames import LENGTHS, Order, Refused, Told, unpack
from webloom.domain.errors import FeedUnreadable
from webloom.parsing.feeds.keys import holds
from webloom.ports.feed_reader import ReadBatch, ReadOptions

_CHILD = "webloom.adapters.feed_process.child"
_LONGEST_SILENCE = 120.0  # seconds
_STREAM_BUFFER = 1024 * 1024
_LAST_WORDS = 2000  # bytes of what a crashed child wrote
_Stream = TypeVar("_Stream", asyncio.StreamReader, asyncio.StreamWriter)


class ProcessFeedReader:
    def __init__(self, *, longest_silence: float = _LONGEST_SILENCE) -> None:
        self._longest_silence = longest_silence

    @asynccontextmanager
    async def read(
        self, path: Path, options: ReadOptions
    ) -> AsyncIterator[AsyncIterator[ReadBatch]]:
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            _CHILD,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            limit=_STREAM_BUFFER,
            # What it reads is somebody else's: it gets no secret from the environment.
            env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,  # Ctrl-C in a terminal is for its parent to deal with
        )
        last_words = asyncio.ensure_future(_last_words(child))
        try:
            await self._give_order(child, path, options)
            yield self._batches(child, last_words)
        finally:
            with suppress(ProcessLookupError):
                child.kill()
            await _pipe(child.stdout).read()  # a pipe that is not read to its end is never closed
            await child.wait()
            await last_words

    async def _give_order(self, child: Process, path: Path, options: ReadOptions) -> None:
        order = Order(
            path=str(path),
            keys_path=str(_keys_path(path)),
            known_path=None if options.known is None else str(options.known),
            learnt_path=str(self.learnt(path)),
            source_url=options.source_url,
            source_name=options.source_name,
            format=options.format,
            mapping=options.mapping,
            batch_size=options.batch_size,
            content_type=options.content_type,
            max_bytes=options.max_bytes,
            parent=os.getpid(),
        )
        orders = _pipe(child.stdin)
        orders.write(msgspec.json.encode(order))
        with suppress(ConnectionError):  # a child that ended already is told of where it is read
            await orders.drain()
        orders.close()

    async def _batches(
        self, child: Process, last_words: asyncio.Future[str]
    ) -> AsyncIterator[ReadBatch]:
        out = _pipe(child.stdout)
        while True:
            try:
                async with asyncio.timeout(self._longest_silence):
                    lengths = LENGTHS.unpack(await out.readexactly(LENGTHS.size))
                    header = unpack(await out.readexactly(lengths[0]))
                    jobs = await out.readexactly(lengths[1])
            except TimeoutError:
                raise FeedUnreadable(
                    f"The reader made no progress for {self._longest_silence:g} seconds, and was"
                    " ended."
                ) from None
            except asyncio.IncompleteReadError:
                code = await child.wait()
                raise FeedUnreadable(_crash(code, await last_words)) from None
            if isinstance(header, Refused):
                raise FeedUnreadable(header.reason)
            if isinstance(header, Told):
                yield ReadBatch(jobs=jobs, **msgspec.structs.asdict(header.progress))
                if header.progress.is_last:
                    return

    def learnt(self, path: Path) -> Path:
        return path.with_name(path.name + ".learnt")

    def seen_keys(self, path: Path) -> KeyFile:
        return KeyFile(_keys_path(path))


class KeyFile:
    """The table of keys that a child has left, read from the disk as it is asked."""

    def __init__(self, path: Path) -> None:
        try:
            with path.open("rb") as file:
                self._mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise FeedUnreadable(
                f"The keys of the feed at {path} can't be read ({error}); it was not read to its"
                " end."
            ) from error
        self._table = memoryview(self._mapped).cast("Q")

    def __contains__(self, dedupe_key: str) -> bool:
        return holds(self._table, dedupe_key)


def _pipe(stream: _Stream | None) -> _Stream:
    if stream is None:
        raise RuntimeError("the child has no pipe")
    return stream


def _keys_path(path: Path) -> Path:
    return path.with_name(path.name + ".keys")


async def _last_words(child: Process) -> str:
    """The end of what the child writes to its standard error."""
    errors = _pipe(child.stderr)
    kept = b""
    while piece := await errors.read(_LAST_WORDS):
        kept = (kept + piece)[-_LAST_WORDS:]
    return kept.decode("utf-8", "replace").strip()


def _crash(code: int, last_words: str) -> str:
    how = f"by signal {-code}" if code < 0 else f"with code {code}"
    last_line = last_words.rsplit("\n", 1)[-1]
    return f"The reader ended unexpectedly {how}{f': {last_line}' if last_line else ''}."
