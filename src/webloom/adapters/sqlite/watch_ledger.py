"""Each page of a run once. The counters of a run are the sums of its rows in the ledger.

They are kept up to date in the transaction that stores an event or a check. The watch, and a run
that is not made of events, are not loaded for that.
"""

from __future__ import annotations

import sqlite3
from datetime import timedelta
from typing import NamedTuple

from webloom.adapters.sqlite.batches import plain
from webloom.adapters.sqlite.page_codec import key_of
from webloom.adapters.sqlite.primitives import Change
from webloom.adapters.sqlite.values import instant, milliseconds
from webloom.adapters.sqlite.watch_codec import WATCHES
from webloom.adapters.sqlite.watch_run_codec import RUNS
from webloom.domain.page_check import OUTCOMES, Checked
from webloom.domain.storage_event import StorageEvent
from webloom.domain.watch import (
    EVENTS,
    LastRun,
    Metrics,
    PageFailure,
    RunHead,
    RunStatus,
    Tally,
    external_watch,
)
from webloom.domain.watch_run import Counted, PageOutcome, counting, entered, latest, with_counts
from webloom.stores.primitives import Now

_NOTHING = Tally()


class _Run(NamedTuple):
    id: int
    head: RunHead


def count(
    connection: sqlite3.Connection, seen: StorageEvent | Checked, wall: int, keep_runs: timedelta
) -> None:
    watch_id = plain(seen.watch_id)
    run = None if seen.run_id is None else _find(connection, seen.run_id)
    page = counting(watch_id, seen, run and run.head)
    if page is None:
        return
    is_named = page.run_id == seen.run_id
    key = key_of(seen.watch_id, seen.url) if is_named else bytes.fromhex(page.key)
    outcome, event = page.outcome, page.event
    if run is not None and event is None:
        failure = None
        if page.error is not None:
            failure = PageFailure(url=plain(seen.url), reason=plain(page.error))
        added = _enter(connection, run.id, key, outcome, failure)
        if added is not None:
            _count(connection, run.id, added, wall)
            if page.is_of_events:
                _add_to_watch(connection, watch_id, added)
        return
    run_id, last_run = plain(page.run_id), _last_run(connection, watch_id, wall)
    known = RUNS.load(connection, [run_id]).get(run_id)
    before, added, tally = None, outcome.tally, outcome.tally
    if known is not None:
        before, added = known.state, _enter(connection, known.row[-1], key, outcome) or _NOTHING
        tally = before.run.tally.plus(added)
    counted = Counted(event, tally, keep_runs)
    after, _ = with_counts(before, counted, Now(instant(wall), instant(wall), 0.0))
    RUNS.save(connection, [Change(run_id, known, after)])
    if known is None:
        [number] = connection.execute("SELECT last_insert_rowid()").fetchone()
        _enter(connection, number, key, outcome)
    if after is not None and after.last_event_at is not None:
        last = LastRun(run_id, after.run.status, after.last_event_at)
        _add_to_watch(connection, watch_id, added, last_run, last)


def _find(connection: sqlite3.Connection, run_id: str) -> _Run | None:
    row = connection.execute(
        "SELECT id, watch_id, trigger, status FROM job_runs WHERE run_id = ?", (plain(run_id),)
    ).fetchone()
    return row and _Run(row[0], RunHead(row[1], row[2], RunStatus(row[3])))


def _last_run(connection: sqlite3.Connection, watch_id: str, wall: int) -> LastRun | None:
    """Of an external watch, which is added if there is no watch with this id. Its metrics begin
    with the runs that are kept. None: it has none, or is not external."""
    row = connection.execute(
        "SELECT is_external, last_run_id, last_status, last_run_at FROM watches WHERE watch_id = ?",
        (watch_id,),
    ).fetchone()
    if row is not None:
        is_known = row[0] and row[3] is not None
        return LastRun(row[1], RunStatus(row[2]), instant(row[3])) if is_known else None
    counted = connection.execute(
        """
        SELECT coalesce(sum(processed), 0), coalesce(sum(changes), 0),
            coalesce(sum(price_changes), 0)
        FROM job_runs WHERE watch_id = ? AND trigger = ?
        """,
        (watch_id, EVENTS),
    ).fetchone()
    metrics = Metrics(pages_processed=counted[0], changes=counted[1], price_changes=counted[2])
    watch = external_watch(watch_id, instant(wall), metrics)
    WATCHES.save(connection, [Change(watch_id, None, watch)])
    return None


def _add_to_watch(
    connection: sqlite3.Connection,
    watch_id: str,
    added: Tally,
    known: LastRun | None = None,
    new: LastRun | None = None,
) -> None:
    connection.execute(
        """
        UPDATE watches SET pages_processed = pages_processed + ?,
            changes_detected = changes_detected + ?,
            price_changes_detected = price_changes_detected + ?
        WHERE watch_id = ?
        """,
        (added.processed, added.changes, added.price_changes, watch_id),
    )
    if new is not None and (last := latest(known, new)) != known:
        connection.execute(
            "UPDATE watches SET last_run_id = ?, last_status = ?, last_run_at = ? "
            "WHERE watch_id = ? AND is_external",
            (last.run_id, last.status, milliseconds(last.at), watch_id),
        )


def _enter(
    connection: sqlite3.Connection,
    run: int,
    key: bytes,
    outcome: PageOutcome,
    failure: PageFailure | None = None,
) -> Tally | None:
    """What it adds to the counters of the run; None: it changes nothing."""
    row = connection.execute(
        "SELECT outcome, is_price_change FROM watch_ledger WHERE run = ? AND key = ?", (run, key)
    ).fetchone()
    known = None if row is None else PageOutcome(OUTCOMES[row[0]], bool(row[1]))
    entry = entered(known, outcome, failure)
    if entry is None:
        return None
    new, failure, added = entry
    shown = (None, None) if failure is None else (failure.url, failure.reason)
    connection.execute(
        """
        INSERT OR REPLACE INTO watch_ledger (run, key, outcome, is_price_change, url, error)
        VALUES (?, ?, ?, ?, ?, ?)
        """,
        (run, key, OUTCOMES.index(new.outcome), new.is_price_change, *shown),
    )
    return added


def _count(connection: sqlite3.Connection, run: int, added: Tally, wall: int) -> None:
    connection.execute(
        """
        UPDATE job_runs SET processed = processed + ?, failed = failed + ?, changes = changes + ?,
            price_changes = price_changes + ?, updated_at = max(updated_at, ?)
        WHERE id = ?
        """,
        (*added.values, wall, run),
    )
