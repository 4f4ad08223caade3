"""Each page of a run once. The counters of a run are what its rows of the ledger add up to.

A page that is looked at twice in a run, as its worker died in between, has the better outcome of
the two: changed, unchanged, failed.
"""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from webloom.adapters.sqlite import watch_rows
from webloom.adapters.sqlite.batches import plain
from webloom.adapters.sqlite.page_rows import OUTCOMES, key_of
from webloom.domain.storage_event import StorageEvent
from webloom.domain.watch import EVENTS, Outcome, RunHead, RunStatus, is_counted
from webloom.ports.page_store import Checked

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
    run = _known(connection, checked.run_id)
    if run is None or not is_counted(plain(checked.job_id), run.head, is_event=False):
        return
    has_failed = checked.outcome is Outcome.FAILED
    entry = Entry(
        key_of(checked.job_id, checked.url),
        OUTCOMES.index(checked.outcome),
        url=plain(checked.url) if has_failed else None,
        error=plain(checked.error or "it failed") if has_failed else None,
    )
    added = _enter(connection, run.id, entry, wall)
    if added is not None and run.head.trigger == EVENTS:
        _add_to_metrics(connection, run.head.watch_id, added)


def count_event(
    connection: sqlite3.Connection, event: StorageEvent, wall: int, expire_at: int
) -> None:
    """`expire_at` is for a run that is made on the way."""
    run = _known(connection, event.counting_run)
    if run is not None and run.head.watch_id != plain(event.job_id):
        event = event.without_run
        run = _known(connection, event.counting_run)
    if not is_counted(plain(event.job_id), run and run.head, is_event=True):
        return
    is_named = event.run_id is not None
    key = key_of(event.job_id, event.url) if is_named else bytes.fromhex(event.counted_as)
    outcome = OUTCOMES.index(Outcome.CHANGED if event.is_change else Outcome.UNCHANGED)
    is_price_change = event.price is not None and event.price.is_change
    entry = Entry(key, outcome, is_price_change)
    if run is not None and run.head.trigger != EVENTS:
        _enter(connection, run.id, entry, wall)
        return
    watch_rows.add_external(connection, event.job_id, wall)
    if run is None:
        run = _open(connection, event, wall, expire_at)
    added = _enter(connection, run.id, entry, wall)
    if added is not None:
        _add_to_metrics(connection, run.head.watch_id, added)
    connection.execute(
        """
        UPDATE job_runs SET started_at = min(started_at, :ts), expire_at = :expire_at,
            finished_at = max(finished_at, :ts), ledger_until = :ledger_until,
            updated_at = max(updated_at, :wall)
        WHERE id = :run
        """,
        {
            "ts": event.ts,
            "run": run.id,
            "wall": wall,
            "expire_at": expire_at,
            "ledger_until": max(expire_at, wall + LEDGER_MILLISECONDS),
        },
    )
    if event.closes_run is not None:
        close_events(connection, run.id, event.closes_run)
    note_last_run(connection, run.head.watch_id, event.counting_run)


class _Known(NamedTuple):
    id: int
    head: RunHead


def _known(connection: sqlite3.Connection, run_id: str) -> _Known | None:
    row = connection.execute(
        "SELECT id, watch_id, trigger, status FROM job_runs WHERE run_id = ?", (plain(run_id),)
    ).fetchone()
    return None if row is None else _Known(row[0], RunHead(row[1], row[2], RunStatus(row[3])))


def _open(connection: sqlite3.Connection, event: StorageEvent, wall: int, expire_at: int) -> _Known:
    head = RunHead(plain(event.job_id), EVENTS, event.opening_status)
    [run] = connection.execute(
        """
        INSERT INTO job_runs
            (run_id, watch_id, status, trigger, started_at, updated_at, finished_at, expire_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING id
        """,
        (
            plain(event.counting_run),
            head.watch_id,
            head.status,
            head.trigger,
            event.ts,
            wall,
            event.ts,
            expire_at,
        ),
    ).fetchone()
    return _Known(run, head)


def close_events(connection: sqlite3.Connection, run: int, status: RunStatus) -> None:
    """Unless it is closed already."""
    connection.execute(
        "UPDATE job_runs SET status = ? WHERE id = ? AND status = ?",
        (status, run, RunStatus.IN_PROGRESS),
    )


def note_last_run(connection: sqlite3.Connection, watch_id: str, run_id: str) -> None:
    """Of a watch that others check, the last run is the one with the latest event."""
    connection.execute(
        """
        UPDATE watches SET last_run_id = run.run_id, last_status = run.status,
            last_run_at = run.finished_at
        FROM (SELECT run_id, status, finished_at FROM job_runs WHERE run_id = ?2) AS run
        WHERE watch_id = ?1 AND is_external AND run.finished_at >= coalesce(last_run_at, 0)
            AND (last_run_id, last_status, last_run_at)
                IS NOT (run.run_id, run.status, run.finished_at)
        """,
        (watch_id, plain(run_id)),
    )


def _add_to_metrics(connection: sqlite3.Connection, watch_id: str, added: _Counts) -> None:
    connection.execute(
        """
        UPDATE watches SET pages_processed = pages_processed + ?,
            changes_detected = changes_detected + ?,
            price_changes_detected = price_changes_detected + ?
        WHERE watch_id = ?
        """,
        (added.processed, added.changes, added.price_changes, watch_id),
    )


def _enter(connection: sqlite3.Connection, run: int, entry: Entry, wall: int) -> _Counts | None:
    """What it adds to the run's counters; None: it changes nothing."""
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
            return None
    connection.execute(
        """
        INSERT OR REPLACE INTO watch_ledger (run, key, outcome, is_price_change, url, error)
        VALUES (?, ?, ?, ?, ?, ?)
        """,
        (run, *merged),
    )
    added = _counts(merged) - _counts(known)
    connection.execute(
        """
        UPDATE job_runs SET processed = processed + ?, failed = failed + ?, changes = changes + ?,
            price_changes = price_changes + ?, updated_at = max(updated_at, ?)
        WHERE id = ?
        """,
        (*added, wall, run),
    )
    return added


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
