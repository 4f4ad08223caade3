"""Rows of `job_runs`, with the URLs that a run in progress checks."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import msgspec

from webloom.adapters.sqlite.batches import plain
from webloom.adapters.sqlite.page_codec import key_of
from webloom.adapters.sqlite.primitives import Change, Row, Table
from webloom.adapters.sqlite.values import encoded, instant, milliseconds
from webloom.deltas import compressed, restored
from webloom.domain.watch import (
    EVENTS,
    MOST_FAILURES,
    PageFailure,
    RunStatus,
    Tally,
    WatchRun,
)
from webloom.domain.watch_run import RunState

LEDGER_MILLISECONDS = 2 * 24 * 3600 * 1000  # that it outlives its run

_failures = msgspec.json.Decoder(list[PageFailure])
_urls = msgspec.json.Decoder(list[str])


def _decode(row: Row) -> RunState:
    is_open, is_of_events = row[3] == RunStatus.IN_PROGRESS, row[4] == EVENTS
    return RunState(
        run=WatchRun(
            run_id=row[0],
            watch_id=row[2],
            status=RunStatus(row[3]),
            trigger=row[4],
            started_at=instant(row[5]),
            updated_at=instant(row[6]),
            finished_at=None if is_open else instant(row[7]),
            pages_total=row[8],
            tally=Tally(processed=row[9], failed=row[10], changes=row[11], price_changes=row[12]),
            failures=_failures.decode(row[13]),
        ),
        published_at=instant(row[14]),
        last_event_at=instant(row[7]) if is_of_events else None,
        expires_at=instant(row[15]),
    )


def _encode(state: RunState) -> dict[str, Any]:
    run, tally = state.run, state.run.tally
    columns: dict[str, Any] = {
        "watch_id": plain(run.watch_id),
        "status": run.status,
        "trigger": plain(run.trigger),
        "started_at": milliseconds(run.started_at),
        "updated_at": milliseconds(run.updated_at),
        "finished_at": milliseconds(state.last_event_at or run.finished_at),
        "pages_total": run.pages_total,
        "processed": tally.processed,
        "failed": tally.failed,
        "changes": tally.changes,
        "price_changes": tally.price_changes,
        "failures": encoded(run.failures),
        "published_at": milliseconds(state.published_at),
        "expire_at": milliseconds(state.expires_at),
    }
    if run.finished_at is not None and run.trigger != EVENTS:
        columns["ledger_until"] = milliseconds(run.finished_at) + LEDGER_MILLISECONDS
    return columns


class _Runs(Table[RunState]):
    def __init__(self) -> None:
        super().__init__(
            "job_runs",
            key="run_id",
            columns=(
                *("id", "watch_id", "status", "trigger", "started_at", "updated_at"),
                *("finished_at", "pages_total", "processed", "failed", "changes"),
                *("price_changes", "failures", "published_at", "expire_at", "ledger_until"),
            ),
            decode=_decode,
            encode=_encode,
        )

    def save(self, connection: sqlite3.Connection, changes: Iterable[Change[RunState]]) -> None:
        changes = list(changes)
        super().save(connection, changes)
        for key, before, after in changes:
            is_open = after is not None and after.run.status is RunStatus.IN_PROGRESS
            if before is None and after is not None and is_open and after.run.trigger != EVENTS:
                connection.execute(
                    "INSERT INTO run_urls (run, urls) SELECT id, ? FROM job_runs WHERE run_id = ?",
                    (compressed(encoded(after.unchecked).encode()), key),
                )
            elif before and after and after.run.status is not RunStatus.IN_PROGRESS:
                connection.execute("DELETE FROM run_urls WHERE run = ?", (before.row[1],))


class _CountedRuns(_Runs):
    """With what its ledger says of a run in progress: failures, and URLs without an outcome."""

    def decode(self, connection: sqlite3.Connection, row: Row) -> RunState:
        state = with_failures(connection, row)
        if state.run.status is not RunStatus.IN_PROGRESS:
            return state
        return replace(state, unchecked=unchecked(connection, row[1], row[2]))


RUNS = _Runs()
COUNTED_RUNS = _CountedRuns()


def with_failures(connection: sqlite3.Connection, row: Row) -> RunState:
    state = _decode(row)
    run = state.run
    if run.status is not RunStatus.IN_PROGRESS or run.tally.failed == 0:
        return state
    rows = connection.execute(
        "SELECT url, error FROM watch_ledger WHERE run = ? AND outcome = 0 LIMIT ?",
        (row[1], MOST_FAILURES),
    )
    failures = [PageFailure(url=url, reason=error) for url, error in rows]
    failures.sort(key=lambda each: each.url)
    return replace(state, run=replace(run, failures=failures))


def unchecked(connection: sqlite3.Connection, run: int, watch_id: str) -> list[str]:
    row = connection.execute("SELECT urls FROM run_urls WHERE run = ?", (run,)).fetchone()
    if row is None:
        return []
    known = {
        key for (key,) in connection.execute("SELECT key FROM watch_ledger WHERE run = ?", (run,))
    }
    return [url for url in _urls.decode(restored(row[0])) if key_of(watch_id, url) not in known]
