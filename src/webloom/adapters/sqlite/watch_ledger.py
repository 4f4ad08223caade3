"""Each page of a run once. The counters of a run are what its rows of the ledger add up to.

A page that is looked at twice in a run, as its worker died in between, has the better outcome of
the two: changed, unchanged, failed.
"""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from webloom.adapters.sqlite.batches import plain
from webloom.adapters.sqlite.page_rows import OUTCOMES, key_of
from webloom.domain.storage_event import StorageEvent
from webloom.domain.watch import Outcome, RunStatus
from webloom.ports.page_store import Checked

EVENTS = "events"  # the trigger of runs that other programs' events make
LEDGER_MILLISECONDS = 2 * 24 * 3600 * 1000  # that it outlives its run
_CHANGED = OUTCOMES.index(Outcome.CHANGED)
_FAILED = OUTCOMES.index(Outcome.FAILED)


class Entry(NamedTuple):
    key: bytes
    outcome: int
    is_price_change: bool = False
    url: str | None = None
    error: str | None = None


def count_check(connection: sqlite3.Connection, checked: Checked, wall: int) -> None:
    run = _run_in_progress(connection, checked.run_id, checked.job_id)
    if run is None:
        return
    has_failed = checked.outcome is Outcome.FAILED
    entry = Entry(
        key_of(checked.job_id, checked.url),
        OUTCOMES.index(checked.outcome),
        url=plain(checked.url) if has_failed else None,
        error=plain(checked.error or "it failed") if has_failed else None,
    )
    _enter(connection, run, entry, wall)


def count_event(
    connection: sqlite3.Connection, event: StorageEvent, wall: int, expire_at: int
) -> None:
    """`expire_at` is for a run that is made on the way."""
    outcome = OUTCOMES.index(Outcome.CHANGED if event.is_change else Outcome.UNCHANGED)
    is_price_change = event.price is not None and event.price.is_change
    if event.run_id is not None:
        run = _run_in_progress(connection, event.run_id, event.job_id)
        if run is not None:
            key = key_of(event.job_id, event.url)
            _enter(connection, run, Entry(key, outcome, is_price_change), wall)
        return
    run = _run_of_events(connection, event, wall)
    entry = Entry(bytes.fromhex(event.counted_as), outcome, is_price_change)
    if run is not None and _enter(connection, run, entry, wall):
        connection.execute(
            """
            UPDATE job_runs SET started_at = min(started_at, :ts), expire_at = :expire_at,
                finished_at = max(finished_at, :ts), ledger_until = :ledger_until
            WHERE id = :run
            """,
            {
                "ts": event.ts,
                "run": run,
                "expire_at": expire_at,
                "ledger_until": max(expire_at, wall + LEDGER_MILLISECONDS),
            },
        )


def _run_in_progress(connection: sqlite3.Connection, run_id: str, watch_id: str) -> int | None:
    row = connection.execute(
        "SELECT id FROM job_runs WHERE run_id = ? AND watch_id = ? AND status = ?",
        (plain(run_id), plain(watch_id), RunStatus.IN_PROGRESS),
    ).fetchone()
    return row and int(row[0])


def _run_of_events(connection: sqlite3.Connection, event: StorageEvent, wall: int) -> int | None:
    connection.execute(
        """
        INSERT INTO job_runs
            (run_id, watch_id, status, trigger, started_at, updated_at, finished_at)
        VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run_id) DO NOTHING
        """,
        (
            plain(event.counting_run),
            plain(event.job_id),
            RunStatus.COMPLETED,
            EVENTS,
            event.ts,
            wall,
            event.ts,
        ),
    )
    row = connection.execute(
        "SELECT id FROM job_runs WHERE run_id = ? AND trigger = ?",
        (plain(event.counting_run), EVENTS),
    ).fetchone()
    return row and int(row[0])


def _enter(connection: sqlite3.Connection, run: int, entry: Entry, wall: int) -> bool:
    """Whether it changes what is known."""
    row = connection.execute(
        "SELECT outcome, is_price_change FROM watch_ledger WHERE run = ? AND key = ?",
        (run, entry.key),
    ).fetchone()
    known = None if row is None else Entry(entry.key, row[0], bool(row[1]))
    if known is None:
        merged = entry
    else:
        better = entry if entry.outcome > known.outcome else known
        merged = better._replace(
            is_price_change=entry.is_price_change or known.is_price_change,
        )
        if merged == known:
            return False
    connection.execute(
        """
        INSERT OR REPLACE INTO watch_ledger (run, key, outcome, is_price_change, url, error)
        VALUES (?, ?, ?, ?, ?, ?)
        """,
        (run, *merged),
    )
    connection.execute(
        """
        UPDATE job_runs SET processed = processed + ?, failed = failed + ?, changes = changes + ?,
            price_changes = price_changes + ?, updated_at = max(updated_at, ?)
        WHERE id = ?
        """,
        (*(_counts(merged) - _counts(known)), wall, run),
    )
    return True


class _Counts(NamedTuple):
    processed: int
    failed: int
    changes: int
    price_changes: int

    def __sub__(self, other: _Counts) -> _Counts:
        return _Counts(*(mine - its for mine, its in zip(self, other, strict=True)))


def _counts(entry: Entry | None) -> _Counts:
    if entry is None:
        return _Counts(0, 0, 0, 0)
    return _Counts(1, entry.outcome == _FAILED, entry.outcome == _CHANGED, entry.is_price_change)
