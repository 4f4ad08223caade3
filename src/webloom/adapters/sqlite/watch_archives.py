"""Watches, their runs and what is to be told of a SQLite file, whole: to be carried elsewhere, or
brought here. What was told already and the ledger of runs are not carried.
"""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Any, Generic, TypeVar

from webloom.adapters.sqlite import watch_runs
from webloom.adapters.sqlite.archive import SCANNED_AT_ONCE, note_position
from webloom.adapters.sqlite.batches import plain
from webloom.adapters.sqlite.database import Database, Verb
from webloom.adapters.sqlite.notifications import NOTIFICATIONS, notification_of
from webloom.adapters.sqlite.primitives import Change
from webloom.adapters.sqlite.values import encoded, instant, milliseconds
from webloom.adapters.sqlite.watches import WATCHES, watch_of
from webloom.domain.notification import Notification
from webloom.domain.watch import Watch
from webloom.ports.archive import LARGE_SLICE, Fingerprint, Slice
from webloom.ports.watch_archive import (
    KEPT_IN_PROGRESS,
    SOON,
    WholeRun,
    carried_run,
    carried_watch,
    fingerprint_by_reading,
    fingerprint_of,
    is_newer_notice,
    is_newer_run,
    is_newer_watch,
    moment_of_watch,
    size_of,
)

Item = TypeVar("Item")
Row = Sequence[Any]

_MILLISECOND = timedelta(milliseconds=1)


class WatchArchive(ABC, Generic[Item]):
    """One table. Its items stand in the order of a column that never changes."""

    name: str  # of the collection
    source: str
    columns: str  # of which the first is that of the order
    place: str
    first: int | str | bytes  # is before all others in it
    carried = "true"  # which rows are items; `:soon` is when those go that are not carried any more
    by_key: str  # which row is an item's

    def __init__(self, database: Database) -> None:
        self._db = database
        self._writing: Verb[Sequence[Item], None] = Verb(run=self._write)
        self._noting = Verb(run=note_position)

    @abstractmethod
    def key(self, item: Item) -> object:
        """As `by_key` asks for it."""

    @abstractmethod
    def item(self, connection: sqlite3.Connection, row: Row) -> Item:
        """Of `columns`."""

    @abstractmethod
    def put(self, connection: sqlite3.Connection, item: Item) -> None:
        """Unless the one here is newer."""

    @abstractmethod
    def is_newer(self, one: Item, other: Item) -> bool: ...

    async def count(self) -> int:
        soon = self.soon()

        def query(connection: sqlite3.Connection) -> int:
            row = connection.execute(
                f"SELECT count(*) FROM {self.source} WHERE {self.carried}", {"soon": soon}
            ).fetchone()
            return int(row[0])

        return await self._db.scan(query)

    def soon(self) -> int:
        return self._db.wall_ms() + SOON // _MILLISECOND

    async def read(self, position: str | None, limit: int) -> Slice[Item]:
        soon = self.soon()
        return await self._db.scan(lambda connection: self.slice(connection, position, limit, soon))

    def slice(
        self, connection: sqlite3.Connection, position: str | None, limit: int, soon: int
    ) -> Slice[Item]:
        rows = connection.execute(
            f"""
            SELECT {self.columns} FROM {self.source}
            WHERE {self.place} > :after AND {self.carried} ORDER BY {self.place} LIMIT :limit
            """,
            {"after": self._parsed(position), "soon": soon, "limit": limit},
        ).fetchall()
        items = until_large(self.item(connection, row) for row in rows)
        is_last = len(items) == len(rows) < limit
        return Slice(items=items, position=None if is_last else _text(rows[len(items) - 1][0]))

    def _parsed(self, position: str | None) -> int | str | bytes:
        if position is None:
            return self.first
        if isinstance(self.first, bytes):
            return bytes.fromhex(position)
        return type(self.first)(position)

    async def same_as(self, items: Sequence[Item]) -> list[Item | None]:
        return await self._db.scan(lambda connection: self.here(connection, items))

    def here(self, connection: sqlite3.Connection, items: Sequence[Item]) -> list[Item | None]:
        rows = [self.row_of(connection, each) for each in items]
        return [None if row is None else self.item(connection, row) for row in rows]

    def row_of(self, connection: sqlite3.Connection, item: Item) -> Row | None:
        row: Row | None = connection.execute(
            f"SELECT {self.columns} FROM {self.source} WHERE {self.by_key}", (self.key(item),)
        ).fetchone()
        return row

    async def write(self, items: Sequence[Item]) -> Fingerprint:
        await self._db.write(self._writing, items)
        return fingerprint_of(items)

    def _write(self, connection: sqlite3.Connection, batches: list[Sequence[Item]]) -> list[None]:
        for items in batches:
            for item in items:
                self.put(connection, item)
        return [None] * len(batches)

    async def fingerprint(self, progress: Callable[[int], None]) -> Fingerprint:
        return await fingerprint_by_reading(self, SCANNED_AT_ONCE, progress)

    async def copied_until(self, source: str) -> str | None:
        def query(connection: sqlite3.Connection) -> str | None:
            row = connection.execute(
                "SELECT position FROM copies WHERE source = ?", (f"{self.name} {source}",)
            ).fetchone()
            return None if row is None else str(row[0])

        return await self._db.read(query)

    async def note_copied(self, source: str, position: str | None) -> None:
        await self._db.write(self._noting, (f"{self.name} {source}", position))


