"""The dedupe keys of one feed, in little memory: eight bytes for each, in a table of hashes.

A key is the hexadecimal form of a SHA-1, whose first 64 bits stand for it. That two of a million
keys share them has a chance of one in 37 million.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

_SMALLEST = 1 << 10


def _hash(dedupe_key: str) -> int:
    return int(dedupe_key[:16], 16) or 1  # 0 marks a free place


def holds(table: Sequence[int], dedupe_key: str) -> bool:
    """Whether a table, as `KeyTable.table` gives it, has the key."""
    if not len(table):
        return False
    hashed, mask = _hash(dedupe_key), len(table) - 1
    place = hashed & mask
    while (found := table[place]) != 0:
        if found == hashed:
            return True
        place = (place + 1) & mask
    return False


class KeyTable:
    """Open addressing with linear probing, never more than three quarters full."""

    def __init__(self) -> None:
        self.table = array("Q", bytes(8 * _SMALLEST))
        self._mask = _SMALLEST - 1
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, dedupe_key: str) -> bool:
        """False: it was there already."""
        return self.add_hash(int(dedupe_key[:16], 16) or 1)

    def add_bytes(self, dedupe_key: bytes) -> bool:
        """As `add`, for a key as its 20 bytes."""
        return self.add_hash(int.from_bytes(dedupe_key[:8], "big") or 1)

    def add_hash(self, hashed: int) -> bool:
        table, mask = self.table, self._mask
        place = hashed & mask
        while found := table[place]:
            if found == hashed:
                return False
            place = (place + 1) & mask
        table[place] = hashed
        self._count += 1
        if self._count * 4 > len(table) * 3:
            self._grow()
        return True

    def _grow(self) -> None:
        old = self.table
        self.table = table = array("Q", bytes(16 * len(old)))
        self._mask = mask = len(table) - 1
        for hashed in old:
            if hashed:
                place = hashed & mask
                while table[place]:
                    place = (place + 1) & mask
                table[place] = hashed
