"""Runs of watches: how one starts, is attended, and ends. Each is inside one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec

from webloom.adapters.sqlite import watch_rows
from webloom.adapters.sqlite.batches import plain
from webloom.adapters.sqlite.page_cursors import values_of
from webloom.adapters.sqlite.page_listing import walk
from webloom.adapters.sqlite.page_rows import key_of, one_view
from webloom.adapters.sqlite.values import encoded, instant, milliseconds
from webloom.adapters.sqlite.watch_ledger import (
    LEDGER_MILLISECONDS,
    close_events,
    note_last_run,
)
from webloom.domain.watch import (
    EVENTS,
    MOST_FAILURES,
    PageFailure,
    RunStatus,
    Tally,
    WatchRun,
    status_at_end,
)
from webloom.parsing.deltas import compressed, restored
from webloom.ports.watch_store import Attended, NewRun, RunFilter

NOT_CHECKED = "it was not checked before the run ended"
_COLUMNS = (
    "job_runs.id, job_runs.run_id, job_runs.watch_id, status, trigger, started_at, "
    "job_runs.updated_at, finished_at, pages_total, processed, failed, changes, price_changes, "
    "job_runs.failures"
)
_WIDTH = _COLUMNS.count(",") + 1

_failures = msgspec.json.Decoder(list[PageFailure])
_urls = msgspec.json.Decoder(list[str])


def run_of(connection: sqlite3.Connection, row: Sequence[Any]) -> WatchRun:
    """Of _COLUMNS."""
    run, run_id, watch_id, status, trigger, started_at, updated_at, finished_at, total = row[:9]
    tally = Tally(processed=row[9], failed=row[10], changes=row[11], price_changes=row[12])
    is_open = status == RunStatus.IN_PROGRESS  # of events, the latest of them is `finished_at`
    return WatchRun(
        run_id=run_id,
        watch_id=watch_id,
        status=RunStatus(status),
        trigger=trigger,
        started_at=instant(started_at),
        updated_at=instant(updated_at),
        finished_at=None if is_open else instant(finished_at),
        pages_total=total,
        tally=tally,
        failures=_failed(connection, run, tally) if is_open else _failures.decode(row[13]),
    )


def _failed(connection: sqlite3.Connection, run: int, tally: Tally) -> list[PageFailure]:
    if tally.failed == 0:
        return []
    rows = connection.execute(
        "SELECT url, error FROM watch_ledger WHERE run = ? AND outcome = 0 LIMIT ?",
        (run, MOST_FAILURES),
    )
    return sorted(
        (PageFailure(url=url, reason=error) for url, error in rows), key=lambda each: each.url
    )


def one(connection: sqlite3.Connection, run_id: str) -> WatchRun | None:
    row = _row(connection, run_id)
    return None if row is None else run_of(connection, row)


def _row(connection: sqlite3.Connection, run_id: str) -> tuple[Any, ...] | None:
    row: tuple[Any, ...] | None = connection.execute(
        f"SELECT {_COLUMNS} FROM job_runs WHERE run_id = ?", (plain(run_id),)
    ).fetchone()
    return row


def find(connection: sqlite3.Connection, run_id: str) -> WatchRun | None:
    with one_view(connection):
        return one(connection, run_id)


def listed(
    chosen: RunFilter, limit: int, cursor: str | None
) -> Callable[[sqlite3.Connection], tuple[list[WatchRun], str | None]]:
    behind = None if cursor is None else values_of(cursor, int, int)
    values = {"watch_id": chosen.watch_id and plain(chosen.watch_id), "status": chosen.status}
    by_watch = "watch_id = :watch_id" if chosen.watch_id is not None else "true"
    by_status = "status = :status" if chosen.status is not None else "true"
    known = by_watch if chosen.watch_id is not None else by_status

    def query(connection: sqlite3.Connection) -> tuple[list[WatchRun], str | None]:
        with one_view(connection):
            ids, following = walk(
                connection,
                source=f"job_runs WHERE {known}",
                place=("started_at", "id"),
                chosen="true" if known == by_status else by_status,
                values=values,
                limit=limit,
                behind=behind,
            )
            rows = (
                connection.execute(f"SELECT {_COLUMNS} FROM job_runs WHERE id = ?", (each,))
                for each in ids
            )
            return [run_of(connection, row.fetchone()) for row in rows], following

    return query


def start(connection: sqlite3.Connection, watch_id: str, new: NewRun, wall: int) -> WatchRun | None:
    if (known := one(connection, new.run_id)) is not None:
        return known
    watch = watch_rows.one(connection, watch_id)
    if watch is None or watch.is_external:
        return None
    active = watch.active_run_id and one(connection, watch.active_run_id)
    if active and active.status is RunStatus.IN_PROGRESS:
        return active
    if new.due is not None and (watch.next_run_at is None or watch.next_run_at > new.due):
        return None
    urls = watch.config.urls
    [run] = connection.execute(
        """
        INSERT INTO job_runs
            (run_id, watch_id, status, trigger, started_at, updated_at, pages_total)
        VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id
        """,
        (
            plain(new.run_id),
            watch.watch_id,
            RunStatus.IN_PROGRESS,
            plain(new.trigger),
            wall,
            wall,
            len(urls),
        ),
    ).fetchone()
    connection.execute(
        "INSERT INTO run_urls (run, urls) VALUES (?, ?)", (run, compressed(encoded(urls).encode()))
    )
    connection.execute(
        "UPDATE watches SET active_run_id = ? WHERE watch_id = ?",
        (plain(new.run_id), watch.watch_id),
    )
    return one(connection, new.run_id)


_ASTRAY = """
    active_run_id IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM job_runs WHERE run_id = active_run_id AND status = 'in_progress')
