"""Rows of `records` as values."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec

from webloom.adapters.sqlite.batches import as_json, select_all
from webloom.adapters.sqlite.page_sources import LONGEST_HEAD, decompress, size_of
from webloom.adapters.sqlite.values import Columns, instant
from webloom.domain.inventory import (
    LargeSource,
    Metadata,
    Processing,
    Record,
    Status,
)
from webloom.domain.request_state import RequestState

METADATA_COLUMNS = Columns(Metadata, without=("page_source",))
RECORD_COLUMNS = (
    "id, url, status, retry_count, attempt_number, error_message, last_attempt_at, "
    "coalesce(request_id, last_request_id), details, created_at, updated_at, "
    + ", ".join(METADATA_COLUMNS.names)
)
STATE_COLUMNS = (
    "status, token, request_id, background, last_request_id, attempt_number, retry_count, "
    "lease, retry_due, error_message"
)
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
        metadata=METADATA_COLUMNS.decode(row[11:], page_source=source),
        processing=Processing(
            retry_count=row[3],
            attempt_number=row[4],
            error_message=row[5],
            last_attempt_at=instant(row[6]),
            last_request_id=row[7],
        ),
        additional_details=row[8] and _anything.decode(row[8]),
        created_at=instant(row[9]),
        updated_at=instant(row[10]),
    )


def find_records(
    connection: sqlite3.Connection, items: list[tuple[str, int]]
) -> list[Record | None]:
    """Records by URL key, each with its page source up to so many bytes."""
    rows = select_all(
        connection,
        f"{RECORD_COLUMNS}, url_key",
        "records WHERE url_key IN (SELECT value FROM json_each(:keys))",
        keys=as_json([key for key, _ in items]),
    )
    by_key = {row[-1]: row for row in rows}
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
