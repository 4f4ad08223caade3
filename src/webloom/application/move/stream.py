"""A dump as lines of JSON, and back.

    {"format": "webloom-dump", "version": 1, "webloom": "...", "id": "...", "collections": [...]}
    {"collection": "metadata", "item": {...}}
    ...
    {"end": {"metadata": {"items": 3, "fingerprint": "..."}, ...}}

Collections follow each other in the order of the first line. A fingerprint is the sum of the items'
hashes, so that it does not depend on their order. What is read is not trusted: a line has limits,
and whatever is wrong with one is reported with its number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any, BinaryIO, NamedTuple

import msgspec
import zstandard

from webloom.domain.errors import DumpRefused
from webloom.domain.schedule import NextMatch
from webloom.domain.storage_event import Place
from webloom.domain.watch import Watch
from webloom.parsing.json_limits import DEEPEST, JsonLimits, JsonTooLarge, refuse_too_large
from webloom.ports.dump import COLLECTIONS
from webloom.stores.whole import LARGE, MOST_TOGETHER

FORMAT, VERSION = "webloom-dump", 1
MODULUS = 1 << 128
LONGEST_LINE = 80_000_000  # bytes: the content of the largest version takes 64 MB
# So many bytes are unpacked of any dump, and then so many times what has been read of it. Items
# differ: pages of a megabyte that are the same but for a price are packed a few thousandfold.
UNPACKED_ALWAYS = 16_000_000_000
LARGEST_RATIO = 10_000
_LIMITS = JsonLimits(values=1_000_000, depth=DEEPEST + 8)
_NUMBERS, _MOMENTS = 1 << 63, 1 << 62
_READ = 1 << 20
_WINDOW = 1 << 27  # bytes of memory that a stream may ask for


class Header(msgspec.Struct, kw_only=True):
    format: str
    version: int
    webloom: str
    id: str  # no two dumps have the same
    collections: list[str]


class Total(msgspec.Struct, kw_only=True):
    items: int = 0
    fingerprint: str = f"{0:032x}"


class _Item(msgspec.Struct):
    collection: str | None = None
    item: msgspec.Raw = msgspec.Raw()
    end: dict[str, Total] | None = None


class Entry(NamedTuple):
    item: Any
    hash: int
    line: int = 0  # of the stream it was read from; 0: it comes from a store


class Batch(NamedTuple):
    collection: str
    entries: list[Entry]


_lines = msgspec.json.Decoder(_Item)
_headers = msgspec.json.Decoder(Header)
_items: dict[str, msgspec.json.Decoder[Any]] = {
    name: msgspec.json.Decoder(kind) for name, kind in COLLECTIONS.items()
}


def hash_of(raw: bytes | msgspec.Raw) -> int:
    return int.from_bytes(hashlib.blake2b(raw, digest_size=16).digest(), "big")


class Totals:
    """Counts and fingerprints of what went by."""

    def __init__(self) -> None:
        self._totals = dict.fromkeys(COLLECTIONS, (0, 0))

    def add(self, collection: str, hashed: int) -> None:
        items, total = self._totals[collection]
        self._totals[collection] = items + 1, (total + hashed) % MODULUS

    def shown(self) -> dict[str, Total]:
        return {
            name: Total(items=items, fingerprint=f"{total:032x}")
            for name, (items, total) in self._totals.items()
        }


class DumpWriter:
    """To be closed by `end`; without it, a dump is known to be truncated."""

    def __init__(self, file: BinaryIO, webloom: str, identity: str) -> None:
        compressor = zstandard.ZstdCompressor(level=6, write_checksum=True)
        self._stream = compressor.stream_writer(file, closefd=False)
        self._totals = Totals()
        header = Header(
            format=FORMAT,
            version=VERSION,
            webloom=webloom,
            id=identity,
            collections=list(COLLECTIONS),
        )
        self._write(header)

    def write(self, collection: str, raw: bytes) -> None:
        self._totals.add(collection, hash_of(raw))
        self._write({"collection": collection, "item": msgspec.Raw(raw)})

    @property
    def totals(self) -> dict[str, Total]:
        return self._totals.shown()

    def end(self) -> None:
        self._write({"end": self.totals})
        self._stream.flush(zstandard.FLUSH_FRAME)

    def _write(self, line: object) -> None:
        self._stream.write(msgspec.json.encode(line) + b"\n")


class DumpReader:
    """Raises DumpRefused."""

    def __init__(self, file: BinaryIO, cron: NextMatch) -> None:
        self._cron = cron  # decides whether a schedule can be used
        self._lines = _numbered(file)
        number, first = next(self._lines, (0, b""))
        if not number:
            raise DumpRefused("the dump is empty, or truncated before its first line ends")
        try:
            self.header = _headers.decode(first)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise DumpRefused("this is not a dump of Webloom: its first line is another") from None
        if self.header.format != FORMAT:
            raise DumpRefused("this is not a dump of Webloom: it has another format")
        if self.header.version > VERSION or set(self.header.collections) - COLLECTIONS.keys():
            raise DumpRefused(
                f"the dump was made by Webloom {self.header.webloom[:40]} in a format that this "
                "version does not know: use that version, or a newer one"
            )

    def batches(self) -> Iterator[Batch]:
        """Neither long nor large; each of one collection."""
        totals, name, size = Totals(), "", 0
        entries: list[Entry] = []
        for number, raw in self._lines:
            line = _decoded(number, raw)
            is_full = len(entries) == MOST_TOGETHER or size >= LARGE
            if entries and (is_full or line.collection != name):
                yield Batch(name, entries)
                entries, size = [], 0
            if line.end is not None:
                _compare(totals.shown(), line.end)
                return
            name = line.collection or ""
            entries.append(self._entry(number, name, line.item))
            totals.add(name, entries[-1].hash)
            size += len(raw)
        if entries:
            yield Batch(name, entries)
        raise DumpRefused("the dump is truncated: its last line is missing; get the whole dump")

    def _entry(self, number: int, collection: str, raw: msgspec.Raw) -> Entry:
        try:
            item = _items[collection].decode(raw)
            _refuse_unsound(item)
            if isinstance(item, Watch):
                item.config.schedule.refuse_bad(self._cron)
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise DumpRefused(f"line {number}, of {collection}: {error}") from None
        return Entry(item, hash_of(raw), number)


def _numbered(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
    packed = _Counted(file)
    stream = decompressor.stream_reader(packed, closefd=False)  # type: ignore[arg-type]  # it only reads
    buffer, searched, number, unpacked = bytearray(), 0, 0, 0
    while True:
        end = buffer.find(b"\n", searched)
        if end >= 0:
            number += 1
            with memoryview(buffer) as whole, whole[:end] as line:  # it may be large: one copy
                found = bytes(line)
            del buffer[: end + 1]
            yield number, found
            searched = 0
            continue
        searched = len(buffer)
        if searched > LONGEST_LINE:
            raise DumpRefused(f"line {number + 1}: it has more than {LONGEST_LINE:,} bytes")
        try:
            more = stream.read(_READ)
        except zstandard.ZstdError as error:
            where = f"behind line {number}" if number else "it does not begin as a dump does"
            raise DumpRefused(f"the dump can't be decompressed, {where}: {error}") from error
        if not more:
            return
        unpacked += len(more)
        if unpacked > UNPACKED_ALWAYS + LARGEST_RATIO * packed.bytes:
            raise DumpRefused(
                f"the dump is more than {LARGEST_RATIO:,} times as large as it is packed, which "
                "none is"
            )
        buffer += more


class _Counted:
    """A file, and how much of it has been read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.bytes = 0

    def read(self, size: int = -1) -> bytes:
        piece = self._file.read(size)
        self.bytes += len(piece)
        return piece


