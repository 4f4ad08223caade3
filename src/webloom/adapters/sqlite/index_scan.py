"""A page of a listing whose filter an index knows only in part.

Rows are looked at in the order of the listing, the latest first. After so many of them the page
ends where it is, and says where to go on.
"""

from __future__ import annotations

import sqlite3

import msgspec

_places = msgspec.json.Decoder(list[int])


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
