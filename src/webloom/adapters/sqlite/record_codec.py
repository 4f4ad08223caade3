"""Rows of `records` as values."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec

from webloom.adapters.sqlite.batches import as_json, select_all
from webloom.adapters.sqlite.page_sources import LONGEST_HEAD, decompress, size_of
from webloom.adapters.sqlite.values import instant
from webloom.domain.inventory import (
    LargeSource,
    Metadata,
    Processing,
    Record,
    Status,
)
from webloom.domain.request_state import RequestState

RECORD_COLUMNS = (
    "id, url, status, status_code, headers, cookies, final_url, retry_count, attempt_number, "
    "error_message, last_attempt_at, coalesce(request_id, last_request_id), details, "
    "created_at, updated_at"
)
STATE_COLUMNS = (
    "status, token, request_id, background, last_request_id, attempt_number, retry_count, "
    "lease, retry_due, error_message"
)
_texts = msgspec.json.Decoder(dict[str, str])
_anything = msgspec.json.Decoder(dict[str, Any])


def state_of(row: Sequence[Any], now: float) -> RequestState:
    """Of the STATE_COLUMNS."""
    status, token, request_id, background, *others = row
    state = RequestState(Status(status), token, request_id, bool(background), *others)
    return state._replace(as_of=now)


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
            last_attempt_at=instant(row[10]),
            last_request_id=row[11],
        ),
        additional_details=row[12] and _anything.decode(row[12]),
        created_at=instant(row[13]),
        updated_at=instant(row[14]),
    )


def find_records(
    connection: sqlite3.Connection, items: list[tuple[str, int]]
) -> list[Record | None]:
    """Records by URL key, each with its page source up to so many bytes."""
    rows = select_all(
        connection,
        f"url_key, {RECORD_COLUMNS}",
        "records WHERE url_key IN (SELECT value FROM json_each(:keys))",
        keys=as_json([key for key, _ in items]),
    )
    by_key = {row[0]: row[1:] for row in rows}
    found: list[Record | None] = []
    for key, most in items:
        row = by_key.get(key)
        if row is None:
            found.append(None)
            continue
        source = _source(connection, row[0], most) if most else None
        if isinstance(source, int):
            found.append(LargeSource.of(record_of(row), source))
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
