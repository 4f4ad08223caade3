"""Versions of a page: their order and their numbers.

A version stands where the earliest of its events does.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import NamedTuple

from webloom.adapters.sqlite.batches import plain, update
from webloom.domain.storage_event import StorageEvent, renumbered

_COLUMNS = (
    "id, page, number, ts, claimed, hash, key, rank, content_rank, digest, base, below, bytes, "
    "expire_at"
)
_PLACE = "(ts, claimed, hash, key)"
_LATEST_FIRST = "ORDER BY ts DESC, claimed DESC, hash DESC, key DESC"
_OLDEST_FIRST = "ORDER BY ts, claimed, hash, key"

SlotPlace = tuple[int, int, str, bytes]


class Slot(NamedTuple):
    """A row of `snapshots`."""

    id: int
    page: int
    number: int
    ts: int
    claimed: int
    hash: str
    key: bytes
    rank: int
    content_rank: int | None
    digest: bytes | None
    base: int | None
    below: int
    size: int
    expire_at: int | None

    @property
    def place(self) -> SlotPlace:
        """Unique in a page."""
        return self.ts, self.claimed, self.hash, self.key

    @property
    def is_emptied(self) -> bool:
        """Its content has expired."""
        return self.content_rank is not None and self.size == 0


def by_key(connection: sqlite3.Connection, key: bytes) -> Slot | None:
    return _one(connection, "key = ?", key)


def by_number(connection: sqlite3.Connection, page: int, number: int) -> Slot | None:
    return _one(connection, "page = ? AND number = ?", page, number)


def newest(connection: sqlite3.Connection, page: int) -> Slot | None:
    """Of those that have content."""
    return _one(connection, f"page = ? AND bytes > 0 {_LATEST_FIRST} LIMIT 1", page)


def next_with_content(connection: sqlite3.Connection, slot: Slot) -> Slot | None:
    return _one(
        connection,
        f"page = ? AND bytes > 0 AND ts >= ? AND {_PLACE} > (?, ?, ?, ?) {_OLDEST_FIRST} LIMIT 1",
        slot.page,
        slot.ts,
        *slot.place,
    )


def _one(connection: sqlite3.Connection, where: str, *values: object) -> Slot | None:
    row = connection.execute(f"SELECT {_COLUMNS} FROM snapshots WHERE {where}", values).fetchone()
    return row and Slot._make(row)


def add(
    connection: sqlite3.Connection, page: int, event: StorageEvent, key: bytes, expire_at: int
) -> None:
    """A version without content."""
    place = (event.ts, event.claimed, plain(event.snapshot_hash), key)
    connection.execute(
        """
        INSERT INTO snapshots (page, ts, claimed, hash, key, number, rank, below, bytes, expire_at)
        VALUES (?, ?, ?, ?, ?, 0, ?, 0, 0, ?)
        """,
        (page, *place, event.rank, expire_at),
    )
    _renumber(connection, page, place, can_fall=False)


def move(connection: sqlite3.Connection, slot: Slot, event: StorageEvent) -> None:
    """To the time of an event with a lower rank."""
    update(connection, "snapshots", slot.id, {"ts": event.ts, "rank": event.rank})
    first = min(slot.place, slot._replace(ts=event.ts).place)
    _renumber(connection, slot.page, first, can_fall=True)


def _renumber(
    connection: sqlite3.Connection, page: int, first: SlotPlace, *, can_fall: bool
) -> None:
    """From a place on."""
    row = connection.execute(
        f"""
        SELECT number FROM snapshots WHERE page = ? AND ts <= ? AND {_PLACE} < (?, ?, ?, ?)
        {_LATEST_FIRST} LIMIT 1
        """,
        (page, first[0], *first),
    ).fetchone()
    following = connection.execute(
        f"""
        SELECT id, number, claimed FROM snapshots
        WHERE page = ? AND ts >= ? AND {_PLACE} >= (?, ?, ?, ?) {_OLDEST_FIRST}
        """,
        (page, first[0], *first),
    )
    numbers: dict[int, int] = {}
    for slot, number, new in renumbered(following, row[0] if row else 0, can_fall=can_fall):
        if number != new:
            numbers[slot] = new
        elif not can_fall:
            break
    following.close()
    set_numbers(connection, numbers)


def set_numbers(connection: sqlite3.Connection, numbers: Mapping[int, int]) -> None:
    """By id. No two versions of a page have the same number, not even for a moment."""
    connection.executemany(
        "UPDATE snapshots SET number = -id - 1 WHERE id = ?", [(slot,) for slot in numbers]
    )
    connection.executemany(
        "UPDATE snapshots SET number = ? WHERE id = ?",
        [(number, slot) for slot, number in numbers.items()],
    )
