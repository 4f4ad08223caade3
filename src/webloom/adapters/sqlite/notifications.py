"""Rows of `notices`."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from webloom.adapters.sqlite.batches import plain
from webloom.adapters.sqlite.database import Database
from webloom.adapters.sqlite.primitives import SqliteDocuments, Table
from webloom.adapters.sqlite.values import Columns, milliseconds
from webloom.domain.notification import Notification
from webloom.domain.retention import Retention
from webloom.ports.notifications import DueTarget
from webloom.stores.cursors import page_of, values_of
from webloom.stores.notifications import StoredNotifications

_PENDING = "sent_at IS NULL AND given_up = 0"
_FAILED = "sent_at IS NULL AND attempts > 0"
_LAST = (1 << 63) - 1
_COLUMNS = Columns(Notification, notification_id="notice_id", expires_at="expire_at")
notification_of = _COLUMNS.decode

NOTIFICATIONS = Table(
    "notices",
    key="notice_id",
    columns=_COLUMNS.names[1:],
    decode=notification_of,
    encode=_COLUMNS.encode,
)


class SqliteNotifications(StoredNotifications):
    def __init__(self, database: Database, *, retention: Retention) -> None:
        super().__init__(SqliteDocuments(database, NOTIFICATIONS), keep=retention.kept_runs)
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

    async def failing(self, *, limit: int) -> list[Notification]:
        def query(connection: sqlite3.Connection) -> list[Notification]:
            rows = connection.execute(
                f"""
                WITH tried AS (
                    SELECT target_url AS url, max(id) AS latest FROM notices
                    WHERE {_FAILED} GROUP BY target_url
                )
                SELECT {NOTIFICATIONS.columns} FROM tried JOIN notices ON id = latest
                WHERE NOT EXISTS (
                    SELECT 1 FROM notices AS later WHERE later.target_url = url
                    AND later.id > latest AND later.sent_at IS NOT NULL
                )
                AND (expire_at IS NULL OR expire_at > ?) ORDER BY url LIMIT ?
                """,
                (self._db.wall_ms(), limit),
            )
            return [notification_of(row) for row in rows]

        return await self._db.read(query)

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
            shown, following = page_of(rows, limit, lambda row: row[-1:])
            return [notification_of(row) for row in shown], following

        return await self._db.read(query)
