"""Rows of `notices`."""

from __future__ import annotations

import sqlite3
from datetime import datetime, timedelta
from typing import Any

import msgspec

from webloom.adapters.sqlite.batches import plain
from webloom.adapters.sqlite.database import Database
from webloom.adapters.sqlite.primitives import Row, SqliteDocuments, Table
from webloom.adapters.sqlite.values import encoded, instant, milliseconds
from webloom.domain.notification import Notification
from webloom.domain.retention import Retention
from webloom.ports.notifications import DueTarget
from webloom.stores.cursors import cursor_of, values_of
from webloom.stores.notifications import StoredNotifications

_PENDING = "sent_at IS NULL AND given_up = 0"
_LAST = (1 << 63) - 1

_lines = msgspec.json.Decoder(list[str])


def notification_of(row: Row) -> Notification:
    return Notification(
        notification_id=row[0],
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
        expires_at=instant(row[11]),
    )


def _encode(notification: Notification) -> dict[str, Any]:
    return {
        "watch_id": plain(notification.watch_id),
        "target_url": plain(notification.target_url),
        "run_id": plain(notification.run_id),
        "due_at": milliseconds(notification.due_at),
        "lines": encoded(notification.lines),
        "attempts": notification.attempts,
        "error": notification.error and plain(notification.error),
        "sent_at": milliseconds(notification.sent_at),
        "given_up": notification.given_up,
        "batch": notification.batch and plain(notification.batch),
        "expire_at": milliseconds(notification.expires_at),
    }


NOTIFICATIONS = Table(
    "notices",
    key="notice_id",
    columns=(
        *("watch_id", "target_url", "run_id", "due_at", "lines", "attempts", "error", "sent_at"),
        *("given_up", "batch", "expire_at"),
    ),
    decode=notification_of,
    encode=_encode,
)


class SqliteNotifications(StoredNotifications):
    def __init__(self, database: Database, *, retention: Retention) -> None:
        keep = timedelta(days=retention.job_runs)
        super().__init__(SqliteDocuments(database, NOTIFICATIONS), keep=keep)
        self._db = database

    async def due_targets(self, now: datetime, *, limit: int) -> list[DueTarget]:
        def query(connection: sqlite3.Connection) -> list[DueTarget]:
            rows = connection.execute(
                f"""
                SELECT target_url, max(attempts) FROM notices WHERE {_PENDING}
                GROUP BY target_url HAVING min(due_at) <= ? ORDER BY min(due_at), min(id) LIMIT ?
                """,
                (milliseconds(now), limit),
            )
            return [DueTarget(url=url, has_failed=attempts > 0) for url, attempts in rows]

        return await self._db.read(query)

    async def due(
        self, now: datetime, *, limit: int, target_url: str | None = None
    ) -> list[Notification]:
        of_target = "" if target_url is None else "AND target_url = ?"
        statement = (
            f"SELECT {NOTIFICATIONS.columns} FROM notices WHERE {_PENDING} AND due_at <= ? "
            f"{of_target} ORDER BY due_at, id LIMIT ?"
        )
        target = [] if target_url is None else [plain(target_url)]
        values = (milliseconds(now), *target, limit)
        return await self._db.read(
            lambda connection: [
                notification_of(row) for row in connection.execute(statement, values)
            ]
        )

    async def of_watch(
        self, watch_id: str, *, limit: int, cursor: str | None = None
    ) -> tuple[list[Notification], str | None]:
        behind = _LAST if cursor is None else values_of(cursor, int)[0]

        def query(connection: sqlite3.Connection) -> tuple[list[Notification], str | None]:
            rows = connection.execute(
                f"""
                SELECT {NOTIFICATIONS.columns}, id FROM notices WHERE watch_id = ? AND id < ?
                ORDER BY id DESC LIMIT ?
                """,
                (plain(watch_id), behind, limit + 1),
            ).fetchall()
            found = [notification_of(row) for row in rows[:limit]]
            return found, cursor_of(rows[limit - 1][-1]) if len(rows) > limit else None

        return await self._db.read(query)
