"""A page of a listing, read by scanning one index in its order.

What the index does not know of a filter is looked at row by row. After so many rows the page ends
where it is, and says where to go on.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from webloom.stores.cursors import cursor_of

MOST_SCANNED = 1000
LAST = (1 << 63) - 1
_END = (LAST, LAST)  # behind all places

_places = msgspec.json.Decoder(list[int])


@contextmanager
def consistent_read(connection: sqlite3.Connection) -> Iterator[None]:
    """Several queries see the database at one moment."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("COMMIT")


def scan_index(
    connection: sqlite3.Connection,
    *,
    source: str,
    place: tuple[str, str],
    chosen: str,
    values: Mapping[str, Any],
    limit: int,
    behind: tuple[int, ...] | None,
) -> tuple[list[int], str | None]:
    """The second of the place of each row that a condition holds for, in the order of places, from
    the greatest on; and where to go on. `source` is a FROM with a WHERE that its index knows."""
    first, second = place
    most = limit + 1 if chosen == "true" else MOST_SCANNED
    rows = connection.execute(
        f"""
        SELECT {first}, {second}, {chosen} FROM {source}
        AND {first} <= :first AND ({first}, {second}) < (:first, :second)
        ORDER BY {first} DESC, {second} DESC LIMIT :most
        """,
        {
            **values,
            "first": (behind or _END)[0],
            "second": (behind or _END)[1],
            "most": most,
        },
    ).fetchall()
    found = [row for row in rows if row[2]]
    ids = [int(row[1]) for row in found[:limit]]
    if len(found) > limit:
        return ids, cursor_of(*found[limit - 1][:2])
    return ids, cursor_of(*rows[-1][:2]) if len(rows) == most else None


def scan(
    connection: sqlite3.Connection,
    *,
    place: str,  # an integer column, in the order of the listing
    source: str,  # where it is read, with a condition
    joined: str,  # the table that has the other columns, by `at`, the place
    accepts: str,  # a condition on these
    values: dict[str, object],
    limit: int,
    most: int,  # rows looked at
) -> tuple[list[int], int | None]:
    """Up to `limit` places, and the one that the next page starts behind, if there may be more."""
    scanned, earliest, found = connection.execute(
        f"""
        WITH scanned AS (SELECT {place} AS at FROM {source} ORDER BY {place} DESC LIMIT :most)
        SELECT count(*), min(at), json_group_array(at) FILTER (WHERE {accepts})
        FROM scanned CROSS JOIN {joined}
        """,
        values | {"most": most},
    ).fetchone()
    places = sorted(_places.decode(found), reverse=True)
    if len(places) > limit:
        return places[:limit], places[limit - 1]
    return places, earliest if scanned == most else None


def conditions(values: Mapping[str, Any], **by_name: str) -> str:
    """Those whose value is given."""
    given = (condition for name, condition in by_name.items() if values[name] is not None)
    return " AND ".join(given) or "true"
