"""Runs of watches: their queries."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from webloom.adapters.sqlite.batches import plain
from webloom.adapters.sqlite.database import Database
from webloom.adapters.sqlite.index_scan import conditions, consistent_read, scan_index
from webloom.adapters.sqlite.page_codec import key_of
from webloom.adapters.sqlite.primitives import SqliteDocuments, SqlitePairs
from webloom.adapters.sqlite.values import encoded, milliseconds
from webloom.adapters.sqlite.watch_codec import WATCHES
from webloom.adapters.sqlite.watch_run_codec import COUNTED_RUNS, RUNS, unchecked, with_failures
from webloom.domain.listing import MOST_SCANNED, Count, counted_to
from webloom.domain.retention import Retention
from webloom.domain.watch import EVENTS, RunStatus, WatchRun
from webloom.domain.watch_run import RunState
from webloom.ports.watch_run_listing import RunFilter
from webloom.stores.cursors import values_of
from webloom.stores.watch_runs import FoundRun, StoredWatchRuns

_TO_REPAIR = """
    SELECT watch_id FROM watches WHERE active_run_id IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM job_runs WHERE run_id = active_run_id AND status = 'in_progress')
"""

_KNOWN = {"watch_id": "watch_id = :watch_id", "status": "status = :status"}

_FIRST_FAILURES = """
    SELECT run_id, json_extract(failures, '$[0].reason') AS reason FROM job_runs
    WHERE run_id IN (SELECT value FROM json_each(?)) AND reason IS NOT NULL
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
        super().__init__(
            SqliteDocuments(database, RUNS),
            SqlitePairs(database, WATCHES, RUNS),
            SqlitePairs(database, COUNTED_RUNS, WATCHES),
            keep=retention.kept_runs,
        )
        self._db = database

    async def find_run(self, run_id: str) -> WatchRun | None:
        def query(connection: sqlite3.Connection) -> WatchRun | None:
            with consistent_read(connection):
                found = find(connection, "run_id = ?", plain(run_id))
            return found[0].run if found else None

        return await self._db.read(query)

    async def first_failures(self, run_ids: Collection[str]) -> Mapping[str, str]:
        wanted = encoded([plain(each) for each in run_ids])
        return await self._db.read(
            lambda connection: dict(connection.execute(_FIRST_FAILURES, (wanted,)).fetchall())
        )

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
        self,
        chosen: RunFilter,
        *,
        limit: int,
        cursor: str | None = None,
        oldest_first: bool = False,
    ) -> tuple[list[WatchRun], str | None]:
        behind = None
        if cursor is not None:
            behind = values_of(cursor, int, int, oldest_first=oldest_first)

        def query(connection: sqlite3.Connection) -> tuple[list[WatchRun], str | None]:
            with consistent_read(connection):
                ids, following = scan_runs(
                    connection, chosen, limit=limit, behind=behind, oldest_first=oldest_first
                )
                found = [find(connection, "id = ?", each)[0] for each in ids]
            return [state.run for state in found], following

        return await self._db.scan(query)

    async def count_chosen(self, chosen: RunFilter, *, most: int) -> Count:
        def query(connection: sqlite3.Connection) -> Count:
            if chosen.watch_id is not None and chosen.status is not None:
                found, following = scan_runs(connection, chosen, limit=MOST_SCANNED)
                return counted_to(most, len(found), is_all=following is None)
            values = _values(chosen)
            rows = f"SELECT 1 FROM job_runs WHERE {conditions(values, **_KNOWN)} LIMIT :most"
            [count] = connection.execute(
                f"SELECT count(*) FROM ({rows})", values | {"most": most + 1}
            ).fetchone()
            return counted_to(most, count)

        return await self._db.scan(query)

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

    async def _idle_runs(self, idle_since: datetime, limit: int) -> Sequence[tuple[str, str]]:
        values = (RunStatus.IN_PROGRESS, EVENTS, milliseconds(idle_since), limit)
        return await self._db.read(
            lambda connection: connection.execute(
                "SELECT watch_id, run_id FROM job_runs "
                "WHERE status = ? AND trigger = ? AND updated_at <= ? LIMIT ?",
                values,
            ).fetchall()
        )


def scan_runs(
    connection: sqlite3.Connection,
    chosen: RunFilter,
    *,
    limit: int,
    behind: tuple[int, ...] | None = None,
    oldest_first: bool = False,
) -> tuple[list[int], str | None]:
    """Ids of a page of the list, and the cursor of the next."""
    values = _values(chosen)
    known, looked_at = conditions(values, **_KNOWN), "true"
    if chosen.watch_id is not None:  # whose index does not know the status
        known, looked_at = _KNOWN["watch_id"], conditions(values, status=_KNOWN["status"])
    return scan_index(
        connection,
        source=f"job_runs WHERE {known}",
        place=("started_at", "id"),
        chosen=looked_at,
        values=values,
        limit=limit,
        behind=behind,
        oldest_first=oldest_first,
    )


def _values(chosen: RunFilter) -> dict[str, str | None]:
    return {"watch_id": chosen.watch_id and plain(chosen.watch_id), "status": chosen.status}
