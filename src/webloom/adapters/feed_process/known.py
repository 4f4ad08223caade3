"""What the last import of a feed made of each record, so that a record with the same bytes need not
be parsed again.

It is a hint: the store compares the content hash of each posting that is said to be
known with the one that it has. A file holds a fingerprint of everything that decides what becomes
of a record, and then, in the order of the feed, for each record

    8 bytes of a hash of its bytes | 20 bytes dedupe key | 16 bytes content hash
"""

from __future__ import annotations

import hashlib
import mmap
import struct
from array import array
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import BinaryIO

from webloom.parsing import feeds
from webloom.parsing.feeds.known import HASH_BYTES, POSTING_BYTES

_ENTRY_BYTES = HASH_BYTES + POSTING_BYTES
_FINGERPRINT_BYTES = 32
_FEWEST_PLACES = 1 << 10


def fingerprint(
    *,
    source_url: str,
    source_name: str,
    format: str,  # noqa: A002 - as the port calls it
    mapping: Mapping[str, str],
    context: object = None,  # what the rest of the feed adds to a record
) -> bytes:
    parts = [_reader(), source_url, source_name, format, sorted(mapping.items()), context]
    return hashlib.sha256(repr(parts).encode(errors="backslashreplace")).digest()


@cache
def _reader() -> str:
    """A hash of the code that reads records: after any change to it, they are read again once."""
    sources = sorted(Path(*feeds.__path__).rglob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


class KnownWriter:
    def __init__(self, file: BinaryIO, made_by: bytes) -> None:
        self._write = file.write
        self._write(made_by)

    def add(self, record_hash: bytes, posting: bytes) -> None:
        self._write(record_hash + posting)


class KnownRecords:
    """Finds a record's posting by the hash of its bytes. The file stays on disk; memory holds
    little more than four bytes per record."""

    def __init__(self, file: mmap.mmap) -> None:
        self._file = file
        count = (len(file) - _FINGERPRINT_BYTES) // _ENTRY_BYTES
        places = _FEWEST_PLACES
        while places * 3 < count * 4:
            places *= 2
        self._mask = mask = places - 1
        self._places = table = array("I", bytes(4 * places))  # the number of an entry, from 1
        entries = memoryview(file)[_FINGERPRINT_BYTES:][: count * _ENTRY_BYTES]
        for number, (hashed,) in enumerate(struct.iter_unpack(f"<Q{POSTING_BYTES}x", entries), 1):
            place = hashed & mask
            while table[place]:
                place = (place + 1) & mask
            table[place] = number
        entries.release()

    @classmethod
    def opened(cls, path: Path, made_by: bytes) -> KnownRecords | None:
        """None: the file is missing, or was made by other code or options."""
        try:
            with path.open("rb") as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError):
            return None
        return cls(mapped) if mapped[:_FINGERPRINT_BYTES] == made_by else None

    def find(self, record_hash: bytes) -> bytes | None:
        """Dedupe key and content hash, as bytes."""
        table, mask, file = self._places, self._mask, self._file
        place = int.from_bytes(record_hash, "little") & mask
        while number := table[place]:
            start = _FINGERPRINT_BYTES + (number - 1) * _ENTRY_BYTES
            if file[start : start + HASH_BYTES] == record_hash:
                return file[start + HASH_BYTES : start + _ENTRY_BYTES]
            place = (place + 1) & mask
        return None
