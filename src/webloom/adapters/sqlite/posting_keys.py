"""Postings by their dedupe keys.

Keys are hashes, so each new one would change another page of an index of all keys. So indexes hold
only the first bytes of a key, and new keys are gathered in a small index, from which they move to
the large one together, many per page.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from webloom.adapters.sqlite.batches import as_json, change, given, plain, select_all

KEY_BYTES = 20
MOST_FRESH = 65_536
_PREFIX_BYTES = 8
_TABLES = ("posting_keys", "fresh_keys")


def key_bytes(dedupe_key: str) -> bytes | None:
    """None: it is not a hash, so nothing is stored under it."""
    try:
        key = bytes.fromhex(dedupe_key)
    except ValueError:
        return None
    return key if len(key) == KEY_BYTES and key.hex() == dedupe_key else None


def _prefix(key: bytes) -> int:
    """In the order of keys, and as small as SQLite's numbers are."""
    return int.from_bytes(key[:_PREFIX_BYTES].ljust(_PREFIX_BYTES, b"\0"), "big") - (1 << 63)


def find(
    connection: sqlite3.Connection, sources: Sequence[int], keys: Sequence[bytes], columns: str
) -> list[list[Any]]:
    """Columns of `postings` that have one of the keys, each behind the place of its key."""
    both = " UNION ALL ".join(
        f"""
        SELECT given.key AS number, postings.* FROM json_each(:given) AS given
        CROSS JOIN {table} AS known ON known.source = json_extract(given.value, '$[0]')
                                   AND known.prefix = json_extract(given.value, '$[1]')
        CROSS JOIN postings ON postings.id = known.posting
            AND postings.key = substr(:keys, {KEY_BYTES} * given.key + 1, {KEY_BYTES})
        """
        for table in _TABLES
    )
    return select_all(
        connection,
        f"number, {columns}",
        f"({both})",
        given=as_json([(source, _prefix(key)) for source, key in zip(sources, keys, strict=True)]),
        keys=b"".join(keys),
    )


def add(connection: sqlite3.Connection, rows: Iterable[tuple[int, bytes, int]]) -> None:
    """Source, key and id of new postings."""
    change(
        connection,
        given("source", "prefix", "posting") + "INSERT INTO fresh_keys SELECT * FROM given",
        sorted((source, _prefix(key), posting) for source, key, posting in rows),
    )


def settle(connection: sqlite3.Connection) -> None:
    """To be called after keys were added, once for a transaction."""
    [fresh] = connection.execute("SELECT count(*) FROM fresh_keys").fetchone()
    if fresh > MOST_FRESH:
        connection.execute("INSERT INTO posting_keys SELECT * FROM fresh_keys")
        connection.execute("DELETE FROM fresh_keys")


def source_of(connection: sqlite3.Connection, url: str) -> int:
    """0: nothing came from it."""
    row = connection.execute("SELECT id FROM sources WHERE url = ?", (plain(url),)).fetchone()
    return int(row[0]) if row else 0


def open_keys(connection: sqlite3.Connection, source_url: str, after: str, limit: int) -> list[str]:
    behind = bytes.fromhex(after)
    values = {
        "source": source_of(connection, source_url),
        "prefix": _prefix(behind),
        "behind": behind,
        "limit": limit,
    }
    found: list[str] = []
    for table in _TABLES:  # each in its own order: over both, SQLite would sort everything
        rows = connection.execute(
            f"""
            SELECT key FROM {table} CROSS JOIN postings ON id = posting
            WHERE {table}.source = :source AND prefix >= :prefix
                AND key > :behind AND closed_run IS NULL
            ORDER BY prefix, key LIMIT :limit
            """,
            values,
        )
        found += [key.hex() for (key,) in rows.fetchall()]
    return sorted(found)[:limit]
