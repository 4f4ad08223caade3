"""Rows of `import_runs`. All that a reader sees of a run is one JSON object."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from webloom.adapters.sqlite.batches import plain
from webloom.adapters.sqlite.values import encoded, milliseconds
from webloom.domain.import_run import ImportRun
from webloom.ports.import_store import RunFilter, RunPage

COUNT_ALL_SECONDS = 60.0  # as long as a run with a lower number may be missed

_COLUMNS = "run, body, feed_id, revision, started, owner, token, lease"

decode = msgspec.json.Decoder(ImportRun).decode


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    number: int
    run: ImportRun
    revision: int | None
    started: float
    owner: str | None
    token: int


def find(connection: sqlite3.Connection, where: str, *values: object) -> list[Row]:
    rows = connection.execute(f"SELECT {_COLUMNS} FROM import_runs WHERE {where}", values)
    return [
        Row(
            number=number,
            run=decode(body),
            revision=revision,
            started=started,
            owner=owner,
            token=token,
        )
        for number, body, _, revision, started, owner, token, _ in rows
    ]


def one(connection: sqlite3.Connection, run_id: str) -> Row | None:
    number = number_of(connection, run_id)
    return next(iter(find(connection, "run = ?", number)), None)


def number_of(connection: sqlite3.Connection, run_id: str) -> int | None:
    row = connection.execute(
        "SELECT id FROM run_names WHERE run_id = ?", (plain(run_id),)
    ).fetchone()
    return row and int(row[0])


def numbered(connection: sqlite3.Connection, run_id: str) -> int:
    """The number that stands for a run, from now on."""
    connection.execute("INSERT OR IGNORE INTO run_names (run_id) VALUES (?)", (plain(run_id),))
    [number] = connection.execute(
        "SELECT id FROM run_names WHERE run_id = ?", (plain(run_id),)
    ).fetchone()
    return int(number)


def write(connection: sqlite3.Connection, number: int, run: ImportRun) -> None:
    connection.execute(
        "UPDATE import_runs SET body = ?, status = ?, updated_at = ? WHERE run = ?",
        (encoded(run), run.status, milliseconds(run.updated_at), number),
    )


def insert(
    connection: sqlite3.Connection,
    run: ImportRun,
    *,
    revision: int | None,
    started: float,
    owner: str | None = None,
    lease: float = 0.0,
) -> None:
    search = plain(f"{run.source_name}\n{run.source_url}".casefold())
    connection.execute(
        f"""
        INSERT OR REPLACE INTO import_runs
            ({_COLUMNS}, source_url, search, status, started_at, updated_at)
        VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?)
        """,
        (
            numbered(connection, run.run_id),
            encoded(run),
            plain(run.feed_id),
            revision,
            started,
            owner,
            lease,
            plain(run.source_url),
            search,
            run.status,
            milliseconds(run.started_at),
            milliseconds(run.updated_at),
        ),
    )


class AllRuns:
    """How many runs there are. None is ever removed and nearly each new one has a higher number, so
    that only those behind the last count are counted. But a posting that is copied gives a number
    to its run before the run is there: now and then all are counted anew."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._known = (0, 0)  # the number of the last run that is counted, and how many those are
        self._all_counted_at = now()

    def count(self, connection: sqlite3.Connection) -> int:
        now = self._now()
        if now - self._all_counted_at >= COUNT_ALL_SECONDS:
            self._known, self._all_counted_at = (0, 0), now
        last, known = self._known
        newest, more = connection.execute(
            "SELECT max(run), count(*) FROM import_runs WHERE run > ?", (last,)
        ).fetchone()
        self._known = (newest or last, known + more)
        return int(known + more)


def page(
    connection: sqlite3.Connection, chosen: RunFilter, offset: int, limit: int, every: AllRuns
) -> RunPage:
    conditions: dict[str, Any] = {
        "status = ?": chosen.status,
        "source_url = ?": chosen.source_url and plain(chosen.source_url),
        "instr(search, ?) > 0": chosen.text and plain(chosen.text.casefold()),
        "started_at >= ?": milliseconds(chosen.since),
        "started_at <= ?": milliseconds(chosen.until),
    }
    given = {condition: value for condition, value in conditions.items() if value is not None}
    where, values = " AND ".join(given) or "true", given.values()
    if given:
        [total] = connection.execute(
            f"SELECT count(*) FROM import_runs WHERE {where}", tuple(values)
        ).fetchone()
    else:
        total = every.count(connection)
    order = "ORDER BY started_at DESC, run DESC LIMIT ? OFFSET ?"
    rows = find(connection, f"{where} {order}", *values, limit, offset)
    return RunPage(runs=[row.run for row in rows], total=total)


def changed(connection: sqlite3.Connection, since: int | None, limit: int) -> list[ImportRun]:
    where = "status = 'running'" if since is None else "updated_at >= ?"
    values = () if since is None else (since,)
    rows = find(connection, f"{where} ORDER BY updated_at, run LIMIT ?", *values, limit)
    return [row.run for row in rows]


def missing(connection: sqlite3.Connection, run_id: str, published: int) -> list[int]:
    [found] = connection.execute(
        """
        SELECT json_group_array(batch_index) FROM import_batches WHERE run = ? AND batch_index < ?
        """,
        (number_of(connection, run_id), published),
    ).fetchone()
    there = set(msgspec.json.decode(found))
    return [index for index in range(published) if index not in there]