"""


def has_astray(connection: sqlite3.Connection) -> bool:
    """Whether a watch has an active run that is not there."""
    found = connection.execute(f"SELECT 1 FROM watches WHERE {_ASTRAY} LIMIT 1").fetchone()
    return found is not None


def free_astray(connection: sqlite3.Connection) -> None:
    connection.execute(f"UPDATE watches SET active_run_id = NULL WHERE {_ASTRAY}")


def attended(connection: sqlite3.Connection, limit: int) -> list[Attended]:
    with one_view(connection):
        rows = connection.execute(
            f"""
            SELECT {_COLUMNS}, published_at, {watch_rows.COLUMNS}
            FROM job_runs JOIN watches ON watches.watch_id = job_runs.watch_id
            WHERE status = 'in_progress' AND trigger != ?
            ORDER BY started_at, job_runs.id LIMIT ?
            """,
            (EVENTS, limit),
        ).fetchall()
        return [
            Attended(
                run=run_of(connection, row[:_WIDTH]),
                watch=watch_rows.watch_of(row[_WIDTH + 1 :]),
                published_at=instant(row[_WIDTH]),
            )
            for row in rows
        ]


def unchecked(connection: sqlite3.Connection, run_id: str) -> list[str]:
    with one_view(connection):
        row = _row(connection, run_id)
        return [] if row is None else _unknown(connection, row[0], row[2])


def _unknown(connection: sqlite3.Connection, run: int, watch_id: str) -> list[str]:
    row = connection.execute("SELECT urls FROM run_urls WHERE run = ?", (run,)).fetchone()
    if row is None:
        return []
    known = {
        key for (key,) in connection.execute("SELECT key FROM watch_ledger WHERE run = ?", (run,))
    }
    return [url for url in _urls.decode(restored(row[0])) if key_of(watch_id, url) not in known]


def is_open(connection: sqlite3.Connection, run_id: str, url: str) -> bool:
    row = connection.execute(
        "SELECT id, watch_id FROM job_runs WHERE run_id = ? AND status = 'in_progress'",
        (plain(run_id),),
    ).fetchone()
    if row is None:
        return False
    known = connection.execute(
        "SELECT 1 FROM watch_ledger WHERE run = ? AND key = ?", (row[0], key_of(row[1], url))
    ).fetchone()
    return known is None


def note_published(connection: sqlite3.Connection, run_id: str, at: datetime) -> None:
    connection.execute(
        "UPDATE job_runs SET published_at = max(coalesce(published_at, 0), ?) WHERE run_id = ?",
        (milliseconds(at), plain(run_id)),
    )


def finish(
    connection: sqlite3.Connection,
    run_id: str,
    next_run_at: datetime | None,
    instead_of: datetime | None,
    wall: int,
    expire_at: int,
) -> WatchRun | None:
    row = _row(connection, run_id)
    if row is None:
        return None
    run = run_of(connection, row)
    if run.status is not RunStatus.IN_PROGRESS:
        return run
    run = _ended(run, _unknown(connection, row[0], row[2]), max(wall, row[5]))
    connection.execute(
        """
        UPDATE job_runs SET status = ?, updated_at = ?, finished_at = ?, processed = ?, failed = ?,
            failures = ?, ledger_until = ?, expire_at = ?
        WHERE id = ?
        """,
        (
            run.status,
            milliseconds(run.updated_at),
            milliseconds(run.finished_at),
            run.tally.processed,
            run.tally.failed,
            encoded(run.failures),
            wall + LEDGER_MILLISECONDS,
            expire_at,
            row[0],
        ),
    )
    connection.execute("DELETE FROM run_urls WHERE run = ?", (row[0],))
    connection.execute(
        """
        UPDATE watches SET active_run_id = NULL, last_run_id = active_run_id, last_status = ?,
            last_run_at = ?, failures = iif(?, failures + 1, 0),
            next_run_at = iif(enabled, iif(next_run_at IS ?, ?, next_run_at), NULL),
            pages_processed = pages_processed + ?, changes_detected = changes_detected + ?,
            price_changes_detected = price_changes_detected + ?
        WHERE watch_id = ? AND active_run_id = ?
        """,
        (
            run.status,
            milliseconds(run.finished_at),
            run.status is RunStatus.FAILED,
            milliseconds(instead_of),
            milliseconds(next_run_at),
            run.tally.processed,
            run.tally.changes,
            run.tally.price_changes,
            run.watch_id,
            run.run_id,
        ),
    )
    return run


def close_idle(connection: sqlite3.Connection, idle_since: datetime) -> int:
    """Runs that events opened."""
    rows = connection.execute(
        """
        SELECT id, run_id, watch_id, processed, failed FROM job_runs
        WHERE status = ? AND trigger = ? AND updated_at <= ?
        """,
        (RunStatus.IN_PROGRESS, EVENTS, milliseconds(idle_since)),
    ).fetchall()
    for run, run_id, watch_id, processed, failed in rows:
        status = status_at_end(Tally(processed=processed, failed=failed))
        close_events(connection, run, status)
        note_last_run(connection, watch_id, run_id)
    return len(rows)


def _ended(run: WatchRun, unknown: list[str], wall: int) -> WatchRun:
    tally = replace(
        run.tally,
        processed=run.tally.processed + len(unknown),
        failed=run.tally.failed + len(unknown),
    )
    missed = [PageFailure(url=url, reason=NOT_CHECKED) for url in unknown[:MOST_FAILURES]]
    return replace(
        run,
        status=status_at_end(tally),
        updated_at=max(run.updated_at, instant(wall)),
        finished_at=instant(wall),
        tally=tally,
        failures=[*run.failures, *missed][:MOST_FAILURES],
    )


def remove_watch(connection: sqlite3.Connection, watch_id: str, wall: int, expire_at: int) -> bool:
    watch = watch_rows.one(connection, watch_id)
    if watch is None:
        return False
    if watch.active_run_id is not None:
        finish(connection, watch.active_run_id, None, None, wall, expire_at)
    connection.execute("DELETE FROM watches WHERE watch_id = ?", (watch.watch_id,))
    return True
