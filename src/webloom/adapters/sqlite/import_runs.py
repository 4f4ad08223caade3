"""Import runs: their queries."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Collection
from datetime import datetime
from typing import Any

from webloom.adapters.sqlite.batches import as_json, plain
from webloom.adapters.sqlite.database import Database
from webloom.adapters.sqlite.feeds import FEEDS, MOVED_TO
from webloom.adapters.sqlite.import_ledger import SqliteRunLedger
from webloom.adapters.sqlite.import_run_codec import RUNS, decode, lease_of
from webloom.adapters.sqlite.primitives import SqliteDocuments, SqlitePairs
from webloom.adapters.sqlite.values import milliseconds
from webloom.adapters.sqlite.words import IS_FOUND, look_for
from webloom.domain.import_run import ImportRun
from webloom.domain.import_transitions import RunHead
from webloom.domain.search import terms_of
from webloom.parsing.web_url import host_of
from webloom.ports.import_runs import RunFilter, RunPage
from webloom.stores.import_runs import ActiveFeed, StoredImportRuns

# Runs are many and their sources few: from one text to the next, along an index.
FOUND_TEXTS = f"""
    WITH RECURSIVE texts (search) AS (
        SELECT min(search) FROM import_runs
        UNION ALL
        SELECT (SELECT min(search) FROM import_runs WHERE search > texts.search) FROM texts
        WHERE search IS NOT NULL
    )
    SELECT search FROM (SELECT ifnull(search, '') AS search FROM texts) WHERE {IS_FOUND}
"""
COUNT_ALL_SECONDS = 60.0  # as long as a run with a lower number may be missed


class SqliteImportRuns(StoredImportRuns):
    def __init__(self, database: Database) -> None:
        super().__init__(
            SqliteDocuments(database, RUNS),
            SqliteRunLedger(database),
            SqliteDocuments(database, FEEDS),
            SqlitePairs(database, FEEDS, RUNS),
            SqlitePairs(database, RUNS, FEEDS),
        )
        self._db = database
        self._every_run = AllRuns()

    def _now(self) -> float:
        return self._db.now()

    async def _active(self) -> tuple[list[ActiveFeed], list[RunHead]]:
        return await self._db.read(_running)

    async def page(
        self, chosen: RunFilter, *, offset: int, limit: int, oldest_first: bool = False
    ) -> RunPage:
        order = "ASC" if oldest_first else "DESC"
        return await self._db.scan(
            lambda connection: page(connection, chosen, order, offset, limit, self._every_run)
        )

    async def _scan(
        self, chosen: RunFilter, without: Collection[str], *, limit: int, oldest_first: bool
    ) -> list[ImportRun]:
        order = "ASC" if oldest_first else "DESC"
        return await self._db.scan(
            lambda connection: scan(connection, chosen, order, without, limit)
        )

    async def changed(self, since: datetime | None, *, limit: int) -> list[ImportRun]:
        where = "status = 'running'" if since is None else "updated_at >= ?"
        values = () if since is None else (milliseconds(since),)
        rows = await self._rows(
            f"SELECT body FROM import_runs WHERE {where} ORDER BY updated_at, run LIMIT ?",
            *values,
            limit,
        )
        return [decode(body) for (body,) in rows]

    async def _rows(self, query: str, *values: object) -> list[Any]:
        return await self._db.read(lambda connection: connection.execute(query, values).fetchall())


def _running(connection: sqlite3.Connection) -> tuple[list[ActiveFeed], list[RunHead]]:
    feeds = connection.execute(
        f"""
        SELECT feed_id, active_run_id, coalesce({MOVED_TO}, url) FROM feeds
        WHERE active_run_id IS NOT NULL
        """
    ).fetchall()
    running = connection.execute(
        """
        SELECT run_id, owner, token, lease, json_extract(body, '$.cancel_requested'), source_url
        FROM import_runs JOIN run_names ON id = run
        WHERE status = 'running' ORDER BY started_at, run
        """
    ).fetchall()
    return [ActiveFeed(*row) for row in feeds], [
        RunHead(run_id, lease_of(owner, token, lease), bool(is_cancelled), host_of(url))
        for run_id, owner, token, lease, is_cancelled, url in running
    ]


class AllRuns:
    """How many runs there are. None is ever removed and nearly each new one has a higher number, so
    that only those behind the last count are counted. But a posting that is copied gives a number
    to its run before the run is there: now and then all are counted again."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._known = (0, 0)  # the number of the last run that is counted, and how many those are
        self._all_counted_at = now()

    def count(self, connection: sqlite3.Connection) -> int:
        now = self._now()
        if now - self._all_counted_at >= COUNT_ALL_SECONDS:
            self._known, self._all_counted_at = (0, 0), now
        last, known = self._known
        newest, more = connection.execute(
            "SELECT max(run), count(*) FROM import_runs WHERE run > ?", (last,)
        ).fetchone()
        self._known = (newest or last, known + more)
        return int(known + more)


def page(
    connection: sqlite3.Connection,
    chosen: RunFilter,
    order: str,
    offset: int,
    limit: int,
    every: AllRuns,
) -> RunPage:
    where, values = _where(connection, chosen)
    if values:
        [total] = connection.execute(
            f"SELECT count(*) FROM import_runs WHERE {where}", values
        ).fetchone()
    else:
        total = every.count(connection)
    rows = connection.execute(
        f"""
        SELECT body FROM import_runs WHERE {where}
        ORDER BY started_at {order}, run {order} LIMIT ? OFFSET ?
        """,
        (*values, limit, offset),
    )
    return RunPage(runs=[decode(body) for (body,) in rows], total=total)


def scan(
    connection: sqlite3.Connection,
    chosen: RunFilter,
    order: str,
    without: Collection[str],
    limit: int,
) -> list[ImportRun]:
    where, values = _where(connection, chosen)
    rows = connection.execute(
        f"""
        SELECT body FROM import_runs WHERE {where} AND run NOT IN (
            SELECT id FROM run_names WHERE run_id IN (SELECT value FROM json_each(?))
        )
        ORDER BY started_at {order}, run {order} LIMIT ?
        """,
        (*values, as_json([plain(each) for each in without]), limit),
    )
    return [decode(body) for (body,) in rows]


def _where(connection: sqlite3.Connection, chosen: RunFilter) -> tuple[str, tuple[Any, ...]]:
    conditions: dict[str, Any] = {
        "status = ?": chosen.status,
        "source_url = ?": chosen.source_url and plain(chosen.source_url),
        "started_at >= ?": milliseconds(chosen.since),
        "started_at <= ?": milliseconds(chosen.until),
    }
    if terms := terms_of(chosen.text or ""):
        look_for(connection, terms)
        conditions[f"search IN ({FOUND_TEXTS}) = ?"] = 1
    given = {condition: value for condition, value in conditions.items() if value is not None}
    return " AND ".join(given) or "true", tuple(given.values())
