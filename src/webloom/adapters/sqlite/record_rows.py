"""Rows of `records` as values, and the pages of a listing."""

from __future__ import annotations

import base64
import hashlib
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import msgspec

from webloom.adapters.sqlite.batches import as_json, plain, select_all
from webloom.adapters.sqlite.page_sources import LONGEST_HEAD, decompress, size_of
from webloom.domain.errors import BadCursor
from webloom.domain.inventory import (
    Metadata,
    Processing,
    Record,
    RecordFilter,
    RecordPage,
    RequestState,
    Status,
)
from webloom.ports.inventory_store import LargeSource

RECORD_COLUMNS = (
    "id, url, status, status_code, headers, cookies, final_url, retry_count, attempt_number, "
    "error_message, last_attempt_at, coalesce(request_id, last_request_id), details, "
    "created_at, updated_at"
)
STATE_COLUMNS = (
    "status, token, request_id, background, last_request_id, attempt_number, retry_count, "
    "lease, retry_due"
)
OPEN = "OPEN"
SHELVES = (Status.COMPLETED.value, Status.FAILED_PERMANENT.value, OPEN)
MOST_WORDS_SCANNED = 1000  # matches of a text looked at for one page

_texts = msgspec.json.Decoder(dict[str, str])
_anything = msgspec.json.Decoder(dict[str, Any])


def url_key(url: str) -> str:
    return hashlib.blake2b(url.encode(), digest_size=16).hexdigest()


def shelf_of(status: Status) -> str:
    return status.value if status.is_final else OPEN


def state_of(row: Sequence[Any], now: float) -> RequestState:
    lease, retry_due = row[7], row[8]
    return RequestState(
        status=Status(row[0]),
        token=row[1],
        request_id=row[2],
        background=bool(row[3]),
        last_request_id=row[4],
        attempt_number=row[5],
        retry_count=row[6],
        in_progress_for=None if lease is None else lease - now,
        waits_for=None if retry_due is None else retry_due - now,
    )


def record_of(row: Sequence[Any], source: str | None = None) -> Record:
    return Record(
        url=row[1],
        status=Status(row[2]),
        metadata=Metadata(
            status_code=row[3],
            headers=row[4] and _texts.decode(row[4]),
            cookies=row[5] and _texts.decode(row[5]),
            page_source=source,
            final_url=row[6],
        ),
        processing=Processing(
            retry_count=row[7],
            attempt_number=row[8],
            error_message=row[9],
            last_attempt_at=None if row[10] is None else _instant(row[10]),
            last_request_id=row[11],
        ),
        additional_details=row[12] and _anything.decode(row[12]),
        created_at=_instant(row[13]),
        updated_at=_instant(row[14]),
    )


def find_records(
    connection: sqlite3.Connection, items: list[tuple[str, int | None]]
) -> list[Record | LargeSource | None]:
    """Records by URL key, each with its page source if that is wanted, up to so many bytes."""
    rows = select_all(
        connection,
        f"url_key, {RECORD_COLUMNS}",
        "records WHERE url_key IN (SELECT value FROM json_each(:keys))",
        keys=as_json([key for key, _ in items]),
    )
    by_key = {row[0]: row[1:] for row in rows}
    found: list[Record | LargeSource | None] = []
    for key, most in items:
        row = by_key.get(key)
        if row is None:
            found.append(None)
            continue
        source = None if most is None else _source(connection, row[0], most)
        if isinstance(source, int):
            found.append(LargeSource(record=record_of(row), size=source))
        else:
            found.append(record_of(row, source))
    return found


def _source(connection: sqlite3.Connection, record_id: int, most: int) -> str | int | None:
    """Its size, of a source that has more bytes."""
    row = connection.execute(
        "SELECT CASE WHEN length(source) <= ?1 THEN source ELSE substr(source, 1, ?2) END "
        "FROM page_sources WHERE record_id = ?3",
        (most, LONGEST_HEAD, record_id),
    ).fetchone()
    if row is None:
        return None
    size = size_of(row[0])
    return decompress(row[0]) if size <= most else size


def _instant(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


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
