"""Restore a dump while Webloom runs.

    lease: one restore at a time -> read the whole dump: is it sound? -> note that it begins
    -> load -> remove the note

While the note is there, schedulers start nothing: a feed must not be imported before its postings
are loaded, nor a page checked before its versions. Everything else may continue, as what is newer
in the store stays. The note outlives a killed process: a run must not see half a dump. It is
removed when the same dump has been loaded, or when a person gives the restore up.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime

import msgspec

from webloom.application.lease import Lease
from webloom.application.move.load import Load, Progress, Verdict, read
from webloom.application.move.stream import DumpReader, Header, Total, Totals
from webloom.cancellation import cancel_and_wait
from webloom.domain.errors import RestoreBusy, Unavailable
from webloom.domain.shown import shown_time
from webloom.ports.clock import Clock
from webloom.ports.dump import WholeStore
from webloom.ports.locks import Locks

NOTE = "restore"  # and the name of the lease
LEASE_SECONDS = 10.0


class UnfinishedRestore(msgspec.Struct, frozen=True, kw_only=True):
    """A restore that has not ended."""

    dump_id: str
    webloom: str  # the version that made the dump
    at: datetime


async def unfinished_restore(store: WholeStore) -> UnfinishedRestore | None:
    noted = await store.noted(NOTE)
    return None if noted is None else msgspec.json.decode(noted, type=UnfinishedRestore)


async def end_restore(store: WholeStore, dump_id: str) -> None:
    """That dump has been loaded, by whichever way."""
    begun = await unfinished_restore(store)
    if begun is not None and begun.dump_id == dump_id:
        await store.note(NOTE, None)


def load_name(header: Header | UnfinishedRestore) -> str:
    """Of the note that tells how far a load is, so that any way to load can continue it."""
    return f"load {header.id if isinstance(header, Header) else header.dump_id}"


async def contents(reader: DumpReader) -> dict[str, Total]:
    """What a dump has of each collection. Reads it to its end, and raises DumpRefused."""
    totals = Totals()
    async with aclosing(read(reader)) as batches:
        async for name, entries in batches:
            for entry in entries:
                totals.add(name, entry.hash)
    return totals.shown()


@dataclass(frozen=True, kw_only=True, slots=True)
class Restore:
    """Raises StoreUnavailable."""

    store: WholeStore
    lock: Locks
    clock: Clock

    async def unfinished(self) -> UnfinishedRestore | None:
        return await unfinished_restore(self.store)

    async def is_unfinished(self) -> bool:
        return await self.store.noted(NOTE) is not None

    async def is_running(self) -> bool:
        return await self.lock.is_held(NOTE)

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Raises RestoreBusy. A lease that can't be renewed for a while may be lost; two loads at
        once are slower, but do no harm."""
        lease = Lease(self.lock, NOTE, uuid.uuid4().hex, LEASE_SECONDS)
        if not await lease.hold():
            raise RestoreBusy("a backup is being restored at the moment")
        keeping = asyncio.create_task(_keep(lease))
        try:
            yield
        finally:
            await cancel_and_wait(keeping)
            await lease.release()

    async def refuse_another(self, header: Header) -> None:
        """Raises RestoreBusy."""
        begun = await self.unfinished()
        if begun is not None and begun.dump_id != header.id:
            raise RestoreBusy(
                f"the restore of another backup, begun at {shown_time(begun.at)}, has not "
                "ended: restore that file again, or give its restore up"
            )

    async def load(
        self, header: Header, opened: Callable[[], DumpReader], progress: Progress
    ) -> dict[str, Verdict]:
        """To be called while `alone`, with a dump that is sound. Raises DumpRefused for an item
        that this store can't hold; what was loaded until then stays, and so does the note."""
        now = self.clock.now()
        begun = UnfinishedRestore(dump_id=header.id, webloom=header.webloom, at=now)
        if not await self.is_unfinished():
            await self.store.note(NOTE, msgspec.json.encode(begun).decode())
        load = Load(target=self.store, name=load_name(header), now=now, progress=progress)
        verdicts = await load.run(lambda: read(opened()), resume=True)
        await self.store.note(NOTE, None)
        return verdicts

    async def give_up(self) -> None:
        """What has been loaded stays. Raises RestoreBusy while it is running."""
        async with self.alone():
            begun = await self.unfinished()
            if begun is not None:
                await self.store.note(load_name(begun), None)
                await self.store.note(NOTE, None)


async def _keep(lease: Lease) -> None:
    while True:
        await asyncio.sleep(LEASE_SECONDS / 4)
        with suppress(Unavailable):
            await lease.hold()
