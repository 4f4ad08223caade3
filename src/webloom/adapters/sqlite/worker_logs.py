"""Rows of `worker_logs`. Ids grow."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from webloom.adapters.sqlite.batches import plain
from webloom.adapters.sqlite.database import Database, Operation
from webloom.adapters.sqlite.index_scan import conditions
from webloom.adapters.sqlite.values import Columns, columns_of, milliseconds
from webloom.domain.retention import Retention
from webloom.domain.worker_log import MOST_STORED, LogEntry
from webloom.ports.worker_logs import LogFilter
from webloom.stores.cursors import page_of, values_of

_LAST = (1 << 63) - 1
_ENTRY = Columns(LogEntry)
_NAMES = ", ".join(_ENTRY.names)


class SqliteWorkerLogs:
    def __init__(self, database: Database, *, retention: Retention) -> None:
        self._db = database
        self._keep_ms = timedelta(days=retention.worker_logs) // timedelta(milliseconds=1)
        self._adding = Operation(run=self._add, durable=False)

    async def add(self, entries: Sequence[LogEntry]) -> None:
        await self._db.check_room()
        await self._db.write(self._adding, entries)

    def _add(self, connection: sqlite3.Connection, batches: list[Sequence[LogEntry]]) -> list[None]:
        connection.executemany(
            f"INSERT INTO worker_logs ({_NAMES}) VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(*columns_of(entry).values(),) for entries in batches for entry in entries],
        )
        connection.execute(
            "DELETE FROM worker_logs WHERE id <= (SELECT max(id) FROM worker_logs) - ?",
            (MOST_STORED,),
        )
        connection.execute("DELETE FROM worker_logs WHERE at <= ?", (self._oldest(),))
        return [None] * len(batches)

    async def entries(
        self, chosen: LogFilter, *, limit: int, cursor: str | None = None
    ) -> tuple[list[LogEntry], str | None]:
        behind = (_LAST, _LAST) if cursor is None else values_of(cursor, int, int)
        since = 0 if chosen.since is None else milliseconds(chosen.since)
        levels = [each.value for each in chosen.level.and_above]
        values = {"role": chosen.role and plain(chosen.role)}
        wanted = conditions(values, role="role = :role")

        def query(connection: sqlite3.Connection) -> list[Any]:
            return connection.execute(
                f"""
                SELECT {_NAMES}, id FROM worker_logs
                WHERE at >= :since AND at <= :at AND (at, id) < (:at, :id) AND {wanted}
                AND level IN ({", ".join(f"'{each}'" for each in levels)})
                ORDER BY at DESC, id DESC LIMIT :limit
                """,
                values
                | {
                    "at": behind[0],
                    "id": behind[1],
                    "since": max(since, self._oldest() + 1),
                    "limit": limit + 1,
                },
            ).fetchall()

        shown, following = page_of(await self._db.scan(query), limit, lambda row: (row[0], row[-1]))
        return [_ENTRY.decode(row) for row in shown], following

    def _oldest(self) -> int:
        return self._db.wall_ms() - self._keep_ms
