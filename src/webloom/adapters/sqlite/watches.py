"""Rows of `watches`. The configuration is one JSON object."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from webloom.adapters.sqlite.batches import plain
from webloom.adapters.sqlite.database import Database, Operation
from webloom.adapters.sqlite.page_codec import forget_validators
from webloom.adapters.sqlite.primitives import Row, SqliteDocuments, SqlitePairs, Table
from webloom.adapters.sqlite.values import encoded, instant, milliseconds
from webloom.adapters.sqlite.watch_run_codec import COUNTED_RUNS
from webloom.domain.retention import Retention
from webloom.domain.watch import Metrics, RunStatus, Watch, WatchConfig
from webloom.ports.watches import WatchCounts
from webloom.stores.cursors import cursor_of, values_of
from webloom.stores.watches import StoredWatches

_configs = msgspec.json.Decoder(WatchConfig)


def watch_of(row: Row) -> Watch:
    return Watch(
        watch_id=row[0],
        config=_configs.decode(row[1]),
        created_at=instant(row[2]),
        updated_at=instant(row[3]),
        next_run_at=instant(row[4]),
        active_run_id=row[5],
        last_run_id=row[6],
        last_status=None if row[7] is None else RunStatus(row[7]),
        last_run_at=instant(row[8]),
        failures=row[9],
        is_external=bool(row[10]),
        metrics=Metrics(pages_processed=row[11], changes=row[12], price_changes=row[13]),
    )


def _encode(watch: Watch) -> dict[str, Any]:
    return {
        "name": plain(watch.config.name),
        "config": encoded(watch.config),
        "created_at": milliseconds(watch.created_at),
        "updated_at": milliseconds(watch.updated_at),
        "next_run_at": milliseconds(watch.next_run_at),
        "active_run_id": watch.active_run_id and plain(watch.active_run_id),
        "last_run_id": watch.last_run_id and plain(watch.last_run_id),
        "last_status": watch.last_status,
        "last_run_at": milliseconds(watch.last_run_at),
        "failures": watch.failures,
        "is_external": watch.is_external,
        "pages_processed": watch.metrics.pages_processed,
        "changes_detected": watch.metrics.changes,
        "price_changes_detected": watch.metrics.price_changes,
    }


WATCHES = Table(
    "watches",
    key="watch_id",
    columns=(
        *("config", "created_at", "updated_at", "next_run_at", "active_run_id", "last_run_id"),
        *("last_status", "last_run_at", "failures", "is_external", "pages_processed"),
        *("changes_detected", "price_changes_detected", "name"),
    ),
    decode=watch_of,
    encode=_encode,
)


class SqliteWatches(StoredWatches):
    def __init__(self, database: Database, *, retention: Retention) -> None:
        keep = timedelta(days=retention.job_runs)
        super().__init__(
            SqliteDocuments(database, WATCHES),
            SqlitePairs(database, WATCHES, COUNTED_RUNS),
            keep=keep,
        )
        self._db = database
        self._forgetting = Operation(run=self._forget)

    async def forget_validators(self, watch_id: str) -> None:
        await self._db.write(self._forgetting, watch_id)

    def _forget(self, connection: sqlite3.Connection, watch_ids: list[str]) -> list[None]:
        for watch_id in watch_ids:
            forget_validators(connection, watch_id, self._db.wall_ms())
        return [None] * len(watch_ids)

    async def watches(
        self, *, limit: int, cursor: str | None = None
    ) -> tuple[list[Watch], str | None]:
        behind = ("", "") if cursor is None else values_of(cursor, str, str)
        where = "(name, watch_id) > (?, ?) ORDER BY name, watch_id LIMIT ?"
        found = await self._find(where, *behind, limit + 1)
        if len(found) <= limit:
            return found, None
        last = found[limit - 1]
        return found[:limit], cursor_of(plain(last.config.name), last.watch_id)

    async def due_watches(self, now: datetime, *, limit: int) -> list[Watch]:
        # By the row and not by the id: 100,000 that are due at one moment are not sorted then.
        where = "next_run_at <= ? AND active_run_id IS NULL ORDER BY next_run_at, rowid LIMIT ?"
        return await self._find(where, milliseconds(now), limit)

    async def _find(self, where: str, *values: object) -> list[Watch]:
        query = f"SELECT {WATCHES.columns} FROM watches WHERE {where}"
        return await self._db.read(
            lambda connection: [watch_of(row) for row in connection.execute(query, values)]
        )

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
