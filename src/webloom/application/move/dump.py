"""Write everything in a store to a stream."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

from webloom.application.move.load import Progress, ahead
from webloom.application.move.stream import DumpWriter
from webloom.ports.dump import COLLECTIONS, Line, StoreSnapshot


async def dump(snapshot: StoreSnapshot, writer: DumpWriter, progress: Progress) -> None:
    """The next items are read while the last ones are compressed. Raises StoreUnavailable and
    OSError."""
    for collection in COLLECTIONS:
        async with aclosing(ahead(snapshot.scan(collection))) as lists:
            async for lines in lists:
                await asyncio.to_thread(_write, writer, collection, lines)
                progress(collection, len(lines))
    await asyncio.to_thread(writer.end)


def _write(writer: DumpWriter, collection: str, lines: list[Line]) -> None:
    for line in lines:
        writer.write(collection, line.raw)
