"""A page of a listing, read by scanning one index in its order.

What the index does not know of a filter is looked at row by row. After so many rows the page ends
where it is, and says where to continue.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from webloom.domain.listing import MOST_SCANNED
from webloom.stores.cursors import cursor_of

FEW = 2  # times the rows of a page
FIRST, LAST = -(1 << 63), (1 << 63) - 1  # of all places

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
    oldest_first: bool = False,
) -> tuple[list[int], str | None]:
    """The second of the place of each row that a condition holds for, in the order of places, from
    the greatest on or the least; and where to continue. `source` is a FROM with a WHERE that its
    index knows."""
    first, second = place
    order, than, end = direction(oldest_first=oldest_first)
    most = limit + 1 if chosen == "true" else MOST_SCANNED
    rows = connection.execute(
        f"""
        SELECT {first}, {second}, {chosen} FROM {source}
        AND {first} {than}= :first AND ({first}, {second}) {than} (:first, :second)
        ORDER BY {first} {order}, {second} {order} LIMIT :most
        """,
        {
            **values,
            "first": end if behind is None else behind[0],
            "second": end if behind is None else behind[1],
            "most": most,
        },
    ).fetchall()
    found = [row for row in rows if row[2]]
    ids = [int(row[1]) for row in found[:limit]]
    if len(found) > limit:
        return ids, cursor_of(*found[limit - 1][:2], oldest_first=oldest_first)
    if len(rows) < most:
        return ids, None
    return ids, cursor_of(*rows[-1][:2], oldest_first=oldest_first)


def direction(*, oldest_first: bool) -> tuple[str, str, int]:
    """The order of places, what a place behind another one is, and what all of them are behind."""
    return ("ASC", ">", FIRST) if oldest_first else ("DESC", "<", LAST)


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
    oldest_first: bool = False,
) -> tuple[list[int], int | None]:
    """Up to `limit` places, and the one that the next page starts behind, if there may be more. A
    condition that many rows meet has a page of them among a few."""
    order, _, _ = direction(oldest_first=oldest_first)
    statement = f"""
        WITH scanned AS (SELECT {place} AS at FROM {source} ORDER BY {place} {order} LIMIT :most)
        SELECT count(*), {"max" if oldest_first else "min"}(at),
               json_group_array(at) FILTER (WHERE {accepts})
        FROM scanned CROSS JOIN {joined}
    """
    for tried in sorted({min(most, FEW * (limit + 1)), most}):
        scanned, last, found = connection.execute(statement, values | {"most": tried}).fetchone()
        places = sorted(_places.decode(found), reverse=not oldest_first)
        if len(places) > limit:
            return places[:limit], places[limit - 1]
        if scanned < tried:
            return places, None
    return places, last


def conditions(values: Mapping[str, Any], **by_name: str) -> str:
    """Those whose value is given."""
    given = (condition for name, condition in by_name.items() if values[name] is not None)
    return " AND ".join(given) or "true"
