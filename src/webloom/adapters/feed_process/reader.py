"""The FeedReader port: a child process for each feed that is read, a few at a time."""

from __future__ import annotations

import asyncio
import mmap
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from webloom.adapters.feed_process.frames import Order, Refused, encode, responses
from webloom.adapters.sandbox.parent import (
    Child,
    ChildFailed,
    Limits,
    OutOfFiles,
    OutOfMemory,
    TookTooLong,
)
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
            child = await Child.started(_CHILD)
            try:
                order = Order(
                    path=path,
                    keys_path=_keys_path(path),
                    learnt_path=self.learnt(path),
                    options=options,
                )
                yield self._batches(child, order)
            finally:
                await child.close()

    async def _batches(self, child: Child, order: Order) -> AsyncIterator[ReadBatch]:
        limits = Limits(wall=self._longest_silence)
        is_first = True
        while True:
            try:
                if is_first:
                    await child.ready(limits.wall)
                    frame = await child.ask(encode(order), limits)
                else:
                    frame = await child.answer(limits)
            except TookTooLong:
                raise FeedUnreadable(
                    f"The reader made no progress for {limits.wall:g} seconds, and was ended."
                ) from None
            except OutOfMemory:
                raise FeedUnreadable(
                    "The feed needs more memory than its reader may use."
                ) from None
            except ChildFailed as error:
                if is_first and isinstance(error, OutOfFiles):
                    raise ResourcesExhausted(FILES_OF_THE_MACHINE) from None
                raise FeedUnreadable(f"The reader {error}.") from None
            is_first = False
            answer = responses.decode(frame.content)
            if isinstance(answer, Refused):
                raise FeedUnreadable(answer.reason)
            yield ReadBatch(jobs=frame.body, **msgspec.structs.asdict(answer.progress))
            if answer.progress.is_last:
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
