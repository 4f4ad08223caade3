"""Pages of postings, the latest first.

Everything that finds postings gives their places, and the places are the order of the listing: a
page goes on behind the last place of the one before. What the path does not know of a filter is
looked at row by row; after MOST_SCANNED of them the page ends where it is, and says where to go on.
"""

from __future__ import annotations

import base64
import re
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from webloom.adapters.sqlite.batches import as_json, plain
from webloom.adapters.sqlite.posting_keys import source_of
from webloom.adapters.sqlite.posting_rows import (
    ANY_SOURCE,
    FROM_STORED,
    ID_MASK,
    STORED,
    first_place,
    last_place,
    stored_of,
)
from webloom.adapters.sqlite.values import milliseconds
from webloom.domain.errors import BadCursor
from webloom.ports.postings import PostingFilter, PostingPage

MOST_SCANNED = 1000
_CURSOR = re.compile(r"-?[0-9a-f]{1,16}")
_FIRST, _LAST = -(1 << 63), (1 << 63) - 1  # of all places


@dataclass(frozen=True, kw_only=True, slots=True)
class _Path:
    """Where the places of a filter are read, from the latest on."""

    place: str
    source: str
    words: str | None = None


def postings_page(
    chosen: PostingFilter, limit: int, cursor: str | None
) -> Callable[[sqlite3.Connection], PostingPage]:
    behind = None if cursor is None else _parse(cursor)

    def query(connection: sqlite3.Connection) -> PostingPage:
        places, following = _walk(connection, chosen, limit, behind)
        rows = connection.execute(
            f"""
            SELECT postings.id, {STORED} FROM {FROM_STORED}
            WHERE postings.id IN (SELECT value FROM json_each(?))
            """,
            (as_json([place & ID_MASK for place in places]),),
        )
        found = {row[0]: stored_of(row[1:]) for row in rows}
        return PostingPage(
            postings=[found[place & ID_MASK] for place in places if place & ID_MASK in found],
            next_cursor=None if following is None else _cursor(following),
        )

    return query


def _walk(
    connection: sqlite3.Connection, chosen: PostingFilter, limit: int, behind: int | None
) -> tuple[list[int], int | None]:
    """A place knows the second, and the row the millisecond."""
    path = _path(connection, chosen)
    since, until = milliseconds(chosen.since), milliseconds(chosen.until)
    first = _FIRST if since is None else first_place(since)
    last = _LAST if until is None else last_place(until)
    knows_all = chosen.is_open is None and since is None and until is None
    most = limit + 1 if knows_all else MOST_SCANNED
    scanned, earliest, found = connection.execute(
        f"""
        WITH walked AS (SELECT {path.place} AS at FROM {path.source}
                        AND {path.place} BETWEEN :first AND :last
                        ORDER BY {path.place} DESC LIMIT :most)
        SELECT count(*), min(at), json_group_array(at) FILTER (
            WHERE (:is_open IS NULL OR (closed_run IS NULL) = :is_open)
              AND (:since IS NULL OR time >= :since) AND (:until IS NULL OR time <= :until))
        FROM walked CROSS JOIN postings ON postings.id = walked.at & {ID_MASK}
        """,
        {
            "words": path.words,
            "first": first,
            "last": last if behind is None else min(last, behind - 1),
            "most": most,
            "is_open": chosen.is_open,
            "since": since,
            "until": until,
        },
    ).fetchone()
    places: list[int] = sorted(msgspec.json.decode(found), reverse=True)
    if len(places) > limit:
        return places[:limit], places[limit - 1]
    return places, earliest if scanned == most else None


def _path(connection: sqlite3.Connection, chosen: PostingFilter) -> _Path:
    terms = []
    if chosen.text is not None:
        terms.append("{title company location} : " + _phrase(chosen.text))
    if chosen.company is not None:
        terms.append("company : " + _phrase(chosen.company))
    if chosen.location is not None:
        terms.append("location : " + _phrase(chosen.location))
    if chosen.source_url is not None:
        terms.append(f'source : "s{source_of(connection, chosen.source_url)}"')
    if not terms and chosen.is_open is False:
        source = "postings INDEXED BY postings_closed WHERE closed_run IS NOT NULL"
        return _Path(place="closed_place", source=source)
    return _Path(
        place="rowid",
        source="posting_words WHERE posting_words MATCH :words",
        words=" AND ".join(f"({term})" for term in terms) or f'source : "{ANY_SOURCE}"',
    )


def _phrase(text: str) -> str:
    words = plain(text)
    phrase = '"' + words.rstrip("* ").replace('"', '""') + '"'
    return phrase + " *" if words.endswith("*") else phrase


def _cursor(place: int) -> str:
    return base64.urlsafe_b64encode(f"{place:x}".encode()).decode().rstrip("=")


def _parse(cursor: str) -> int:
    try:
        raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
    except ValueError:
        raw = ""
    if not _CURSOR.fullmatch(raw) or not _FIRST < (place := int(raw, 16)) <= _LAST:
        raise BadCursor(f"{cursor!r} is not a cursor of this listing")
    return place


def count_postings(connection: sqlite3.Connection) -> tuple[int, int]:
    """Every posting has its key, in tables that are much smaller than theirs."""
    every, closed = connection.execute(
        """
        SELECT (SELECT count(*) FROM posting_keys) + (SELECT count(*) FROM fresh_keys),
               (SELECT count(*) FROM postings INDEXED BY postings_closed
                WHERE closed_run IS NOT NULL)
        """
    ).fetchone()
    return every - closed, closed
