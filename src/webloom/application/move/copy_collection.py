"""Carry one collection from one store to another, and prove that it has arrived.

    copy:    read a batch -> write it -> note the position in the target, several batches at a time
    verify:  read all that the target holds; compare its count and hash with what was written
             or, where the target held something before, or the copy was interrupted: read a batch
             of the source, and its twins in the target, and compare one by one

A copy that was killed goes on from its last position. Copying again is harmless: what is newer in
the target stays.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import msgspec

from webloom.ports.archive import Archive, Fingerprint, Slice

Item = TypeVar("Item")
Progress = Callable[[int], None]  # so many items more

BATCH = 500
AT_ONCE = 3  # batches on their way to the target
SAMPLES = 5
MODULUS = 1 << 128

_encoder = msgspec.msgpack.Encoder()


@dataclass(kw_only=True, slots=True)
class Verdict:
    """What a comparison of source and target found."""

    items: int = 0  # in the source
    equal: int = 0
    newer: int = 0  # in the target, and left as they are
    missing: int = 0
    different: int = 0
    source_hash: int = 0  # of all that was to be there
    target_hash: int = 0  # of what is there
    samples: list[str] = field(default_factory=list)  # of what is missing or different

    @property
    def holds(self) -> bool:
        return self.items == self.equal + self.newer


@dataclass(frozen=True, kw_only=True, slots=True)
class Copied:
    written: Fingerprint
    into_empty: bool  # the target held nothing before
    resumed: bool = False  # the source may have changed since the first part was read

    def place(self, position: str | None) -> str | None:
        """What the target remembers, to go on from there."""
        if position is None:
            return None
        return f"{self.written.items} {self.written.hash:x} {self.into_empty:d} {position}"

    @classmethod
    def parse(cls, place: str) -> tuple[Copied, str]:
        items, hashed, into_empty, position = place.split(" ", 3)
        written = Fingerprint(items=int(items), hash=int(hashed, 16))
        return cls(written=written, into_empty=into_empty == "1", resumed=True), position


@dataclass(frozen=True, kw_only=True, slots=True)
class CopyCollection(Generic[Item]):
    source: Archive[Item]
    target: Archive[Item]
    source_name: str  # how the target remembers where it was copied from
    key: Callable[[Item], str]

    async def copy(self, progress: Progress) -> Copied:
        """Raises StoreUnavailable; what was copied until then need not be copied again."""
        place = await self.target.copied_until(self.source_name)
        if place is None:
            copied = Copied(written=Fingerprint(), into_empty=await self.target.count() == 0)
            position = None
        else:
            copied, position = Copied.parse(place)
            progress(copied.written.items)
        writing: deque[tuple[Slice[Item], asyncio.Task[Fingerprint]]] = deque()

        async def finish_first() -> None:
            nonlocal copied
            batch, task = writing.popleft()
            copied = replace(copied, written=copied.written + await task)
            await self.target.note_copied(self.source_name, copied.place(batch.position))
            progress(len(batch.items))

        try:
            async with aclosing(_batches(self.source, position)) as batches:
                async for batch in batches:
                    writing.append((batch, asyncio.create_task(self.target.write(batch.items))))
                    if len(writing) == AT_ONCE:
                        await finish_first()
            while writing:
                await finish_first()
        finally:
            await _cancel(task for _, task in writing)
        await self.target.note_copied(self.source_name, None)
        return copied

    async def verify(self, copied: Copied, progress: Progress) -> Verdict:
        if copied.into_empty and not copied.resumed:
            found = await self.target.fingerprint(progress)
            if found == copied.written and found.items == await self.source.count():
                return Verdict(
                    items=found.items,
                    equal=found.items,
                    source_hash=copied.written.hash,
                    target_hash=found.hash,
                )
        return await self._compare(progress)

    async def _compare(self, progress: Progress) -> Verdict:
        verdict = Verdict()
        looking: deque[tuple[list[Item], asyncio.Task[list[Item | None]]]] = deque()
        try:
            async with aclosing(_batches(self.source, None)) as batches:
                async for batch in batches:
                    task = asyncio.create_task(self.target.same_as(batch.items))
                    looking.append((batch.items, task))
                    if len(looking) == AT_ONCE:
                        progress(await self._compared(verdict, *looking.popleft()))
            while looking:
                progress(await self._compared(verdict, *looking.popleft()))
        finally:
            await _cancel(task for _, task in looking)
        return verdict

    async def _compared(
        self, verdict: Verdict, items: list[Item], task: asyncio.Task[list[Item | None]]
    ) -> int:
        for item, twin in zip(items, await task, strict=True):
            mine = _hash(item)
            verdict.items += 1
            verdict.source_hash = (verdict.source_hash + mine) % MODULUS
            if twin is None:
                verdict.missing += 1
                self._sample(verdict, item)
                continue
            theirs = _hash(twin)
            verdict.target_hash = (verdict.target_hash + theirs) % MODULUS
            if mine == theirs:
                verdict.equal += 1
            elif self.target.is_newer(twin, item):
                verdict.newer += 1
            else:
                verdict.different += 1
                self._sample(verdict, item)
        return len(items)

    def _sample(self, verdict: Verdict, item: Item) -> None:
        if len(verdict.samples) < SAMPLES:
            verdict.samples.append(self.key(item))


async def _batches(archive: Archive[Item], position: str | None) -> AsyncGenerator[Slice[Item]]:
    """Batch after batch, the next one being read while the last is worked on."""
    reading = asyncio.create_task(archive.read(position, BATCH))
    try:
        while True:
            batch = await reading
            if batch.position is not None:
                reading = asyncio.create_task(archive.read(batch.position, BATCH))
            if batch.items:
                yield batch
            if batch.position is None:
                return
    finally:
        await _cancel([reading])


async def _cancel(tasks: Iterable[asyncio.Task[Any]]) -> None:
    ended = list(tasks)
    for task in ended:
        task.cancel()
    await asyncio.gather(*ended, return_exceptions=True)


def _hash(item: object) -> int:
    digest = hashlib.blake2b(_encoder.encode(item), digest_size=16).digest()
    return int.from_bytes(digest, "big")
