"""Pages of postings, the latest first.

Everything that finds postings gives their places, and the places are the order of the listing: a
page goes on behind the last place of the one before.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from webloom.adapters.sqlite.batches import as_json
from webloom.adapters.sqlite.index_scan import scan
from webloom.adapters.sqlite.posting_codec import (
    ANY_SOURCE,
    FROM_STORED,
    ID_MASK,
    STORED,
    first_place,
    last_place,
    stored_of,
)
from webloom.adapters.sqlite.posting_keys import source_of
from webloom.adapters.sqlite.values import milliseconds
from webloom.adapters.sqlite.words import phrase_of
from webloom.ports.postings import PostingFilter, PostingPage
from webloom.stores.cursors import cursor_of, values_of

MOST_SCANNED = 1000
_FIRST, _LAST = -(1 << 63), (1 << 63) - 1  # of all places


def postings_page(
    chosen: PostingFilter, limit: int, cursor: str | None
) -> Callable[[sqlite3.Connection], PostingPage]:
    newest = _LAST if cursor is None else max(values_of(cursor, int)[0] - 1, _FIRST)

    def query(connection: sqlite3.Connection) -> PostingPage:
        places, following = _scan(connection, chosen, limit, newest)
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
            next_cursor=None if following is None else cursor_of(following),
        )

    return query


def _scan(
    connection: sqlite3.Connection, chosen: PostingFilter, limit: int, newest: int
) -> tuple[list[int], int | None]:
    """A place knows the second, and the row the millisecond."""
    place, source = "rowid", "posting_words WHERE posting_words MATCH :words"
    terms = _terms(connection, chosen)
    if not terms and chosen.is_open is False:
        place = "closed_place"
        source = "postings INDEXED BY postings_closed WHERE closed_run IS NOT NULL"
    since, until = milliseconds(chosen.since), milliseconds(chosen.until)
    knows_all = chosen.is_open is None and since is None and until is None
    return scan(
        connection,
        place=place,
        source=f"{source} AND {place} BETWEEN :first AND :last",
        joined=f"postings ON postings.id = scanned.at & {ID_MASK}",
        accepts="""(:is_open IS NULL OR (closed_run IS NULL) = :is_open)
            AND (:since IS NULL OR time >= :since) AND (:until IS NULL OR time <= :until)""",
        values={
            "words": " AND ".join(terms) or f'source : "{ANY_SOURCE}"',
            "first": _FIRST if since is None else first_place(since),
            "last": newest if until is None else min(newest, last_place(until)),
            "is_open": chosen.is_open,
            "since": since,
            "until": until,
        },
        limit=limit,
        most=limit + 1 if knows_all else MOST_SCANNED,
    )


def _terms(connection: sqlite3.Connection, chosen: PostingFilter) -> list[str]:
    asked = {
        "{title company location}": chosen.text,
        "company": chosen.company,
        "location": chosen.location,
    }
    terms = [f"({where} : {phrase_of(text)})" for where, text in asked.items() if text is not None]
    if chosen.source_url is not None:
        terms.append(f'(source : "s{source_of(connection, chosen.source_url)}")')
    return terms


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
