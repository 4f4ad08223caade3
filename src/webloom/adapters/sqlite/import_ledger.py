"""Rows of `import_batches`, the ledger of imports: what became of each batch.

A batch is applied in a transaction that finds its run running, so that no row comes after the end.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing

import msgspec

from webloom.adapters.sqlite.batches import for_each
from webloom.adapters.sqlite.database import Database, Operation
from webloom.adapters.sqlite.import_run_codec import number_of
from webloom.adapters.sqlite.values import encoded
from webloom.domain.import_run import (
    MOST_FAILURES,
    MOST_REASONS,
    Counts,
    Failure,
    Mark,
    merged_failures,
)
from webloom.domain.import_transitions import Sums, reasons_of, reasons_of_run

_COUNTS = ", ".join(Counts._fields)
_SUMS = ", ".join(f"coalesce(sum({name}), 0)" for name in Counts._fields)

_MOST_FREQUENT = """
    SELECT key, sum(value) AS times FROM import_batches, json_each(reasons)
    WHERE run = ? AND failed > 0 GROUP BY key ORDER BY times DESC, key LIMIT ?
"""

_failures = msgspec.json.Decoder(list[Failure])


class SqliteRunLedger:
    def __init__(self, database: Database) -> None:
        self._db = database
        self._releasing = Operation(run=for_each(_release), durable=False)

    async def sums(self, run_id: str) -> Sums:
        return await self._db.read(lambda connection: _sums(connection, run_id))

    async def at_end(self, run_id: str) -> tuple[Sums, int]:
        return await self._db.read(lambda connection: _at_end(connection, run_id))

    async def release(self, run_id: str) -> None:
        await self._db.write(self._releasing, run_id)


def _release(connection: sqlite3.Connection, run_id: str) -> None:
    connection.execute("DELETE FROM import_batches WHERE run = ?", (number_of(connection, run_id),))


def _at_end(connection: sqlite3.Connection, run_id: str) -> tuple[Sums, int]:
    [closed] = connection.execute(
        "SELECT count(*) FROM postings WHERE closed_run = ?", (number_of(connection, run_id),)
    ).fetchone()
    return _sums(connection, run_id), closed


def _sums(connection: sqlite3.Connection, run_id: str) -> Sums:
    run = number_of(connection, run_id)
    batches, *counts = connection.execute(
        f"SELECT count(*), {_SUMS} FROM import_batches WHERE run = ?", (run,)
    ).fetchone()
    summed = Counts(*counts)
    if not summed.failed:
        return Sums(counts=summed, batches=batches)
    reasons = connection.execute(_MOST_FREQUENT, (run, MOST_REASONS)).fetchall()
    return Sums(
        counts=summed,
        batches=batches,
        failures=_failures_of(connection, run),
        reasons=reasons_of_run(dict(reasons), summed.failed),
    )


def _failures_of(connection: sqlite3.Connection, run: int | None) -> list[Failure]:
    """The first ones."""
    of_run = "WHERE run = ? AND failed > 0 ORDER BY batch_index"
    shown: list[Failure] = []
    with closing(
        connection.execute(f"SELECT failures FROM import_batches {of_run}", (run,))
    ) as rows:
        for (failures,) in rows:
            shown = merged_failures(shown, _failures.decode(failures))
            if len(shown) == MOST_FAILURES:
                break
    return shown


def missing(connection: sqlite3.Connection, run_id: str, published: int) -> list[int]:
    [found] = connection.execute(
        """
        SELECT json_group_array(batch_index) FROM import_batches WHERE run = ? AND batch_index < ?
        """,
        (number_of(connection, run_id), published),
    ).fetchone()
    there = set(msgspec.json.decode(found))
    return [index for index in range(published) if index not in there]


def find_row(connection: sqlite3.Connection, run: int, mark: Mark) -> Counts | None:
    row = connection.execute(
        f"SELECT {_COUNTS} FROM import_batches WHERE run = ? AND batch_index = ?",
        (run, mark.batch_index),
    ).fetchone()
    return row and Counts(*row)


def write_row(
    connection: sqlite3.Connection,
    run: int,
    mark: Mark,
    counts: Counts,
    failures: Sequence[Failure],
) -> None:
    shown = reasons = None
    if counts.failed:
        shown = encoded(failures[:MOST_FAILURES])
        reasons = encoded(reasons_of(failures, counts.failed))
    connection.execute(
        "INSERT INTO import_batches VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (run, mark.batch_index, *counts, shown, reasons),
    )
