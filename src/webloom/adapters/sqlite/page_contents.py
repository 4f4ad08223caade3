"""Contents of versions: whole, or as a delta against a newer one.

The newest content is whole. Each one that it supersedes becomes a delta against it, so that
contents form chains of at most MOST_CHAINED deltas. No base goes before a delta against it: it
expires later, or at the same time and is then higher (`below`). The content of a version never
changes, only how it is kept. Earlier versions of Webloom may change it. They take a version without
a digest for one that has no content, and give it content once more.
"""

from __future__ import annotations

import hashlib
import sqlite3
from typing import NamedTuple

from webloom.adapters.sqlite.batches import update
from webloom.adapters.sqlite.page_versions import Slot, newest, next_with_content
from webloom.deltas import compressed, delta
from webloom.stores.page_contents import LONGEST_CHAIN, joined

MOST_CHAINED = LONGEST_CHAIN - 1
FAR_TOO_LONG = 2 * LONGEST_CHAIN


class Delta(NamedTuple):
    digest: bytes  # of the content that it gives
    body: bytes


class Content(NamedTuple):
    """With what takes time to compute, if that was done before the transaction."""

    data: bytes
    digest: bytes
    whole: bytes | None = None  # the data, compressed
    superseded: Delta | None = None  # the newest content, against this one


def digest_of(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def bodies_of(connection: sqlite3.Connection, slot: int | None) -> list[bytes]:
    """For `joined`. Raises ValueError if the chain has no end."""
    bodies = connection.execute(
        """
        WITH RECURSIVE chain (slot, base, step) AS (
            SELECT id, base, 0 FROM snapshots WHERE id = :slot
            UNION ALL
            SELECT snapshots.id, snapshots.base, step + 1
            FROM chain JOIN snapshots ON snapshots.id = chain.base WHERE step < :most
        )
        SELECT body FROM chain JOIN snapshot_bodies ON id = slot ORDER BY step DESC
        """,
        {"slot": slot, "most": FAR_TOO_LONG},
    ).fetchall()
    _refuse_endless(len(bodies))
    return [body for (body,) in bodies]


def _refuse_endless(length: int) -> None:
    """Versions that are deltas against each other would be read forever."""
    if length > FAR_TOO_LONG:
        raise ValueError("a stored version is a delta against itself")


def content(connection: sqlite3.Connection, slot: int) -> bytes:
    """Raises ValueError when it is damaged."""
    return joined(bodies_of(connection, slot))


def fill(
    connection: sqlite3.Connection, slot: Slot, given: Content, rank: int, expire_at: int
) -> None:
    """Give content to a version that never had any; `expire_at` is for what it supersedes, or for
    itself."""
    latest = newest(connection, slot.page)
    update(connection, "snapshots", slot.id, {"content_rank": rank, "digest": given.digest})
    whole = given.whole or compressed(given.data)
    if latest is not None and slot.place < latest.place:
        _fill_older(connection, slot, given.data, whole, expire_at)
        return
    write_content(connection, slot.id, whole, base=None, expire_at=None)
    if latest is not None:
        supersede(connection, latest, slot, given, expire_at)


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
        _refuse_endless(len(chain))
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
