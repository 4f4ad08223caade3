"""Pages of postings, the latest or the earliest first.

Everything that finds postings gives their places, and the places are the order of the listing: a
page goes on behind the last place of the one before.
"""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from webloom.adapters.sqlite.batches import as_json
from webloom.adapters.sqlite.database import Database
from webloom.adapters.sqlite.index_scan import FIRST, LAST, scan
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
from webloom.adapters.sqlite.words import expression_in, look_for_each
from webloom.domain.listing import MOST_SCANNED, Count, counted_to
from webloom.domain.search import NOTHING, Term, terms_of
from webloom.ports.postings import PostingFilter, PostingPage
from webloom.stores.cursors import cursor_of, values_of

_ANY = f'source : "{ANY_SOURCE}"'


class _Part(NamedTuple):
    """A page's worth of the listing: up to `limit` of these places, both included."""

    limit: int
    first: int = FIRST
    last: int = LAST
    oldest_first: bool = False


class SqlitePostingSearch:
    """The lists of the port `Postings`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def page(
        self,
        chosen: PostingFilter,
        *,
        limit: int,
        cursor: str | None = None,
        oldest_first: bool = False,
        most_counted: int | None = None,
    ) -> PostingPage:
        part = _Part(limit, oldest_first=oldest_first)
        if cursor is not None:
            [place] = values_of(cursor, int, oldest_first=oldest_first)
            if oldest_first:
                part = part._replace(first=min(place + 1, LAST))
            else:
                part = part._replace(last=max(place - 1, FIRST))

        def query(connection: sqlite3.Connection) -> PostingPage:
            if _has_nothing(chosen):
                return PostingPage(postings=[])
            places, following = _scan(connection, chosen, part)
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
                next_cursor=None
                if following is None
                else cursor_of(following, oldest_first=oldest_first),
            )

        return await self._db.scan(query)

    async def count_chosen(self, chosen: PostingFilter, *, most: int) -> Count:
        """The index of words knows the source, too, and nothing of times."""

        def query(connection: sqlite3.Connection) -> Count:
            if _has_nothing(chosen):
                return Count(0)
            words, rest = _expression(connection, chosen)
            if rest or any(
                each is not None for each in (chosen.is_open, chosen.since, chosen.until)
            ):
                found, following = _scan(connection, chosen, _Part(MOST_SCANNED))
                return counted_to(most, len(found), is_all=following is None)
            rows = "SELECT 1 FROM posting_words WHERE posting_words MATCH ? LIMIT ?"
            [count] = connection.execute(
                f"SELECT count(*) FROM ({rows})", (words or _ANY, most + 1)
            ).fetchone()
            return counted_to(most, count)

        return await self._db.scan(query)


def _scan(
    connection: sqlite3.Connection, chosen: PostingFilter, part: _Part
) -> tuple[list[int], int | None]:
    """A place knows the second, and the row the millisecond."""
    place, source = "rowid", "posting_words WHERE posting_words MATCH :words"
    words, rest = _expression(connection, chosen)
    if not words and not rest and chosen.is_open is False:
        place = "closed_place"
        source = "postings INDEXED BY postings_closed WHERE closed_run IS NOT NULL"
    since, until = milliseconds(chosen.since), milliseconds(chosen.until)
    knows_all = not rest and chosen.is_open is None and since is None and until is None
    joined, is_found = f"postings ON postings.id = scanned.at & {ID_MASK}", "true"
    if rest:
        joined += " JOIN posting_bodies ON posting_bodies.id = postings.id"
        is_found = f"{look_for_each(connection, rest)}({', '.join(map(_text_of, rest))})"
    return scan(
        connection,
        place=place,
        source=f"{source} AND {place} BETWEEN :first AND :last",
        joined=joined,
        accepts=f"""{is_found} AND (:is_open IS NULL OR (closed_run IS NULL) = :is_open)
            AND (:since IS NULL OR time >= :since) AND (:until IS NULL OR time <= :until)""",
        values={
            "words": words or _ANY,
            "first": part.first if since is None else max(part.first, first_place(since)),
            "last": part.last if until is None else min(part.last, last_place(until)),
            "is_open": chosen.is_open,
            "since": since,
            "until": until,
        },
        limit=part.limit,
        most=part.limit + 1 if knows_all else MOST_SCANNED,
        oldest_first=part.oldest_first,
    )


def _has_nothing(chosen: PostingFilter) -> bool:
    return NOTHING in (each for text in _texts(chosen).values() for each in terms_of(text))


def _expression(
    connection: sqlite3.Connection, chosen: PostingFilter
) -> tuple[str, dict[str, tuple[Term, ...]]]:
    """For the index of words; and what has to be looked for in the rows, by columns."""
    parts, rest = [], {}
    for columns, text in _texts(chosen).items():
        expression = expression_in(connection, "posting_words", terms_of(text))
        if expression.text:
            parts.append(f"({{{columns}}} : ({expression.text}))")
        if expression.rest:
            rest[columns] = expression.rest
    if chosen.source_url is not None:
        parts.append(f'(source : "s{source_of(connection, chosen.source_url)}")')
    return " AND ".join(parts), rest


def _texts(chosen: PostingFilter) -> dict[str, str]:
    """By the columns that are searched."""
    return {
        "title company location": chosen.text or "",
        "company": chosen.company or "",
        "location": chosen.location or "",
    }


def _text_of(columns: str) -> str:
    """Of a body, a line for each."""
    each = (f"coalesce(json_extract(body, '$.{name}'), '')" for name in columns.split())
    return " || char(10) || ".join(each)


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
