"""Rows of `watches`. What a person decides is one JSON object."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from webloom.adapters.sqlite.batches import plain
from webloom.adapters.sqlite.page_cursors import cursor_of, values_of
from webloom.adapters.sqlite.page_rows import forget_validators
from webloom.adapters.sqlite.values import encoded, instant, milliseconds
from webloom.domain.watch import (
    EVENTS,
    Metrics,
    RunStatus,
    Watch,
    WatchConfig,
    external_config,
)
from webloom.ports.watch_store import WatchCounts

COLUMNS = (
    "watches.watch_id, config, created_at, watches.updated_at, next_run_at, active_run_id, "
    "last_run_id, last_status, last_run_at, watches.failures, is_external, pages_processed, "
    "changes_detected, price_changes_detected"
)

_configs = msgspec.json.Decoder(WatchConfig)


def watch_of(row: Sequence[Any]) -> Watch:
    """Of COLUMNS."""
    return Watch(
        watch_id=row[0],
        config=_configs.decode(row[1]),
        created_at=instant(row[2]),
        updated_at=instant(row[3]),
        next_run_at=instant(row[4]),
        active_run_id=row[5],
        last_run_id=row[6],
        last_status=None if row[7] is None else RunStatus(row[7]),
        last_run_at=instant(row[8]),
        failures=row[9],
        is_external=bool(row[10]),
        metrics=Metrics(pages_processed=row[11], changes=row[12], price_changes=row[13]),
    )


def find(connection: sqlite3.Connection, where: str, *values: object) -> list[Watch]:
    rows = connection.execute(f"SELECT {COLUMNS} FROM watches WHERE {where}", values)
    return [watch_of(row) for row in rows]


def one(connection: sqlite3.Connection, watch_id: str) -> Watch | None:
    return next(iter(find(connection, "watch_id = ?", plain(watch_id))), None)


def listed(
    limit: int, cursor: str | None
) -> Callable[[sqlite3.Connection], tuple[list[Watch], str | None]]:
    behind = ("", "") if cursor is None else values_of(cursor, str, str)

    def query(connection: sqlite3.Connection) -> tuple[list[Watch], str | None]:
        where = "(name, watch_id) > (?, ?) ORDER BY name, watch_id LIMIT ?"
        found = find(connection, where, *behind, limit + 1)
        if len(found) <= limit:
            return found, None
        last = found[limit - 1]
        return found[:limit], cursor_of(plain(last.config.name), last.watch_id)

    return query


def counted(connection: sqlite3.Connection) -> WatchCounts:
    every, *some = connection.execute(
        """
        SELECT count(*), sum(enabled), sum(active_run_id IS NOT NULL), sum(failures > 0)
        FROM watches INDEXED BY watches_counted
        """
    ).fetchone()
    enabled, checking, failing = (each or 0 for each in some)
    return WatchCounts(all=every, enabled=enabled, checking=checking, failing=failing)


def add(
    connection: sqlite3.Connection,
    watch_id: str,
    config: WatchConfig,
    next_run_at: datetime | None,
    wall: int,
) -> tuple[Watch, bool]:
    made = connection.execute(
        """
        INSERT INTO watches
            (watch_id, name, config, created_at, updated_at, next_run_at, failures)
        VALUES (?, ?, ?, ?, ?, ?, 0) ON CONFLICT (watch_id) DO NOTHING
        """,
        (
            plain(watch_id),
            plain(config.name),
            encoded(config),
            wall,
            wall,
            milliseconds(next_run_at),
        ),
    )
    [watch] = find(connection, "watch_id = ?", plain(watch_id))
    return watch, made.rowcount > 0


def add_external(connection: sqlite3.Connection, job_id: str, wall: int) -> None:
    """Unless there is a watch of that id. Its metrics begin with what is kept of its runs."""
    known = connection.execute("SELECT 1 FROM watches WHERE watch_id = ?", (plain(job_id),))
    if known.fetchone() is not None:
        return
    config = external_config(job_id)
    connection.execute(
        """
        INSERT INTO watches (watch_id, name, config, created_at, updated_at, failures, is_external,
                             pages_processed, changes_detected, price_changes_detected)
        SELECT :watch_id, :name, :config, :wall, :wall, 0, 1, coalesce(sum(processed), 0),
            coalesce(sum(changes), 0), coalesce(sum(price_changes), 0)
        FROM job_runs WHERE watch_id = :watch_id AND trigger = :events
        """,
        {
            "watch_id": plain(job_id),
            "name": plain(config.name),
            "config": encoded(config),
            "wall": wall,
            "events": EVENTS,
        },
    )


def edit(
    connection: sqlite3.Connection,
    watch_id: str,
    config: WatchConfig,
    next_run_at: datetime | None,
    wall: int,
) -> Watch | None:
    watch = one(connection, watch_id)
    if watch is None:
        return None
    if (config.enabled, config.schedule) == (watch.config.enabled, watch.config.schedule):
        next_run_at = watch.next_run_at
    connection.execute(
        """
        UPDATE watches SET name = ?, config = ?, next_run_at = ?, updated_at = ? WHERE watch_id = ?
        """,
        (
            plain(config.name),
            encoded(config),
            milliseconds(next_run_at),
            wall,
            plain(watch_id),
        ),
    )
    if config.selection != watch.config.selection:
        forget_validators(connection, watch_id, wall)
    return one(connection, watch_id)


def due(connection: sqlite3.Connection, now: datetime, limit: int) -> list[Watch]:
    # By the row and not by the id: 100,000 that are due at one moment are not sorted then.
    return find(
        connection,
        "next_run_at <= ? AND active_run_id IS NULL ORDER BY next_run_at, rowid LIMIT ?",
        milliseconds(now),
        limit,
    )
