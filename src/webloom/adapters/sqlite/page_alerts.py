"""Change logs with alerts: which are still to be told, and which are told together."""

from __future__ import annotations

import sqlite3

from webloom.adapters.sqlite.batches import plain
from webloom.ports.page_store import Late

_OF_RUN = "untold = 1 AND job_id = ? AND run_id IS ?"


def late(connection: sqlite3.Connection, limit: int) -> list[Late]:
    rows = connection.execute(
        """
        SELECT job_id, run_id
        FROM (SELECT DISTINCT job_id, run_id FROM change_logs WHERE untold = 1) AS waiting
        WHERE NOT EXISTS (
            SELECT 1 FROM job_runs WHERE run_id = waiting.run_id AND watch_id = waiting.job_id
                AND status = 'in_progress')
        LIMIT ?
        """,
        (limit,),
    )
    return [Late(job_id=job_id, run_id=run_id) for job_id, run_id in rows]


def is_waiting(connection: sqlite3.Connection, job_id: str, run_id: str | None) -> bool:
    """Whether anything of the run is to be told."""
    found = connection.execute(
        f"SELECT 1 FROM change_logs WHERE {_OF_RUN} LIMIT 1", _run(job_id, run_id)
    ).fetchone()
    return found is not None


def gather(
    connection: sqlite3.Connection, job_id: str, run_id: str | None, batch: str
) -> list[str]:
    of_run = _run(job_id, run_id)
    connection.execute(
        f"UPDATE change_logs SET batch = ? WHERE {_OF_RUN} AND batch IS NULL",
        (plain(batch), *of_run),
    )
    rows = connection.execute(f"SELECT DISTINCT batch FROM change_logs WHERE {_OF_RUN}", of_run)
    return [each for (each,) in rows]


def note_told(connection: sqlite3.Connection, batch: str) -> None:
    connection.execute(
        # Not by the index of all that is untold.
        "UPDATE change_logs SET untold = 0 WHERE batch = ? AND +untold = 1",
        (plain(batch),),
    )


def _run(job_id: str, run_id: str | None) -> tuple[str, str | None]:
    return plain(job_id), None if run_id is None else plain(run_id)
