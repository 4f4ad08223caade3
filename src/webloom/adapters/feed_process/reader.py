"""The FeedReader port: a child process for each feed that is read, a few at a time."""

from __future__ import annotations

import asyncio
import mmap
import os
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec

from webloom.adapters.child_process import (
    crash,
    ended_for_want_of_files,
    last_words,
    pipe,
    start_child,
)
from webloom.adapters.feed_process.frames import LENGTHS, Order, Refused, unpack
from webloom.domain.errors import FeedUnreadable, ResourcesExhausted
from webloom.domain.exhaustion import FILES_OF_THE_MACHINE, exhaustion_in
from webloom.parsing.feeds.keys import holds
from webloom.ports.feed_reader import ReadBatch, ReadOptions

_CHILD = "webloom.adapters.feed_process.child"
_LONGEST_SILENCE = 120.0  # seconds
_PROCESSES = 8


class ProcessFeedReader:
    def __init__(
        self, *, processes: int = _PROCESSES, longest_silence: float = _LONGEST_SILENCE
    ) -> None:
        self._turns = asyncio.Semaphore(processes)
        self._longest_silence = longest_silence

    @asynccontextmanager
    async def read(
        self, path: Path, options: ReadOptions
    ) -> AsyncIterator[AsyncIterator[ReadBatch]]:
        async with self._turns:
            child = await start_child(_CHILD)
            words = asyncio.ensure_future(last_words(child))
            try:
                await self._give_order(child, path, options)
                yield self._batches(child, words)
            finally:
                with suppress(ProcessLookupError):
                    child.kill()
                await pipe(child.stdout).read()  # a pipe with unread bytes is never closed
                await child.wait()
                await words

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
            counts_only=options.counts_only,
            parent=os.getpid(),
        )
        orders = pipe(child.stdin)
        orders.write(msgspec.json.encode(order))
        with suppress(ConnectionError):  # a child that ended already is told of where it is read
            await orders.drain()
        orders.close()

    async def _batches(
        self, child: Process, words: asyncio.Future[str]
    ) -> AsyncIterator[ReadBatch]:
        out = pipe(child.stdout)
        is_first = True
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
                if is_first and ended_for_want_of_files(code, await words):
                    raise ResourcesExhausted(FILES_OF_THE_MACHINE) from None
                raise FeedUnreadable(f"The reader {crash(code, await words)}.") from None
            is_first = False
            if isinstance(header, Refused):
                raise FeedUnreadable(header.reason)
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
            raise exhaustion_in(error) or FeedUnreadable(
                f"The keys of the feed at {path} can't be read ({error}); it was not read to its"
                " end."
            ) from error
        self._table = memoryview(self._mapped).cast("Q")

    def __contains__(self, dedupe_key: str) -> bool:
        return holds(self._table, dedupe_key)


def _keys_path(path: Path) -> Path:
    return path.with_name(path.name + ".keys")
