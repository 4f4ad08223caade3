"""Pages of records, the newest first; counts; requests that nothing happens to."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from webloom.adapters.sqlite.index_scan import scan
from webloom.adapters.sqlite.record_codec import RECORD_COLUMNS, record_of
from webloom.adapters.sqlite.values import milliseconds
from webloom.adapters.sqlite.words import phrase_of
from webloom.domain.inventory import (
    SHELVES,
    FetchRequest,
    RecordFilter,
    RecordPage,
    Status,
    shelf_of,
)
from webloom.domain.request_state import NotedRequest
from webloom.stores.cursors import cursor_of, values_of

MOST_SCANNED = 1000  # matches of a text looked at for one page


class _Place(NamedTuple):
    """Where the next page starts: behind this record, in the order of creation."""

    created_at: int
    id: int


_NEWEST = _Place(1 << 62, 1 << 62)


def records_page(
    chosen: RecordFilter, limit: int, cursor: str | None
) -> Callable[[sqlite3.Connection], RecordPage]:
    start = _NEWEST if cursor is None else _Place(*values_of(cursor, int, int))
    pick = _pick_by_index if chosen.text is None else _pick_by_words

    def query(connection: sqlite3.Connection) -> RecordPage:
        places, following = pick(connection, chosen, limit, start)
        marks = ",".join("?" * len(places))
        rows = connection.execute(
            f"SELECT {RECORD_COLUMNS} FROM records WHERE id IN ({marks})",
            [place.id for place in places],
        )
        by_id = {row[0]: record_of(row) for row in rows}
        return RecordPage(
            records=[by_id[place.id] for place in places if place.id in by_id],
            next_cursor=None if following is None else cursor_of(*following),
        )

    return query


def _pick_by_index(
    connection: sqlite3.Connection, chosen: RecordFilter, limit: int, start: _Place
) -> tuple[list[_Place], _Place | None]:
    """Every index ends in the order of creation, so each shelf gives its newest in that order;
    without a chosen status the newest of all shelves are merged."""
    since, until = _period(chosen)
    start = min(start, _Place(until, 0))
    host = "" if chosen.host is None else "AND host = :host"
    index = "records_by_shelf" if chosen.host is None else "records_by_host"
    status = "" if chosen.status is None else "AND status = :status"
    one_shelf = f"""
        SELECT * FROM (
            SELECT created_at, id FROM records INDEXED BY {index}
            WHERE shelf = '{{}}' {host} {status} AND created_at >= :since
              AND (created_at, id) < (:created_at, :id)
            ORDER BY created_at DESC, id DESC LIMIT :limit)
    """
    shelves = SHELVES if chosen.status is None else (shelf_of(chosen.status),)
    rows = connection.execute(
        " UNION ALL ".join(one_shelf.format(shelf) for shelf in shelves)
        + " ORDER BY created_at DESC, id DESC LIMIT :limit",
        {
            "host": chosen.host,
            "status": chosen.status,
            "since": since,
            "created_at": start.created_at,
            "id": start.id,
            "limit": limit + 1,
        },
    ).fetchall()
    places = [_Place(*row) for row in rows[:limit]]
    return places, places[-1] if len(rows) > limit else None


def _pick_by_words(
    connection: sqlite3.Connection, chosen: RecordFilter, limit: int, start: _Place
) -> tuple[list[_Place], _Place | None]:
    since, until = _period(chosen)
    # Without other filters every match counts, so no more are needed than the page shows.
    alone = replace(chosen, text=None) == RecordFilter()
    ids, following = scan(
        connection,
        place="rowid",
        source="record_words WHERE record_words MATCH :phrase AND rowid < :start",
        joined="records ON records.id = scanned.at",
        accepts="""created_at >= :since AND created_at < :until
            AND (:status IS NULL OR status = :status) AND (:host IS NULL OR host = :host)""",
        values={
            "phrase": phrase_of(chosen.text or ""),
            "start": start.id,
            "since": since,
            "until": until,
            "status": chosen.status,
            "host": chosen.host,
        },
        limit=limit,
        most=limit + 1 if alone else MOST_SCANNED,
    )
    return [_Place(0, each) for each in ids], None if following is None else _Place(0, following)


def _period(chosen: RecordFilter) -> tuple[int, int]:
    since = 0 if chosen.created_from is None else milliseconds(chosen.created_from)
    until = _NEWEST.created_at if chosen.created_to is None else milliseconds(chosen.created_to)
    return since, until


def counts(connection: sqlite3.Connection) -> dict[Status, int]:
    rows = connection.execute(
        """
        SELECT shelf, count(*) FROM records WHERE shelf <> 'OPEN' GROUP BY shelf
        UNION ALL
        SELECT status, count(*) FROM records WHERE shelf = 'OPEN' GROUP BY status
        """
    )
    return dict.fromkeys(Status, 0) | {Status(status): count for status, count in rows}


def quiet_requests(before: float, limit: int) -> Callable[[sqlite3.Connection], list[NotedRequest]]:
    """Requests that nothing has happened to since `before`, on the timeline."""
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

    return query
