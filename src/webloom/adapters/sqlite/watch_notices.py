"""Rows of `notices`: what is to be told, and what was."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from webloom.adapters.sqlite.batches import plain
from webloom.adapters.sqlite.page_cursors import cursor_of, values_of
from webloom.adapters.sqlite.values import encoded, instant, milliseconds
from webloom.ports.watch_store import DueTarget, Notice

NOTICE_COLUMNS = (
    "notice_id, watch_id, target_url, run_id, due_at, lines, attempts, error, sent_at, given_up, "
    "batch"
)
_OPEN = "sent_at IS NULL AND given_up = 0"
_LAST = (1 << 63) - 1

_lines = msgspec.json.Decoder(list[str])


def notice_of(row: Sequence[Any]) -> Notice:
    """Of NOTICE_COLUMNS."""
    return Notice(
        notice_id=row[0],
        watch_id=row[1],
        target_url=row[2],
        run_id=row[3],
        due_at=instant(row[4]),
        lines=_lines.decode(row[5]),
        attempts=row[6],
        error=row[7],
        sent_at=instant(row[8]),
        given_up=bool(row[9]),
        batch=row[10],
    )


def add(connection: sqlite3.Connection, notices: Sequence[Notice]) -> None:
    connection.executemany(
        f"""
        INSERT INTO notices ({NOTICE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (notice_id) DO NOTHING
        """,
        [
            (
                plain(each.notice_id),
                plain(each.watch_id),
                plain(each.target_url),
                plain(each.run_id),
                milliseconds(each.due_at),
                encoded(each.lines),
                each.attempts,
                each.error and plain(each.error),
                milliseconds(each.sent_at),
                each.given_up,
                each.batch and plain(each.batch),
            )
            for each in notices
        ],
    )


def due_targets(connection: sqlite3.Connection, now: datetime, limit: int) -> list[DueTarget]:
    rows = connection.execute(
        f"""
        SELECT target_url, max(attempts) FROM notices WHERE {_OPEN}
        GROUP BY target_url HAVING min(due_at) <= ? ORDER BY min(due_at), min(id) LIMIT ?
        """,
        (milliseconds(now), limit),
    )
    return [DueTarget(url=url, has_failed=attempts > 0) for url, attempts in rows]


def due(
    connection: sqlite3.Connection, now: datetime, limit: int, target_url: str | None
) -> list[Notice]:
    of_target = "" if target_url is None else "AND target_url = ?"
    rows = connection.execute(
        f"SELECT {NOTICE_COLUMNS} FROM notices WHERE {_OPEN} AND due_at <= ? {of_target} "
        "ORDER BY due_at, id LIMIT ?",
        (milliseconds(now), *([] if target_url is None else [plain(target_url)]), limit),
    )
    return [notice_of(row) for row in rows]


def note_sent(
    connection: sqlite3.Connection, notice_ids: Sequence[str], at: datetime, expire_at: int
) -> None:
    connection.executemany(
        f"""
        UPDATE notices SET sent_at = ?, attempts = attempts + 1, error = NULL, expire_at = ?
        WHERE notice_id = ? AND {_OPEN}
        """,
        [(milliseconds(at), expire_at, plain(each)) for each in notice_ids],
    )


def note_unsent(
    connection: sqlite3.Connection,
    notice_ids: Sequence[str],
    error: str,
    due_at: datetime | None,
    expire_at: int,
) -> None:
    is_last = due_at is None
    connection.executemany(
        f"""
        UPDATE notices SET attempts = attempts + 1, error = ?, due_at = coalesce(?, due_at),
            given_up = ?, expire_at = ?
        WHERE notice_id = ? AND {_OPEN}
        """,
        [
            (
                plain(error),
                milliseconds(due_at),
                is_last,
                expire_at if is_last else None,
                plain(each),
            )
            for each in notice_ids
        ],
    )


def listed(
    watch_id: str, limit: int, cursor: str | None
) -> Callable[[sqlite3.Connection], tuple[list[Notice], str | None]]:
    behind = _LAST if cursor is None else values_of(cursor, int)[0]

    def query(connection: sqlite3.Connection) -> tuple[list[Notice], str | None]:
        rows = connection.execute(
            f"""
            SELECT {NOTICE_COLUMNS}, id FROM notices WHERE watch_id = ? AND id < ?
            ORDER BY id DESC LIMIT ?
            """,
            (plain(watch_id), behind, limit + 1),
        ).fetchall()
        found = [notice_of(row) for row in rows[:limit]]
        return found, cursor_of(rows[limit - 1][-1]) if len(rows) > limit else None

    return query
