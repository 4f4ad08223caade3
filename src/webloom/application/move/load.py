"""Fill a store from a dump, or from another store.

    batch -> put_if_newer -> compare with what the store holds now -> note how far it is
    (several at a time where they don't depend on each other)

A load that was killed continues where it was: as long as the stream begins with the items that the
note tells, nothing is written. Otherwise everything is put again, which is harmless: what is newer
in the store stays.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

import msgspec

from webloom.application.move.stream import MODULUS, Batch, DumpReader, Entry, hash_of
from webloom.cancellation import cancel_and_wait
from webloom.domain.errors import DumpRefused, EventRefused
from webloom.ports.dump import COLLECTIONS, StoreSnapshot, WholeStore
from webloom.stores.whole import is_settled, line_of

Item = TypeVar("Item")
Progress = Callable[[str, int], None]  # so many items of a collection more
Batches = AsyncGenerator[Batch]
Writing = deque[tuple[Batch, asyncio.Task["Verdict"]]]

AT_ONCE = 3  # batches on their way to the store
SAMPLES = 5
SOON = timedelta(hours=1)  # what expires by then is left out: it may go while it is compared
_IN_ORDER = {"snapshots", "price_history", "change_logs"}  # batches that may be of one page
_REFUSALS = (ValueError, TypeError, ArithmeticError, AttributeError, EventRefused)
_LABELS: dict[str, Callable[[Any], str]] = {
    "metadata": lambda record: record.url,
    "feeds": lambda feed: feed.config.url,
    "import_logs": lambda run: run.run_id,
    "jobs": lambda stored: stored.posting.dedupe_key,
    "job_runs": lambda whole: whole.run.run_id,
    "watches": lambda watch: watch.watch_id,
    "pages": lambda page: page.url,
    "snapshots": lambda version: f"{version.url} version {version.number}",
    "price_history": lambda price: f"{price.url} at {price.ts}",
    "change_logs": lambda log: f"{log.url} version {log.number}",
    "notices": lambda notification: notification.notification_id,
}


class Verdict(msgspec.Struct, kw_only=True):
    """What became of a collection; --json of the commands shows it with these names."""

    items: int = 0
    equal: int = 0
    newer: int = msgspec.field(default=0, name="newer_in_target")  # and left as they are
    expired: int = 0  # or about to, and left out
    missing: int = 0
    different: int = 0
    source_hash: str = f"{0:032x}"  # of all that should be there
    target_hash: str = f"{0:032x}"  # of what is there
    samples: list[str] = []  # of what is missing or different

    @property
    def holds(self) -> bool:
        return self.items == self.equal + self.newer + self.expired

    def __add__(self, other: Verdict) -> Verdict:
        counts = ("items", "equal", "newer", "expired", "missing", "different")
        return Verdict(
            **{name: getattr(self, name) + getattr(other, name) for name in counts},
            source_hash=_sum(self.source_hash, other.source_hash),
            target_hash=_sum(self.target_hash, other.target_hash),
            samples=[*self.samples, *other.samples][:SAMPLES],
        )


def _sum(one: str, other: str) -> str:
    return f"{(int(one, 16) + int(other, 16)) % MODULUS:032x}"


class _Note(msgspec.Struct):
    """How far a load is. The sum of the hashes of all items so far tells the stream."""

    verdicts: dict[str, Verdict]

    @property
    def items(self) -> int:
        return sum(each.items for each in self.verdicts.values())


def _no_verdicts() -> dict[str, Verdict]:
    return {name: Verdict() for name in COLLECTIONS}


@dataclass(kw_only=True)
class Load:
    target: WholeStore
    name: str  # of the stream, under which the target notes how far it is
    now: datetime
    progress: Progress
    _verdicts: dict[str, Verdict] = field(default_factory=_no_verdicts)

    async def run(self, opened: Callable[[], Batches], *, resume: bool) -> dict[str, Verdict]:
        """`resume`: the stream can be opened twice. Raises StoreUnavailable and DumpRefused; what
        was loaded until then need not be loaded again."""
        batches, rest = opened(), Batch("", [])
        noted = await self.target.noted(self.name) if resume else None
        if noted is not None:
            known = await self._skipped(batches, msgspec.json.decode(noted, type=_Note))
            if known is None:
                await batches.aclose()
                batches = opened()
            else:
                rest = known
        async with aclosing(batches):
            await self._write(rest, batches)
        await self.target.note(self.name, None)
        return self._verdicts

    async def _skipped(self, batches: Batches, note: _Note) -> Batch | None:
        """The rest of the batch in which the note ends. None: the stream is another."""
        left = note.items
        seen = _no_verdicts()
        async for name, entries in batches:
            skipped, rest = entries[:left], entries[left:]
            seen[name] += Verdict(source_hash=_hash(skipped))
            left -= len(skipped)
            if left:
                continue
            if any(seen[each].source_hash != it.source_hash for each, it in note.verdicts.items()):
                return None
            self._verdicts |= note.verdicts
            for each, verdict in note.verdicts.items():
                self.progress(each, verdict.items)
            return Batch(name, rest)
        return None

    async def _write(self, rest: Batch, batches: Batches) -> None:
        writing: Writing = deque()

        async def finish(most: int) -> None:
            while len(writing) > most:
                await self._finish(*writing.popleft())

        last = ""
        try:
            async for batch in _behind(rest, batches):
                is_ordered = batch.collection in _IN_ORDER or batch.collection != last
                await finish(0 if is_ordered else AT_ONCE - 1)
                last = batch.collection
                writing.append((batch, asyncio.create_task(self._put(batch))))
            await finish(0)
        except DumpRefused:
            await finish(0)  # what is well
            raise
        finally:
            await _cancel(*(task for _, task in writing))

    async def _finish(self, batch: Batch, putting: asyncio.Task[Verdict]) -> None:
        self._verdicts[batch.collection] += await putting
        note = msgspec.json.encode(_Note(self._verdicts)).decode()
        await self.target.note(self.name, note)
        self.progress(batch.collection, len(batch.entries))

    async def _put(self, batch: Batch) -> Verdict:
        name, entries = batch
        kept = [each for each in entries if not self._expires(each.item)]
        found = await self._stored(name, kept)
        verdict = Verdict(
            items=len(entries), expired=len(entries) - len(kept), source_hash=_hash(entries)
        )
        there: list[Entry] = []
        for entry, here in zip(kept, found, strict=True):
            if here == entry.item:
                verdict.equal += 1
                there.append(entry)
                continue
            if here is not None:
                there.append(Entry(here, hash_of(line_of(here).raw)))
            if here is not None and is_settled(here, entry.item):
                verdict.newer += 1
                continue
            verdict.missing += here is None
            verdict.different += here is not None
            verdict.samples.append(_LABELS[name](entry.item))
        verdict.target_hash = _hash(there)
        return verdict

    def _expires(self, item: Any) -> bool:
        expires_at = getattr(item, "expires_at", None)
        return expires_at is not None and expires_at <= self.now + SOON

    async def _stored(self, name: str, entries: Sequence[Entry]) -> list[Any]:
        try:
            return await self.target.put_if_newer(name, [each.item for each in entries])
        except _REFUSALS as error:
            if len(entries) == 1:
                line = f"line {entries[0].line}, " if entries[0].line else ""
                what = _LABELS[name](entries[0].item)
                raise DumpRefused(f"{line}{name}, {what}: it can't be stored: {error}") from error
        return [(await self._stored(name, [each]))[0] for each in entries]  # to find out which


def _hash(entries: Iterable[Entry]) -> str:
    return f"{sum(each.hash for each in entries) % MODULUS:032x}"


# What is loaded


async def scanned(snapshot: StoreSnapshot) -> Batches:
    """Everything in a store."""
    for collection in COLLECTIONS:
        async with aclosing(ahead(snapshot.scan(collection))) as lists:
            async for lines in lists:
                yield Batch(collection, [Entry(each.item, hash_of(each.raw)) for each in lines])


async def read(reader: DumpReader) -> Batches:
    """Everything in a dump. Raises DumpRefused."""
    batches = reader.batches()

    async def in_thread() -> Batches:
        while (batch := await asyncio.to_thread(next, batches, None)) is not None:
            yield batch

    async with aclosing(ahead(in_thread())) as found:
        async for batch in found:
            yield batch


async def ahead(source: AsyncIterator[Item]) -> AsyncGenerator[Item]:
    """The next one is read while the last is worked on."""

    async def step() -> Item | None:
        return await anext(source, None)

    reading = asyncio.create_task(step())
    try:
        while (found := await reading) is not None:
            reading = asyncio.create_task(step())
            yield found
    finally:
        await _cancel(reading)


async def _behind(rest: Batch, batches: Batches) -> Batches:
    if rest.entries:
        yield rest
    async for batch in batches:
        yield batch


async def _cancel(*tasks: asyncio.Task[Any]) -> None:
    await cancel_and_wait(*tasks)
    await asyncio.gather(*tasks, return_exceptions=True)  # so that their errors are retrieved
