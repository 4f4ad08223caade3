"""Watches: their queries."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from datetime import datetime

from webloom.adapters.sqlite.batches import as_json, for_each, plain
from webloom.adapters.sqlite.database import Database, Operation
from webloom.adapters.sqlite.page_codec import forget_validators
from webloom.adapters.sqlite.primitives import SqliteDocuments, SqlitePairs
from webloom.adapters.sqlite.sorted_list import SortedList
from webloom.adapters.sqlite.values import milliseconds
from webloom.adapters.sqlite.watch_codec import WATCHES, watch_of
from webloom.adapters.sqlite.watch_run_codec import COUNTED_RUNS
from webloom.domain.retention import Retention
from webloom.domain.watch import Watch
from webloom.ports.watches import WatchCounts
from webloom.stores.watches import StoredWatches


class SqliteWatches(StoredWatches):
    def __init__(self, database: Database, *, retention: Retention) -> None:
        super().__init__(
            SqliteDocuments(database, WATCHES),
            SqlitePairs(database, WATCHES, COUNTED_RUNS),
            SortedList(database, WATCHES, paused="is_external = 0"),
            keep=retention.kept_runs,
        )
        self._db = database
        self._forgetting = Operation(run=for_each(self._forget))

    async def forget_validators(self, watch_id: str) -> None:
        await self._db.write(self._forgetting, watch_id)

    def _forget(self, connection: sqlite3.Connection, watch_id: str) -> None:
        forget_validators(connection, watch_id, self._db.wall_ms())

    async def due_watches(self, now: datetime, *, limit: int) -> list[Watch]:
        # By the row and not by the id: 100,000 that are due at one moment are not sorted then.
        where = "next_run_at <= ? AND active_run_id IS NULL ORDER BY next_run_at, rowid LIMIT ?"
        return await self._find(where, milliseconds(now), limit)

    async def _find(self, where: str, *values: object) -> list[Watch]:
        query = f"SELECT {WATCHES.columns} FROM watches WHERE {where}"
        return await self._db.read(
            lambda connection: [watch_of(row) for row in connection.execute(query, values)]
        )

    async def names(self, watch_ids: Collection[str]) -> dict[str, str]:
        given = as_json([plain(each) for each in watch_ids])
        query = (
            "SELECT watch_id, name FROM watches WHERE watch_id IN (SELECT value FROM json_each(?))"
        )
        return await self._db.read(lambda connection: dict(connection.execute(query, (given,))))

    async def count_watches(self) -> WatchCounts:
        return await self._db.read(_counted)


def _counted(connection: sqlite3.Connection) -> WatchCounts:
    row: Sequence[int | None] = connection.execute(
        """
        SELECT count(*), sum(enabled), sum(active_run_id IS NOT NULL), sum(failures > 0)
        FROM watches INDEXED BY watches_counted
        """
    ).fetchone()
    every, enabled, checking, failing = (each or 0 for each in row)
    return WatchCounts(all=every, enabled=enabled, checking=checking, failing=failing)
