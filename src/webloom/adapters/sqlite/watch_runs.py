"""Runs of watches: their queries."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from webloom.adapters.sqlite.batches import plain
from webloom.adapters.sqlite.database import Database
from webloom.adapters.sqlite.index_scan import consistent_read, scan_index
from webloom.adapters.sqlite.page_codec import key_of
from webloom.adapters.sqlite.primitives import SqliteDocuments, SqlitePairs
from webloom.adapters.sqlite.values import milliseconds
from webloom.adapters.sqlite.watch_run_codec import COUNTED_RUNS, RUNS, unchecked, with_failures
from webloom.adapters.sqlite.watches import WATCHES
from webloom.domain.retention import Retention
from webloom.domain.watch import EVENTS, RunStatus, WatchRun
from webloom.domain.watch_run import RunState
from webloom.ports.watch_runs import RunFilter
from webloom.stores.cursors import values_of
from webloom.stores.watch_runs import FoundRun, StoredWatchRuns

_TO_REPAIR = """
    SELECT watch_id FROM watches WHERE active_run_id IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM job_runs WHERE run_id = active_run_id AND status = 'in_progress')
"""


def find(connection: sqlite3.Connection, where: str, *values: object) -> list[RunState]:
    """With the failures of runs in progress."""
    rows = connection.execute(f"SELECT {RUNS.columns} FROM job_runs WHERE {where}", values)
    return [with_failures(connection, row) for row in rows.fetchall()]


def unchecked_in(connection: sqlite3.Connection, run_id: str) -> list[str]:
    row = connection.execute(
        "SELECT id, watch_id FROM job_runs WHERE run_id = ?", (plain(run_id),)
    ).fetchone()
    return [] if row is None else unchecked(connection, *row)


class SqliteWatchRuns(StoredWatchRuns):
    def __init__(self, database: Database, *, retention: Retention) -> None:
        keep = timedelta(days=retention.job_runs)
        super().__init__(
            SqliteDocuments(database, RUNS),
            SqlitePairs(database, WATCHES, RUNS),
            SqlitePairs(database, COUNTED_RUNS, WATCHES),
            keep=keep,
        )
        self._db = database

    async def find_run(self, run_id: str) -> WatchRun | None:
        def query(connection: sqlite3.Connection) -> WatchRun | None:
            with consistent_read(connection):
                found = find(connection, "run_id = ?", plain(run_id))
            return found[0].run if found else None

        return await self._db.read(query)

    async def unchecked(self, run_id: str) -> list[str]:
        def query(connection: sqlite3.Connection) -> list[str]:
            with consistent_read(connection):
                return unchecked_in(connection, run_id)

        return await self._db.scan(query)

    async def is_open(self, run_id: str, url: str) -> bool:
        def query(connection: sqlite3.Connection) -> bool:
            row = connection.execute(
                "SELECT id, watch_id FROM job_runs WHERE run_id = ? AND status = 'in_progress'",
                (plain(run_id),),
            ).fetchone()
            if row is None:
                return False
            known = connection.execute(
                "SELECT 1 FROM watch_ledger WHERE run = ? AND key = ?",
                (row[0], key_of(row[1], url)),
            )
            return known.fetchone() is None

        return await self._db.read(query)

    async def runs(
        self, chosen: RunFilter, *, limit: int, cursor: str | None = None
    ) -> tuple[list[WatchRun], str | None]:
        return await self._db.scan(_listed(chosen, limit, cursor))

    async def _watches_to_repair(self) -> Sequence[str]:
        return await self._db.read(
            lambda connection: [watch_id for (watch_id,) in connection.execute(_TO_REPAIR)]
        )

    async def _in_progress(self, limit: int) -> Sequence[FoundRun]:
        where = "status = 'in_progress' AND trigger != ? ORDER BY started_at, id LIMIT ?"

        def query(connection: sqlite3.Connection) -> list[FoundRun]:
            with consistent_read(connection):
                states = find(connection, where, EVENTS, limit)
                watches = WATCHES.load(connection, {each.run.watch_id for each in states})
            found = ((state, watches.get(state.run.watch_id)) for state in states)
            return [FoundRun(state, watch and watch.state) for state, watch in found]

        return await self._db.read(query)

    async def _idle_runs(self, idle_since: datetime) -> Sequence[tuple[str, str]]:
        values = (RunStatus.IN_PROGRESS, EVENTS, milliseconds(idle_since))
        return await self._db.read(
            lambda connection: connection.execute(
                "SELECT watch_id, run_id FROM job_runs "
                "WHERE status = ? AND trigger = ? AND updated_at <= ?",
                values,
            ).fetchall()
        )


def _listed(
    chosen: RunFilter, limit: int, cursor: str | None
) -> Callable[[sqlite3.Connection], tuple[list[WatchRun], str | None]]:
    behind = None if cursor is None else values_of(cursor, int, int)
    values = {"watch_id": chosen.watch_id and plain(chosen.watch_id), "status": chosen.status}
    by_watch = "watch_id = :watch_id" if chosen.watch_id is not None else "true"
    by_status = "status = :status" if chosen.status is not None else "true"
    known = by_watch if chosen.watch_id is not None else by_status

    def query(connection: sqlite3.Connection) -> tuple[list[WatchRun], str | None]:
        with consistent_read(connection):
            ids, following = scan_index(
                connection,
                source=f"job_runs WHERE {known}",
                place=("started_at", "id"),
                chosen="true" if known == by_status else by_status,
                values=values,
                limit=limit,
                behind=behind,
            )
            found = [find(connection, "id = ?", each)[0] for each in ids]
        return [state.run for state in found], following

    return query
