"""Each page of a run once. The counters of a run are the sums of its rows in the ledger.

They are kept up to date in the transaction that stores an event or a check, without loading the run
and its watch.
"""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from webloom.adapters.sqlite.batches import plain
from webloom.adapters.sqlite.page_codec import key_of
from webloom.adapters.sqlite.primitives import Change
from webloom.adapters.sqlite.values import instant, milliseconds
from webloom.adapters.sqlite.watch_run_codec import LEDGER_MILLISECONDS
from webloom.adapters.sqlite.watches import WATCHES
from webloom.domain.page_check import OUTCOMES, Checked
from webloom.domain.storage_event import StorageEvent
from webloom.domain.watch import (
    EVENTS,
    LastRun,
    Metrics,
    Outcome,
    RunHead,
    RunStatus,
    Tally,
    external_watch,
    is_counted,
)
from webloom.domain.watch_run import EventRun, PageOutcome, latest, merged, with_event

_NOTHING = Tally()


class _Run(NamedTuple):
    id: int
    head: RunHead
    of_events: EventRun


def count_check(connection: sqlite3.Connection, checked: Checked, wall: int) -> None:
    run = _find(connection, checked.run_id)
    if run is None or not is_counted(plain(checked.job_id), run.head, is_event=False):
        return
    failure = None
    if checked.outcome is Outcome.FAILED:
        failure = plain(checked.url), plain(checked.error or "it failed")
    key = key_of(checked.job_id, checked.url)
    added = _enter(connection, run.id, key, PageOutcome(checked.outcome), failure)
    if added is not None:
        _count(connection, run.id, added, wall)
        if run.head.trigger == EVENTS:
            _add_to_watch(connection, run.head.watch_id, added)


def count_event(
    connection: sqlite3.Connection, event: StorageEvent, wall: int, expire_at: int
) -> None:
    """`expire_at` is for a run of events."""
    job_id, run_id = plain(event.job_id), event.counting_run
    run = _find(connection, run_id)
    if run is not None and run.head.watch_id != job_id:
        event = event.without_run
        run_id = event.counting_run
        run = _find(connection, run_id)
    if not is_counted(job_id, run and run.head, is_event=True):
        return
    is_named = event.run_id is not None
    key = key_of(event.job_id, event.url) if is_named else bytes.fromhex(event.counted_as)
    outcome = PageOutcome(
        Outcome.CHANGED if event.is_change else Outcome.UNCHANGED,
        event.price is not None and event.price.is_change,
    )
    if run is not None and run.head.trigger != EVENTS:
        if (added := _enter(connection, run.id, key, outcome)) is not None:
            _count(connection, run.id, added, wall)
        return
    last_run = _last_run(connection, job_id, wall)
    state = with_event(run and run.of_events, event)
    values = (plain(run_id), job_id, state.status, event.ts, wall)
    number = _open(connection, values) if run is None else run.id
    added = _enter(connection, number, key, outcome) or _NOTHING
    _count(
        connection,
        number,
        added,
        wall,
        status=state.status,
        started_at=state.first,
        finished_at=state.last,
        expire_at=expire_at,
        ledger_until=max(expire_at, wall + LEDGER_MILLISECONDS),
    )
    last = LastRun(plain(run_id), state.status, instant(state.last))
    _add_to_watch(connection, job_id, added, last_run, last)


def _find(connection: sqlite3.Connection, run_id: str) -> _Run | None:
    row = connection.execute(
        """
        SELECT id, watch_id, trigger, status, started_at, finished_at FROM job_runs
        WHERE run_id = ?
        """,
        (plain(run_id),),
    ).fetchone()
    if row is None:
        return None
    run, watch_id, trigger, value, first, last = row
    status = RunStatus(value)
    return _Run(run, RunHead(watch_id, trigger, status), EventRun(status, first, last or first))


def _open(connection: sqlite3.Connection, values: tuple[object, ...]) -> int:
    [run] = connection.execute(
        f"""
        INSERT INTO job_runs (run_id, watch_id, status, started_at, updated_at, trigger)
        VALUES (?, ?, ?, ?, ?, '{EVENTS}') RETURNING id
        """,
        values,
    ).fetchone()
    return int(run)


def _last_run(connection: sqlite3.Connection, job_id: str, wall: int) -> LastRun | None:
    """Of an external watch, which is added if there is no watch with this id. Its metrics begin
    with the runs that are kept. None: it has none, or is not external."""
    row = connection.execute(
        "SELECT is_external, last_run_id, last_status, last_run_at FROM watches WHERE watch_id = ?",
        (job_id,),
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
        (job_id, EVENTS),
    ).fetchone()
    metrics = Metrics(pages_processed=counted[0], changes=counted[1], price_changes=counted[2])
    watch = external_watch(job_id, instant(wall), metrics)
    WATCHES.save(connection, [Change(job_id, None, watch)])
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
    failure: tuple[str, str] | None = None,  # URL and reason
) -> Tally | None:
    """What it adds to the counters of the run; None: it changes nothing."""
    row = connection.execute(
        "SELECT outcome, is_price_change FROM watch_ledger WHERE run = ? AND key = ?", (run, key)
    ).fetchone()
    known = None if row is None else PageOutcome(OUTCOMES[row[0]], bool(row[1]))
    new = merged(known, outcome)
    if new == known:
        return None
    if new.outcome is not Outcome.FAILED:
        failure = None
    connection.execute(
        """
        INSERT OR REPLACE INTO watch_ledger (run, key, outcome, is_price_change, url, error)
        VALUES (?, ?, ?, ?, ?, ?)
        """,
        (run, key, OUTCOMES.index(new.outcome), new.is_price_change, *(failure or (None, None))),
    )
    return new.tally if known is None else new.tally.minus(known.tally)


def _count(
    connection: sqlite3.Connection, run: int, added: Tally, wall: int, **columns: int | str
) -> None:
    counters = (added.processed, added.failed, added.changes, added.price_changes)
    more = "".join(f", {name} = ?" for name in columns)
    connection.execute(
        f"""
        UPDATE job_runs SET processed = processed + ?, failed = failed + ?, changes = changes + ?,
            price_changes = price_changes + ?, updated_at = max(updated_at, ?){more}
        WHERE id = ?
        """,
        (*counters, wall, *columns.values(), run),
    )
