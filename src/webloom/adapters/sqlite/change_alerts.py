from __future__ import annotations

import sqlite3

from webloom.adapters.sqlite.batches import for_each, plain
from webloom.adapters.sqlite.database import Database, Operation
from webloom.ports.change_alerts import AlertSource

_PENDING = "untold = 1 AND job_id = ? AND run_id IS ?"


class SqliteChangeAlerts:
    def __init__(self, database: Database) -> None:
        self._db = database
        self._assigning = Operation(run=for_each(_assign))
        self._notifying = Operation(run=for_each(_note_notified))

    async def pending(self, *, limit: int) -> list[AlertSource]:
        def query(connection: sqlite3.Connection) -> list[AlertSource]:
            rows = connection.execute(
                """
                SELECT job_id, run_id
                FROM (SELECT DISTINCT job_id, run_id FROM change_logs WHERE untold = 1) AS waiting
                WHERE NOT EXISTS (
                    SELECT 1 FROM job_runs WHERE run_id = waiting.run_id
                        AND watch_id = waiting.job_id AND status = 'in_progress')
                LIMIT ?
                """,
                (limit,),
            )
            return [AlertSource(watch_id=watch_id, run_id=run_id) for watch_id, run_id in rows]

        return await self._db.read(query)

    async def assign_batch(self, watch_id: str, run_id: str | None, batch: str) -> list[str]:
        source = (plain(watch_id), None if run_id is None else plain(run_id))
        is_pending = await self._db.read(
            lambda connection: connection.execute(
                f"SELECT 1 FROM change_logs WHERE {_PENDING} LIMIT 1", source
            ).fetchone()
        )
        return await self._db.write(self._assigning, (batch, source)) if is_pending else []

    async def note_notified(self, batch: str) -> None:
        await self._db.write(self._notifying, batch)


def _assign(connection: sqlite3.Connection, asked: tuple[str, tuple[str, str | None]]) -> list[str]:
    batch, source = asked
    connection.execute(
        f"UPDATE change_logs SET batch = ? WHERE {_PENDING} AND batch IS NULL",
        (plain(batch), *source),
    )
    rows = connection.execute(f"SELECT DISTINCT batch FROM change_logs WHERE {_PENDING}", source)
    return [each for (each,) in rows]


def _note_notified(connection: sqlite3.Connection, batch: str) -> None:
    connection.execute(
        # Not by the index of all that is pending.
        "UPDATE change_logs SET untold = 0 WHERE batch = ? AND +untold = 1",
        (plain(batch),),
    )
