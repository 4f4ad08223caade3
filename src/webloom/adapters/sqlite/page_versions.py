"""Versions of a page: their order, their numbers, and their contents.

A version stands where the earliest of its events does, and has that one's content.

The newest content is whole, and each that it supersedes becomes a delta against it, so that
contents stand in chains. A chain has MOST_CHAINED deltas at most. No base goes before what depends
on it: it expires later, or at the same time and is then higher (`below`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from webloom.adapters.sqlite.batches import plain
from webloom.deltas import applied, compressed, delta, restored
from webloom.domain.storage_event import Claimed, Place, StorageEvent, renumbered

MOST_CHAINED = 63
UNTIMED = 1 << 62  # the rank of an event that has no time of its own: any that has one is lower

_COLUMNS = (
    "id, page, number, ts, claimed, hash, key, rank, content_rank, digest, base, below, bytes, "
    "expire_at"
)
_PLACE = "(ts, claimed, hash, key)"
_LATEST_FIRST = "ORDER BY ts DESC, claimed DESC, hash DESC, key DESC"
_OLDEST_FIRST = "ORDER BY ts, claimed, hash, key"


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
    def place(self) -> tuple[int, int, str, bytes]:
        """No two of a page are the same."""
        return self.ts, self.claimed, self.hash, self.key


class Content(NamedTuple):
    data: bytes
    digest: bytes


class Delta(NamedTuple):
    digest: bytes  # of the content that it gives
    body: bytes


class Ready(NamedTuple):
    """What takes time, made before the transaction."""

    whole: bytes  # the content to be stored
    superseded: Delta | None  # what is the newest, against it


def rank_of(event: StorageEvent) -> int:
    """The lowest is taken where events differ in what they say of one version."""
    return event.ts if event.has_ts else UNTIMED


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


# Places and numbers


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
        (page, *place, rank_of(event), expire_at),
    )
    renumber(connection, page, place, can_fall=False)


def move(connection: sqlite3.Connection, slot: Slot, event: StorageEvent) -> None:
    """To the time of an event that ranks lower."""
    connection.execute(
        "UPDATE snapshots SET ts = ?, rank = ? WHERE id = ?",
        (event.ts, rank_of(event), slot.id),
    )
    first = min(slot.place, slot._replace(ts=event.ts).place)
    renumber(connection, slot.page, first, can_fall=True)


def renumber(
    connection: sqlite3.Connection,
    page: int,
    first: tuple[int, int, str, bytes],
    *,
    can_fall: bool,
) -> None:
    """From a place on. A version that comes in between lets no number fall: what looks like a gap
    is where others were that have expired."""
    row = connection.execute(
        f"""
        SELECT number FROM snapshots WHERE page = ? AND ts <= ? AND {_PLACE} < (?, ?, ?, ?)
        {_LATEST_FIRST} LIMIT 1
        """,
        (page, first[0], *first),
    ).fetchone()
    before = row[0] if row else 0
    changed: list[tuple[int, int]] = []
    following = connection.execute(
        f"""
        SELECT id, number, ts, claimed, hash FROM snapshots
        WHERE page = ? AND ts >= ? AND {_PLACE} >= (?, ?, ?, ?) {_OLDEST_FIRST}
        """,
        (page, first[0], *first),
    )
    for slot, number, *place in following:
        if number > before and not can_fall:
            break
        [before] = renumbered(before, [Claimed(Place(*place), number)])
        if before != number:
            changed.append((before, slot))
    following.close()
    set_numbers(connection, changed)


def set_numbers(connection: sqlite3.Connection, changed: list[tuple[int, int]]) -> None:
    """Pairs of a number and an id. No two versions of a page have the same number, not even for a
    moment."""
    connection.executemany(
        "UPDATE snapshots SET number = -id - 1 WHERE id = ?", [(slot,) for _, slot in changed]
    )
    connection.executemany("UPDATE snapshots SET number = ? WHERE id = ?", changed)


# Contents


def content(connection: sqlite3.Connection, slot: int) -> bytes:
    """Raises ValueError when it is damaged."""
    return joined(chain(connection, slot))


def chain(connection: sqlite3.Connection, slot: int) -> list[bytes]:
    """The bodies that its content is read from, the whole one first."""
    bodies = connection.execute(
        """
        WITH RECURSIVE chain (slot, base, step) AS (
            SELECT id, base, 0 FROM snapshots WHERE id = ?
            UNION ALL
            SELECT snapshots.id, snapshots.base, step + 1
            FROM chain JOIN snapshots ON snapshots.id = chain.base
        )
        SELECT body FROM chain JOIN snapshot_bodies ON id = slot ORDER BY step DESC
        """,
        (slot,),
    )
    return [body for (body,) in bodies]


def joined(bodies: Sequence[bytes]) -> bytes:
    """Raises ValueError when they are damaged."""
    if not bodies:
        raise ValueError("a stored version is not there")
    data = restored(bodies[0])
    for body in bodies[1:]:
        data = applied(body, data)
    return data


def fill(
    connection: sqlite3.Connection,
    slot: Slot,
    given: Content,
    rank: int,
    expire_at: int,
    ready: Ready | None,
) -> None:
    """Give content to a version that has none; `expire_at` is for what is superseded by it, or for
    itself."""
    latest = newest(connection, slot.page)
    _note_origin(connection, slot, given, rank)
    whole = compressed(given.data) if ready is None else ready.whole
    if latest is not None and slot.place < latest.place:
        _fill_older(connection, slot, given.data, whole, expire_at)
        return
    write_content(connection, slot.id, whole, base=None, expire_at=None)
    if latest is not None:
        made = None if ready is None else ready.superseded
        supersede(connection, latest, slot, given.data, expire_at, made)


def _note_origin(connection: sqlite3.Connection, slot: Slot, given: Content, rank: int) -> None:
    connection.execute(
        "UPDATE snapshots SET content_rank = ?, digest = ? WHERE id = ?",
        (rank, given.digest, slot.id),
    )


def _fill_older(
    connection: sqlite3.Connection, slot: Slot, data: bytes, whole: bytes, expire_at: int
) -> None:
    base = next_with_content(connection, slot)
    assert base is not None  # noqa: S101 - the newest is one
    bases = _chain(connection, base)
    if len(bases) <= MOST_CHAINED:
        against = delta(data, content(connection, base.id))
        if len(against) < len(whole):
            write_content(connection, slot.id, against, base=base.id, expire_at=expire_at)
            connection.executemany(
                """
                UPDATE snapshots SET below = max(below, ?), expire_at = max(expire_at, ?)
                WHERE id = ?
                """,
                [(step, expire_at, each) for step, each in enumerate(bases, 1)],
            )
            return
    write_content(connection, slot.id, whole, base=None, expire_at=expire_at)


def _chain(connection: sqlite3.Connection, slot: Slot) -> list[int]:
    """From it to what is whole."""
    chain, base = [slot.id], slot.base
    while base is not None:
        chain.append(base)
        [base] = connection.execute("SELECT base FROM snapshots WHERE id = ?", (base,)).fetchone()
    return chain


def supersede(
    connection: sqlite3.Connection,
    slot: Slot,
    by: Slot,
    data: bytes,
    expire_at: int,
    made: Delta | None,
) -> None:
    """`slot` is whole and the newest; `by` is whole and has `data`."""
    [last] = connection.execute(
        "SELECT coalesce(max(expire_at), 0) FROM snapshots WHERE base = ?", (slot.id,)
    ).fetchone()
    expire_at = max(expire_at, last)
    if slot.below < MOST_CHAINED:
        if made is not None and made.digest == slot.digest:
            against = made.body
        else:
            against = delta(content(connection, slot.id), data)
        if len(against) < slot.size:
            write_content(connection, slot.id, against, base=by.id, expire_at=expire_at)
            connection.execute(
                "UPDATE snapshots SET below = max(below, ?) WHERE id = ?", (slot.below + 1, by.id)
            )
            return
    connection.execute("UPDATE snapshots SET expire_at = ? WHERE id = ?", (expire_at, slot.id))


def make_newest(connection: sqlite3.Connection, slot: Slot, before: Slot, expire_at: int) -> None:
    """After one of them has moved: `before` was the newest, and `slot` is."""
    data = content(connection, slot.id)
    if slot.base is None:
        connection.execute("UPDATE snapshots SET expire_at = NULL WHERE id = ?", (slot.id,))
    else:
        write_content(connection, slot.id, compressed(data), base=None, expire_at=None)
    supersede(connection, before, slot, data, expire_at, None)


def exchange(connection: sqlite3.Connection, slot: Slot, given: Content, rank: int) -> None:
    """Give a version another content. What depends on it is written anew."""
    _note_origin(connection, slot, given, rank)
    if given.digest == slot.digest:
        return
    dependents = [
        (each, expire_at, content(connection, each))
        for each, expire_at in connection.execute(
            "SELECT id, expire_at FROM snapshots WHERE base = ?", (slot.id,)
        ).fetchall()
    ]
    if slot.base is None:
        body = compressed(given.data)
    else:
        body = delta(given.data, content(connection, slot.base))
    write_content(connection, slot.id, body, base=slot.base, expire_at=slot.expire_at)
    for each, expire_at, data in dependents:
        against = delta(data, given.data)
        write_content(connection, each, against, base=slot.id, expire_at=expire_at)


def write_content(
    connection: sqlite3.Connection,
    slot: int,
    body: bytes,
    *,
    base: int | None,
    expire_at: int | None,
) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO snapshot_bodies (id, body) VALUES (?, ?)", (slot, body)
    )
    connection.execute(
        "UPDATE snapshots SET base = ?, bytes = ?, expire_at = ? WHERE id = ?",
        (base, len(body), expire_at, slot),
    )
