"""Contents of versions: whole, or as a delta against a newer one.

The newest content is whole. Each one that it supersedes becomes a delta against it, so that
contents form chains of at most MOST_CHAINED deltas. No base goes before a delta against it: it
expires later, or at the same time and is then higher (`below`).
"""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from webloom.adapters.sqlite.batches import update
from webloom.adapters.sqlite.page_versions import Slot, newest, next_with_content
from webloom.deltas import compressed, delta
from webloom.stores.page_contents import LONGEST_CHAIN, joined

MOST_CHAINED = LONGEST_CHAIN - 1


class Delta(NamedTuple):
    digest: bytes  # of the content that it gives
    body: bytes


class Content(NamedTuple):
    """With what takes time to compute, if that was done before the transaction."""

    data: bytes
    digest: bytes
    whole: bytes | None = None  # the data, compressed
    superseded: Delta | None = None  # the newest content, against this one


def bodies_of(connection: sqlite3.Connection, slot: int | None) -> list[bytes]:
    """For `joined`."""
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


def content(connection: sqlite3.Connection, slot: int) -> bytes:
    """Raises ValueError when it is damaged."""
    return joined(bodies_of(connection, slot))


def fill(
    connection: sqlite3.Connection, slot: Slot, given: Content, rank: int, expire_at: int
) -> None:
    """Give content to a version that has none; `expire_at` is for what it supersedes, or for
    itself."""
    latest = newest(connection, slot.page)
    _note_origin(connection, slot, given, rank)
    whole = given.whole or compressed(given.data)
    if latest is not None and slot.place < latest.place:
        _fill_older(connection, slot, given.data, whole, expire_at)
        return
    write_content(connection, slot.id, whole, base=None, expire_at=None)
    if latest is not None:
        supersede(connection, latest, slot, given, expire_at)


def _note_origin(connection: sqlite3.Connection, slot: Slot, given: Content, rank: int) -> None:
    update(connection, "snapshots", slot.id, {"content_rank": rank, "digest": given.digest})


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
    connection: sqlite3.Connection, slot: Slot, by: Slot, newer: Content, expire_at: int
) -> None:
    """`slot` is whole and the newest; `by` is whole and has the newer content."""
    [last] = connection.execute(
        "SELECT coalesce(max(expire_at), 0) FROM snapshots WHERE base = ?", (slot.id,)
    ).fetchone()
    expire_at = max(expire_at, last)
    if slot.below < MOST_CHAINED:
        made = newer.superseded
        if made is not None and made.digest == slot.digest:
            against = made.body
        else:
            against = delta(content(connection, slot.id), newer.data)
        if len(against) < slot.size:
            write_content(connection, slot.id, against, base=by.id, expire_at=expire_at)
            connection.execute(
                "UPDATE snapshots SET below = max(below, ?) WHERE id = ?", (slot.below + 1, by.id)
            )
            return
    update(connection, "snapshots", slot.id, {"expire_at": expire_at})


def make_newest(connection: sqlite3.Connection, slot: Slot, before: Slot, expire_at: int) -> None:
    """After one of them has moved: `before` was the newest, and `slot` is."""
    data = content(connection, slot.id)
    if slot.base is None:
        update(connection, "snapshots", slot.id, {"expire_at": None})
    else:
        write_content(connection, slot.id, compressed(data), base=None, expire_at=None)
    supersede(connection, before, slot, Content(data, slot.digest or b""), expire_at)


def exchange(connection: sqlite3.Connection, slot: Slot, given: Content, rank: int) -> None:
    """Give a version another content, and write deltas against it again."""
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
    row = {"base": base, "bytes": len(body), "expire_at": expire_at}
    update(connection, "snapshots", slot, row)