def until_large(items: Iterable[Item]) -> list[Item]:
    """As many as make a slice."""
    taken: list[Item] = []
    size = 0
    for item in items:
        taken.append(item)
        size += size_of(item)
        if size >= LARGE_SLICE:
            break
    return taken


def _text(place: Any) -> str:
    return place.hex() if isinstance(place, bytes) else str(place)


class SqliteWatchArchive(WatchArchive[Watch]):
    name = source = "watches"
    columns = WATCHES.columns
    place, first = "watch_id", ""
    by_key = "watch_id = ?"

    def key(self, item: Watch) -> str:
        return plain(item.watch_id)

    def item(self, connection: sqlite3.Connection, row: Row) -> Watch:
        return carried_watch(watch_of(row))

    def put(self, connection: sqlite3.Connection, item: Watch) -> None:
        """A run that is active here stays so, and metrics never get smaller."""
        connection.execute(
            """
            INSERT INTO watches (watch_id, name, config, created_at, updated_at, next_run_at,
                                 last_run_id, last_status, last_run_at, failures, is_external,
                                 pages_processed, changes_detected, price_changes_detected)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (watch_id) DO UPDATE SET name = excluded.name, config = excluded.config,
                created_at = excluded.created_at, updated_at = excluded.updated_at,
                next_run_at = excluded.next_run_at, last_run_id = excluded.last_run_id,
                last_status = excluded.last_status, last_run_at = excluded.last_run_at,
                failures = excluded.failures, is_external = excluded.is_external,
                pages_processed = max(watches.pages_processed, excluded.pages_processed),
                changes_detected = max(watches.changes_detected, excluded.changes_detected),
                price_changes_detected =
                    max(watches.price_changes_detected, excluded.price_changes_detected)
            WHERE max(watches.updated_at, coalesce(watches.last_run_at, watches.updated_at)) <= ?
            """,
            (
                plain(item.watch_id),
                plain(item.config.name),
                encoded(item.config),
                milliseconds(item.created_at),
                milliseconds(item.updated_at),
                milliseconds(item.next_run_at),
                item.last_run_id and plain(item.last_run_id),
                item.last_status,
                milliseconds(item.last_run_at),
                item.failures,
                item.is_external,
                item.metrics.pages_processed,
                item.metrics.changes,
                item.metrics.price_changes,
                milliseconds(moment_of_watch(item)),
            ),
        )

    def is_newer(self, one: Watch, other: Watch) -> bool:
        return is_newer_watch(one, other)


class SqliteWatchRunArchive(WatchArchive[WholeRun]):
    name = source = "job_runs"
    columns = "id, run_id, expire_at"
    place, first = "id", 0
    carried = f"coalesce(expire_at, updated_at + {KEPT_IN_PROGRESS // _MILLISECOND}) > :soon"
    by_key = "run_id = ?"

    def key(self, item: WholeRun) -> str:
        return plain(item.run.run_id)

    def item(self, connection: sqlite3.Connection, row: Row) -> WholeRun:
        _, run_id, expire_at = row
        [state] = watch_runs.find(connection, "run_id = ?", run_id)
        return carried_run(
            state.run, instant(expire_at), lambda: watch_runs.unchecked_in(connection, run_id)
        )

    def put(self, connection: sqlite3.Connection, item: WholeRun) -> None:
        """One that is in progress here stays so."""
        run = item.run
        connection.execute(
            """
            INSERT INTO job_runs (run_id, watch_id, status, trigger, started_at, updated_at,
                                  finished_at, pages_total, processed, failed, changes,
                                  price_changes, failures, expire_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (run_id) DO UPDATE SET status = excluded.status,
                started_at = excluded.started_at, updated_at = excluded.updated_at,
                finished_at = excluded.finished_at, processed = excluded.processed,
                failed = excluded.failed, changes = excluded.changes,
                price_changes = excluded.price_changes, failures = excluded.failures,
                expire_at = excluded.expire_at
            WHERE job_runs.updated_at <= excluded.updated_at AND job_runs.status != 'in_progress'
            """,
            (
                plain(run.run_id),
                plain(run.watch_id),
                run.status,
                plain(run.trigger),
                milliseconds(run.started_at),
                milliseconds(run.updated_at),
                milliseconds(run.finished_at),
                run.pages_total,
                run.tally.processed,
                run.tally.failed,
                run.tally.changes,
                run.tally.price_changes,
                encoded(run.failures),
                milliseconds(item.expires_at),
            ),
        )

    def is_newer(self, one: WholeRun, other: WholeRun) -> bool:
        return is_newer_run(one, other)


class SqliteNoticeArchive(WatchArchive[Notification]):
    """Those that are not sent."""

    name = source = "notices"
    columns = f"id, {NOTIFICATIONS.columns}"
    place, first = "id", 0
    carried = "sent_at IS NULL AND given_up = 0"
    by_key = "notice_id = ?"

    def key(self, item: Notification) -> str:
        return plain(item.notification_id)

    def item(self, connection: sqlite3.Connection, row: Row) -> Notification:
        return notification_of(row[1:])

    def put(self, connection: sqlite3.Connection, item: Notification) -> None:
        key = self.key(item)
        if not NOTIFICATIONS.load(connection, [key]):
            NOTIFICATIONS.save(connection, [Change(key, None, item)])

    def is_newer(self, one: Notification, other: Notification) -> bool:
        return is_newer_notice(one, other)
