"""Pages of records, the newest first; counts; requests that nothing happens to."""

from __future__ import annotations

import base64
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace

import msgspec

from webloom.adapters.sqlite.batches import plain
from webloom.adapters.sqlite.record_codec import RECORD_COLUMNS, record_of
from webloom.domain.errors import BadCursor
from webloom.domain.inventory import (
    SHELVES,
    FetchRequest,
    RecordFilter,
    RecordPage,
    Status,
    shelf_of,
)
from webloom.domain.request_state import NotedRequest

MOST_WORDS_SCANNED = 1000  # matches of a text looked at for one page


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the next page starts: behind this record, in the order of creation."""

    created_at: int
    id: int

    def cursor(self) -> str:
        raw = f"{self.created_at:x}.{self.id:x}".encode()
        return base64.urlsafe_b64encode(raw).decode().rstrip("=")

    @classmethod
    def parse(cls, cursor: str) -> _Place:
        try:
            raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
            created_at, record_id = (int(part, 16) for part in raw.split("."))
        except ValueError as error:
            raise BadCursor(f"{cursor!r} is not a cursor of this listing") from error
        if not (0 <= created_at < 1 << 62 and 0 <= record_id < 1 << 62):
            raise BadCursor(f"{cursor!r} is not a cursor of this listing")
        return cls(created_at, record_id)


_NEWEST = _Place(1 << 62, 1 << 62)


def records_page(
    chosen: RecordFilter, limit: int, cursor: str | None
) -> Callable[[sqlite3.Connection], RecordPage]:
    start = _NEWEST if cursor is None else _Place.parse(cursor)
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
            next_cursor=None if following is None else following.cursor(),
        )

    return query


def _pick_by_index(
    connection: sqlite3.Connection, chosen: RecordFilter, limit: int, start: _Place
) -> tuple[list[_Place], _Place | None]:
    """Every index ends in the order of creation, so each shelf gives its newest in that order;
    without a chosen status the newest of all shelves are merged."""
    since, until = _period(chosen)
    start = min(start, _Place(until, 0), key=lambda place: (place.created_at, place.id))
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
    text = plain(chosen.text or "")
    phrase = '"' + text.rstrip("* ").replace('"', '""') + '"'
    if text.endswith("*"):
        phrase += " *"
    # Without other filters every match counts, so no more are needed than the page shows.
    alone = replace(chosen, text=None) == RecordFilter()
    most = limit + 1 if alone else MOST_WORDS_SCANNED
    scanned, oldest, found = connection.execute(
        """
        WITH found AS (SELECT rowid FROM record_words
                       WHERE record_words MATCH :phrase AND rowid < :start
                       ORDER BY rowid DESC LIMIT :most)
        SELECT count(*), min(id), json_group_array(json_array(created_at, id)) FILTER (
            WHERE created_at >= :since AND created_at < :until
              AND (:status IS NULL OR status = :status) AND (:host IS NULL OR host = :host))
        FROM found JOIN records ON records.id = found.rowid
        """,
        {
            "phrase": phrase,
            "start": start.id,
            "most": most,
            "since": since,
            "until": until,
            "status": chosen.status,
            "host": chosen.host,
        },
    ).fetchone()
    places = [_Place(*place) for place in msgspec.json.decode(found)]
    places.sort(key=lambda place: place.id, reverse=True)
    if len(places) > limit:
        return places[:limit], places[limit - 1]
    return places, _Place(0, oldest) if scanned == most else None


def _period(chosen: RecordFilter) -> tuple[int, int]:
    since = 0 if chosen.created_from is None else int(chosen.created_from.timestamp() * 1000)
    until = 1 << 62 if chosen.created_to is None else int(chosen.created_to.timestamp() * 1000)
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