def _decoded(number: int, raw: bytes) -> _Item:
    try:
        refuse_too_large(raw, _LIMITS)
        line = _lines.decode(raw)
    except (JsonTooLarge, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DumpRefused(f"line {number}: {error}") from None
    if line.end is None and line.collection not in COLLECTIONS:
        raise DumpRefused(f"line {number}: it is of no collection that a dump has")
    return line


def _compare(found: dict[str, Total], expected: dict[str, Total]) -> None:
    for name, total in found.items():
        wanted = expected.get(name, Total())
        if wanted != total:
            raise DumpRefused(
                f"the dump is damaged: {name} has {total.items:,} items with the fingerprint "
                f"{total.fingerprint}, and according to the last line {wanted.items:,} with "
                f"{wanted.fingerprint[:32]}"
            )


def _refuse_unsound(value: Any) -> None:
    """What its type allows and no store could use. Raises ValueError."""
    if isinstance(value, int) and not -_NUMBERS <= value < _NUMBERS:
        raise ValueError("a number has more than 64 bits")
    if isinstance(value, datetime) and value.tzinfo is None:
        raise ValueError("a date has no time zone")
    if isinstance(value, Place) and not (abs(value.ts) < _MOMENTS and value.claimed >= 0):
        raise ValueError("its place is out of range")
    if isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            _refuse_unsound(getattr(value, name))
    elif is_dataclass(value):
        for field in fields(value):
            _refuse_unsound(getattr(value, field.name))
    elif isinstance(value, tuple | list):
        for each in value:
            _refuse_unsound(each)
