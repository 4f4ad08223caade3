"""Rows of `job_runs`, with the URLs that a run in progress checks."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import msgspec

from webloom.adapters.sqlite.page_codec import key_of
from webloom.adapters.sqlite.primitives import Change, Loaded, Row, Table
from webloom.adapters.sqlite.values import Columns, encoded, instant
from webloom.deltas import compressed, restored
from webloom.domain.watch import (
    EVENTS,
    MOST_FAILURES,
    PageFailure,
    RunStatus,
    Tally,
    WatchRun,
)
from webloom.domain.watch_run import RunState, ledger_until

_RUN = Columns(WatchRun, without=("tally",))
_TALLY = Columns(Tally)

_urls = msgspec.json.Decoder(list[str])


def _decode(row: Row) -> RunState:
    """In a run of events, `finished_at` is when the latest event was."""
    run = _RUN.decode(row, tally=_TALLY.decode(row[len(_RUN.names) :]))
    last = run.finished_at
    if last is not None and run.status is RunStatus.IN_PROGRESS:
        run = replace(run, finished_at=None)
    published_at, expires_at = map(instant, row[-4:-2])
    return RunState(
        run=run,
        published_at=published_at,
        last_event_at=last if run.trigger == EVENTS else None,
        expires_at=expires_at,
    )


def _encode(state: RunState) -> dict[str, Any]:
    run = state.run
    columns = _RUN.encode(run) | _TALLY.encode(run.tally)
    columns |= {
        "finished_at": state.last_event_at or run.finished_at,
        "published_at": state.published_at,
        "expire_at": state.expires_at,
    }
    if (until := ledger_until(state)) is not None:
        columns["ledger_until"] = until
    return columns


class _Runs(Table[RunState]):
    def __init__(self) -> None:
        super().__init__(
            "job_runs",
            key="run_id",
            columns=(
                *(*_RUN.names[1:], *_TALLY.names),
                *("published_at", "expire_at", "ledger_until", "id"),
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
                connection.execute("DELETE FROM run_urls WHERE run = ?", (before.row[-1],))


class _CountedRuns(_Runs):
    """With what its ledger says of a run in progress: failures, and URLs without an outcome."""

    def decode(self, connection: sqlite3.Connection, row: Row) -> RunState:
        state = with_failures(connection, row)
        if state.run.status is not RunStatus.IN_PROGRESS:
            return state
        return replace(state, unchecked=unchecked(connection, row[-1], state.run.watch_id))

    def _saved(self, loaded: Loaded[RunState]) -> RunState:
        return _decode(loaded.row)


RUNS = _Runs()
COUNTED_RUNS = _CountedRuns()


def with_failures(connection: sqlite3.Connection, row: Row) -> RunState:
    state = _decode(row)
    run = state.run
    if run.status is not RunStatus.IN_PROGRESS or run.tally.failed == 0:
        return state
    rows = connection.execute(
        "SELECT url, error FROM watch_ledger WHERE run = ? AND outcome = 0 LIMIT ?",
        (row[-1], MOST_FAILURES),
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
