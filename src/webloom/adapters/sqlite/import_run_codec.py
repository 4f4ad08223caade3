"""Rows of `import_runs` as runs and back. All that a reader sees of a run is one JSON object."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import msgspec

from webloom.adapters.sqlite.batches import as_json, plain
from webloom.adapters.sqlite.primitives import Change, Loaded, Table
from webloom.domain.import_run import ImportRun, RunStatus
from webloom.domain.import_transitions import Ending, RunState, misses_batches
from webloom.domain.lease import Lease

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
        lease=lease_of(owner, token, lease),
        revision=revision,
        is_closed=run.status is not RunStatus.RUNNING,
        ending=None if ending is None else _endings.decode(ending),
    )


def lease_of(owner: str | None, token: int, until: float) -> Lease | None:
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
