"""Page sources: compressed, in a table of their own."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

import zstandard

from webloom.adapters.sqlite.batches import as_json, change, given

LONGEST_HEAD = 18  # bytes, of a zstd frame


def compress(texts: Sequence[str | None]) -> list[bytes | None]:
    """All at once, beside the event loop; None stays None."""
    compressor = zstandard.ZstdCompressor(level=3)
    encoded: list[bytes | bytearray | memoryview] = [t.encode() for t in texts if t is not None]
    if not any(encoded):  # which the call below refuses
        empty = compressor.compress(b"")
        return [None if text is None else empty for text in texts]
    packed = compressor.multi_compress_to_buffer(encoded)
    places = iter(range(len(encoded)))
    return [None if text is None else packed[next(places)].tobytes() for text in texts]


def decompress(source: bytes) -> str:
    return zstandard.decompress(source).decode()


def size_of(source: bytes) -> int:
    """In bytes, when decompressed. The head of the source is enough."""
    return int(zstandard.frame_content_size(source))


def write_sources(connection: sqlite3.Connection, sources: Mapping[int, bytes | None]) -> None:
    """Of records by their ids. They go in as one blob; each row takes its part."""
    rows, blobs, place = [], [], 1
    for row, blob in sources.items():
        if blob is not None:
            rows.append((row, place, len(blob)))
            blobs.append(blob)
            place += len(blob)
    change(
        connection,
        given("row", "place", "size")
        + "INSERT OR REPLACE INTO page_sources SELECT row, substr(:blobs, place, size) FROM given",
        rows,
        blobs=b"".join(blobs),
    )
    if gone := [row for row, blob in sources.items() if blob is None]:
        connection.execute(
            "DELETE FROM page_sources WHERE record_id IN (SELECT value FROM json_each(?))",
            (as_json(gone),),
        )
