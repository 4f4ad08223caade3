"""Pages of records, the newest or the oldest first; counts; requests that nothing happens to."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from webloom.adapters.sqlite.database import Database
from webloom.adapters.sqlite.index_scan import FIRST, LAST, direction, scan
from webloom.adapters.sqlite.record_codec import RECORD_COLUMNS, record_of
from webloom.adapters.sqlite.values import milliseconds
from webloom.adapters.sqlite.words import expression_in, look_for_each
from webloom.domain.inventory import (
    SHELVES,
    FetchRequest,
    RecordFilter,
    RecordPage,
    Status,
    shelf_of,
)
from webloom.domain.listing import MOST_SCANNED, Count, counted_to
from webloom.domain.request_state import NotedRequest
from webloom.domain.search import NOTHING, Term, terms_of
from webloom.stores.cursors import cursor_of, values_of


class _Place(NamedTuple):
    """Where the next page starts: behind this record, in the order of creation."""

    created_at: int
    id: int


class _Part(NamedTuple):
    """A page's worth of the listing."""

    limit: int
    start: _Place | None = None  # None: it begins where the listing does
    oldest_first: bool = False


class SqliteRecordListing:
    """The port `RecordListing`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def page_of_records(
        self,
        chosen: RecordFilter,
        *,
        limit: int,
        cursor: str | None = None,
        oldest_first: bool = False,
        most_counted: int | None = None,
    ) -> RecordPage:
        start = None
        if cursor is not None:
            start = _Place(*values_of(cursor, int, int, oldest_first=oldest_first))
        part = _Part(limit, start, oldest_first)
        terms = terms_of(chosen.text or "")

        def query(connection: sqlite3.Connection) -> RecordPage:
            if NOTHING in terms:
                return RecordPage(records=[], next_cursor=None)
            if terms:
                places, following = _pick_by_words(connection, chosen, terms, part)
            else:
                places, following = _pick_by_index(connection, chosen, part)
            marks = ",".join("?" * len(places))
            rows = connection.execute(
                f"SELECT {RECORD_COLUMNS} FROM records WHERE id IN ({marks})",
                [place.id for place in places],
            )
            by_id = {row[0]: record_of(row) for row in rows}
            return RecordPage(
                records=[by_id[place.id] for place in places if place.id in by_id],
                next_cursor=None
                if following is None
                else cursor_of(*following, oldest_first=oldest_first),
            )

        return await self._db.scan(query)

    async def count_chosen(self, chosen: RecordFilter, *, most: int) -> Count:
        terms = terms_of(chosen.text or "")

        def query(connection: sqlite3.Connection) -> Count:
            if NOTHING in terms:
                return Count(0)
            expression = expression_in(connection, "record_words", terms)
            if expression.rest or (terms and replace(chosen, text=None) != RecordFilter()):
                first = _Part(MOST_SCANNED)
                found, following = _pick_by_words(connection, chosen, terms, first)
                return counted_to(most, len(found), is_all=following is None)
            rows = "record_words WHERE record_words MATCH :words" if terms else None
            since, until = _period(chosen)
            values = {
                "words": expression.text,
                "host": chosen.host,
                "status": chosen.status,
                "since": since,
                "until": until,
                "most": most + 1,
            }
            sources = [rows] if rows else [*_shelves(chosen)]
            each = (f"SELECT * FROM (SELECT 1 FROM {source} LIMIT :most)" for source in sources)
            [count] = connection.execute(
                f"SELECT count(*) FROM ({' UNION ALL '.join(each)})", values
            ).fetchone()
            return counted_to(most, count)

        return await self._db.scan(query)

    async def count_by_status(self) -> dict[Status, int]:
        return await self._db.scan(_counts)

    async def forgotten_requests(self, *, quiet_for: float, limit: int) -> list[NotedRequest]:
        before = self._db.now() - quiet_for
        columns = "url, request_id, background, token, touched"
        quiet = """
            request_id IS NOT NULL AND touched <= :before
            AND coalesce(lease, 0) <= :before AND coalesce(retry_due, 0) <= :before
        """

        def query(connection: sqlite3.Connection) -> list[NotedRequest]:
            rows = connection.execute(
                f"""
                SELECT {columns} FROM records WHERE shelf = 'OPEN' AND {quiet}
                UNION ALL
                SELECT {columns} FROM records WHERE background = 1 AND shelf <> 'OPEN' AND {quiet}
                ORDER BY touched LIMIT :limit
                """,
                {"before": before, "limit": limit},
            )
            return [
                NotedRequest(
                    FetchRequest(url=url, request_id=request_id, background=bool(background)), token
                )
                for url, request_id, background, token, _ in rows
            ]

        return await self._db.scan(query)


def _pick_by_index(
    connection: sqlite3.Connection, chosen: RecordFilter, part: _Part
) -> tuple[list[_Place], _Place | None]:
    """Every index ends in the order of creation, so each shelf gives its newest or oldest in that
    order; without a chosen status those of all shelves are merged."""
    since, until = _period(chosen)
    order, than, end = direction(oldest_first=part.oldest_first)
    limit, start = part.limit, part.start or _Place(end, end)
    host = "" if chosen.host is None else "AND host = :host"
    index = "records_by_shelf" if chosen.host is None else "records_by_host"
    status = "" if chosen.status is None else "AND status = :status"
    one_shelf = f"""
        SELECT * FROM (
            SELECT created_at, id FROM records INDEXED BY {index}
            WHERE shelf = '{{}}' {host} {status}
              AND created_at >= :first AND created_at <= :last
              AND (created_at, id) {than} (:created_at, :id)
            ORDER BY created_at {order}, id {order} LIMIT :limit)
    """
    shelves = SHELVES if chosen.status is None else (shelf_of(chosen.status),)
    rows = connection.execute(
        " UNION ALL ".join(one_shelf.format(shelf) for shelf in shelves)
        + f" ORDER BY created_at {order}, id {order} LIMIT :limit",
        {
            "host": chosen.host,
            "status": chosen.status,
            "first": max(since, start.created_at) if part.oldest_first else since,
            "last": until - 1 if part.oldest_first else min(until - 1, start.created_at),
            "created_at": start.created_at,
            "id": start.id,
            "limit": limit + 1,
        },
    ).fetchall()
    places = [_Place(*row) for row in rows[:limit]]
    return places, places[-1] if len(rows) > limit else None


def _pick_by_words(
    connection: sqlite3.Connection,
    chosen: RecordFilter,
    terms: list[Term],
    part: _Part,
) -> tuple[list[_Place], _Place | None]:
    since, until = _period(chosen)
    _, than, end = direction(oldest_first=part.oldest_first)
    expression = expression_in(connection, "record_words", terms)
    # Without other filters every match counts, so no more are needed than the page shows.
    alone = replace(chosen, text=None) == RecordFilter() and not expression.rest
    is_found, source = "true", "record_words WHERE record_words MATCH :words AND"
    if expression.rest:
        is_found = f"{look_for_each(connection, {'url': expression.rest})}(url)"
    if not expression.text:
        source = "records WHERE"
    ids, following = scan(
        connection,
        place="rowid",
        source=f"{source} rowid {than} :start",
        joined="records ON records.id = scanned.at",
        accepts=f"""{is_found} AND created_at >= :since AND created_at < :until
            AND (:status IS NULL OR status = :status) AND (:host IS NULL OR host = :host)""",
        values={
            "words": expression.text,
            "start": end if part.start is None else part.start.id,
            "since": since,
            "until": until,
            "status": chosen.status,
            "host": chosen.host,
        },
        limit=part.limit,
        most=part.limit + 1 if alone else MOST_SCANNED,
        oldest_first=part.oldest_first,
    )
    return [_Place(0, each) for each in ids], None if following is None else _Place(0, following)


def _shelves(chosen: RecordFilter) -> Iterator[str]:
    """A final status is known to the index."""
    host = "" if chosen.host is None else "AND host = :host"
    index = "records_by_shelf" if chosen.host is None else "records_by_host"
    is_open = chosen.status is not None and not chosen.status.is_final
    status = "AND status = :status" if is_open else ""
    for shelf in SHELVES if chosen.status is None else (shelf_of(chosen.status),):
        yield (
            f"records INDEXED BY {index} WHERE shelf = '{shelf}' {host} {status} "
            "AND created_at >= :since AND created_at < :until"
        )


def _period(chosen: RecordFilter) -> tuple[int, int]:
    since = FIRST if chosen.created_from is None else milliseconds(chosen.created_from)
    until = LAST if chosen.created_to is None else milliseconds(chosen.created_to)
    return since, until


def _counts(connection: sqlite3.Connection) -> dict[Status, int]:
    rows = connection.execute(
        """
        SELECT shelf, count(*) FROM records WHERE shelf <> 'OPEN' GROUP BY shelf
        UNION ALL
        SELECT status, count(*) FROM records WHERE shelf = 'OPEN' GROUP BY status
        """
    )
    return dict.fromkeys(Status, 0) | {Status(status): count for status, count in rows}
