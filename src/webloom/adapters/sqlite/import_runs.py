"""Rows of `import_runs`. All that a reader sees of a run is one JSON object."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from webloom.adapters.sqlite.batches import as_json, plain
from webloom.adapters.sqlite.database import Database
from webloom.adapters.sqlite.feeds import MOVED_TO
from webloom.adapters.sqlite.primitives import Change, Loaded, Table
from webloom.adapters.sqlite.values import milliseconds
from webloom.domain.import_run import ImportRun, RunStatus
from webloom.domain.import_transitions import Ending, RunHead, RunState, misses_batches
from webloom.domain.lease import Lease
from webloom.parsing.web_url import host_of
from webloom.ports.import_runs import RunFilter, RunPage
from webloom.stores.import_runs import ActiveFeed

COUNT_ALL_SECONDS = 60.0  # as long as a run with a lower number may be missed

decode = msgspec.json.Decoder(ImportRun).decode


_endings = msgspec.json.Decoder(Ending)


def number_of(connection: sqlite3.Connection, run_id: str) -> int | None:
    """The number that represents a run in other rows."""
    row = connection.execute(
        "SELECT id FROM run_names WHERE run_id = ?", (plain(run_id),)
    ).fetchone()
    return row and int(row[0])


def numbered(connection: sqlite3.Connection, run_id: str) -> int:
    """As `number_of`; a new run gets a number."""
    connection.execute("INSERT OR IGNORE INTO run_names (run_id) VALUES (?)", (plain(run_id),))
    [number] = connection.execute(
        "SELECT id FROM run_names WHERE run_id = ?", (plain(run_id),)
    ).fetchone()
    return int(number)


class _Runs(Table[RunState]):
    """Its keys are the ids of runs; the rows have their numbers."""

    def load(
        self, connection: sqlite3.Connection, keys: Collection[str]
    ) -> dict[str, Loaded[RunState]]:
        rows = connection.execute(
            f"""
            SELECT run_id, {self.columns} FROM run_names CROSS JOIN import_runs ON run = id
            WHERE run_id IN (SELECT value FROM json_each(?))
            """,
            (as_json(list(keys)),),
        )
        return {
            run_id: Loaded(row, self.decode(connection, row)) for run_id, *row in rows.fetchall()
        }

    def save(self, connection: sqlite3.Connection, changes: Iterable[Change[RunState]]) -> None:
        """The ledger of a run goes when it has ended and all its batches are counted."""
        numbers = [change._replace(key=str(numbered(connection, change.key))) for change in changes]
        super().save(connection, numbers)
        for number, _, after in numbers:
            if after is not None and after.is_closed and not misses_batches(after.run):
                connection.execute("DELETE FROM import_batches WHERE run = ?", (number,))


def _run_of(row: Sequence[Any]) -> RunState:
    _, body, revision, started, owner, token, lease, ending = row
    run = decode(body)
    return RunState(
        run=run,
        started=started,
        lease=_lease(owner, token, lease),
        revision=revision,
        is_closed=run.status is not RunStatus.RUNNING,
        ending=None if ending is None else _endings.decode(ending),
    )


def _lease(owner: str | None, token: int, until: float) -> Lease | None:
    return Lease(owner or "", token, 0.0 if owner is None else until) if token else None


def _encode(state: RunState) -> dict[str, Any]:
    run, lease = state.run, state.lease
    return {
        "body": run,
        "revision": state.revision,
        "started": state.started,
        "owner": lease.owner if lease is not None and lease.until else None,
        "token": state.token,
        "lease": 0.0 if lease is None else lease.until,
        "ending": state.ending,
        "feed_id": run.feed_id,
        "source_url": run.source_url,
        "search": f"{run.source_name}\n{run.source_url}".casefold(),
        "status": run.status,
        "started_at": run.started_at,
        "updated_at": run.updated_at,
    }


RUNS = _Runs(
    "import_runs",
    key="run",
    columns=("body", "revision", "started", "owner", "token", "lease", "ending"),
    decode=_run_of,
    encode=_encode,
)


class SqliteRunQueries:
    def __init__(self, database: Database) -> None:
        self._db = database
        self._every_run = AllRuns()

    def now(self) -> float:
        return self._db.now()

    async def running(self) -> list[RunHead]:
        rows = await self._rows(
            """
            SELECT run_id, owner, token, lease, json_extract(body, '$.cancel_requested'), source_url
            FROM import_runs JOIN run_names ON id = run
            WHERE status = 'running' ORDER BY started_at, run
            """
        )
        return [
            RunHead(run_id, _lease(owner, token, lease), bool(is_cancelled), host_of(url))
            for run_id, owner, token, lease, is_cancelled, url in rows
        ]

    async def active_feeds(self) -> list[ActiveFeed]:
        rows = await self._rows(
            f"""
            SELECT feed_id, active_run_id, coalesce({MOVED_TO}, url) FROM feeds
            WHERE active_run_id IS NOT NULL
            """
        )
        return [ActiveFeed(*row) for row in rows]

    async def page(self, chosen: RunFilter, *, offset: int, limit: int) -> RunPage:
        return await self._db.scan(
            lambda connection: page(connection, chosen, offset, limit, self._every_run)
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
    connection: sqlite3.Connection, chosen: RunFilter, offset: int, limit: int, every: AllRuns
) -> RunPage:
    conditions: dict[str, Any] = {
        "status = ?": chosen.status,
        "source_url = ?": chosen.source_url and plain(chosen.source_url),
        "instr(search, ?) > 0": chosen.text and plain(chosen.text.casefold()),
        "started_at >= ?": milliseconds(chosen.since),
        "started_at <= ?": milliseconds(chosen.until),
    }
    given = {condition: value for condition, value in conditions.items() if value is not None}
    where, values = " AND ".join(given) or "true", tuple(given.values())
    if given:
        [total] = connection.execute(
            f"SELECT count(*) FROM import_runs WHERE {where}", values
        ).fetchone()
    else:
        total = every.count(connection)
    rows = connection.execute(
        f"""
        SELECT body FROM import_runs WHERE {where}
        ORDER BY started_at DESC, run DESC LIMIT ? OFFSET ?
        """,
        (*values, limit, offset),
    )
    return RunPage(runs=[decode(body) for (body,) in rows], total=total)
