"""Write everything in a store to a stream."""

from __future__ import annotations

import asyncio
import io
import uuid
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from webloom.application.move.load import Progress, ahead
from webloom.application.move.stream import DumpWriter
from webloom.ports.dump import COLLECTIONS, Line, StoreSnapshot, WholeStore


async def dump(snapshot: StoreSnapshot, writer: DumpWriter, progress: Progress) -> None:
    """Raises StoreUnavailable and OSError."""
    async with aclosing(_steps(snapshot, writer)) as steps:
        async for collection, items in steps:
            progress(collection, items)


@dataclass(frozen=True, kw_only=True, slots=True)
class MakeDump:
    store: WholeStore

    async def __call__(self, webloom: str) -> AsyncGenerator[bytes]:
        """A dump, piece by piece. Only the last piece completes it. The store's snapshot is open
        until then, or until the generator is closed. Raises StoreUnavailable."""
        pieces = _Pieces()
        async with self.store.snapshot() as snapshot:
            writer = DumpWriter(pieces, webloom, uuid.uuid4().hex)
            async with aclosing(_steps(snapshot, writer)) as steps:
                async for _ in steps:
                    yield pieces.taken()
            yield pieces.taken()


class _Pieces(io.BytesIO):
    """What has been written since the last piece."""

    def taken(self) -> bytes:
        piece = self.getvalue()
        self.seek(0)
        self.truncate()
        return piece


async def _steps(snapshot: StoreSnapshot, writer: DumpWriter) -> AsyncGenerator[tuple[str, int]]:
    """So many items more of a collection. The next items are read while the last ones are
    compressed."""
    for collection in COLLECTIONS:
        async with aclosing(ahead(snapshot.scan(collection))) as lists:
            async for lines in lists:
                await asyncio.to_thread(_write, writer, collection, lines)
                yield collection, len(lines)
    await asyncio.to_thread(writer.end)


def _write(writer: DumpWriter, collection: str, lines: list[Line]) -> None:
    for line in lines:
        writer.write(collection, line.raw)
