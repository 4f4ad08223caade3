"""What the tables take, and what goes from them: slice by slice, so that others can write.

What has expired goes first. While there is more than `prune_goal` allows, the oldest of what is
superseded goes, as `prune_steps` has it.
"""

from __future__ import annotations

import sqlite3
from typing import Any, NamedTuple

from webloom.adapters.sqlite.batches import for_each
from webloom.adapters.sqlite.database import Database, Operation
from webloom.adapters.sqlite.inbox import note_unread
from webloom.domain.retention import (
    Prunable,
    PruneGoal,
    Retention,
    is_storage_full,
    prune_goal,
    prune_steps,
)
from webloom.ports.page_storage import Usage

DAY = 24 * 3600 * 1000  # milliseconds
SLICE = 500  # rows that one transaction removes
_WITHOUT_LOG = "NOT EXISTS (SELECT 1 FROM change_logs WHERE snapshot = snapshots.id)"


class SqlitePageStorage:
    """`budget`: bytes that watch data may take, about."""

    def __init__(self, database: Database, *, retention: Retention, budget: int) -> None:
        self._db = database
        self._retention = retention
        self._budget = budget
        self._expiring = Operation(run=for_each(self._expire), frees=True)
        self._pruning = Operation(run=for_each(self._prune), frees=True)

    async def usage(self, *, with_superseded: bool = True) -> list[Usage]:
        def query(connection: sqlite3.Connection) -> list[Usage]:
            rows = connection.execute(
                """
                SELECT collection, items, bytes, superseded_items, superseded_bytes
                FROM watch_usage ORDER BY collection
                """
            )
            return [
                Usage(
                    collection=row[0],
                    items=row[1],
                    bytes=row[2],
                    superseded_items=row[3],
                    superseded_bytes=row[4],
                )
                for row in rows
            ]

        return await self._db.read(query)

    async def prune(self, *, expired_only: bool = False) -> int:
        gone, is_last = 0, False
        while not is_last:
            expired = await self._db.write(self._expiring, None)
            gone += expired.items
            is_last = expired.is_last
        await self._db.measure_room()
        if expired_only:
            return gone
        used = await self._db.read(used_bytes)
        room = self._db.room
        goal = prune_goal(
            used.all, self._budget, excess=room.excess, is_database_full=room.full is not None
        )
        if goal is not None:
            while items := await self._db.write(self._pruning, goal):
                gone += items
            self._db.note_pruned()
            await self._db.measure_room()
        return gone

    async def is_full(self) -> bool:
        used = await self._db.read(used_bytes)
        return is_storage_full(used.all, used.superseded, self._budget)

    def _expire(self, connection: sqlite3.Connection, _: None) -> Slice:
        return expire(connection, self._db.wall_ms(), self._retention)

    def _prune(self, connection: sqlite3.Connection, goal: PruneGoal) -> int:
        return prune(connection, goal, self._db.wall_ms(), self._retention)


class UsedBytes(NamedTuple):
    all: int
    superseded: int


def used_bytes(connection: sqlite3.Connection) -> UsedBytes:
    row = connection.execute("SELECT sum(bytes), sum(superseded_bytes) FROM watch_usage").fetchone()
    return UsedBytes._make(row)


# What has expired


class Slice(NamedTuple):
    items: int  # versions with content, change logs, price records, notifications and runs
    is_last: bool


def expire(connection: sqlite3.Connection, wall: int, retention: Retention) -> Slice:
    """Remove a slice of what has expired."""
    items, rows = _expire_versions(connection, wall, retention)
    for table, key in (("change_logs", "snapshot"), ("price_history", "key"), ("notices", "id")):
        keys = connection.execute(
            f"SELECT {key} FROM {table} WHERE expire_at <= ? ORDER BY expire_at LIMIT ?",
            (wall, SLICE),
        ).fetchall()
        _remove(connection, table, key, [each for (each,) in keys], wall)
        items, rows = items + len(keys), rows + len(keys)
    removed, ledger = _expire_runs(connection, wall)
    return Slice(items + removed, rows + removed + ledger == 0)


def _expire_versions(
    connection: sqlite3.Connection, wall: int, retention: Retention
) -> tuple[int, int]:
    """How many contents, and how many rows were looked at."""
    rows = connection.execute(
        """
        SELECT id, bytes FROM snapshots WHERE expire_at <= ? ORDER BY expire_at, below LIMIT ?
        """,
        (wall, SLICE),
    ).fetchall()
    contents = [slot for slot, size in rows if size]
    _drop_contents(connection, contents, wall, retention)
    for slot in (slot for slot, size in rows if not size):
        # The number of a change log is its version's.
        connection.execute(
            """
            UPDATE snapshots SET expire_at = ? WHERE id = ?
                AND EXISTS (SELECT 1 FROM change_logs WHERE snapshot = id)
            """,
            (expiry(wall, retention.emptied_versions), slot),
        )
        connection.execute("DELETE FROM snapshots WHERE id = ? AND expire_at <= ?", (slot, wall))
    return len(contents), len(rows)


def _remove(
    connection: sqlite3.Connection, table: str, key: str, keys: list[Any], wall: int
) -> None:
    if table == "change_logs":
        note_unread(connection, keys, wall)
    connection.executemany(f"DELETE FROM {table} WHERE {key} = ?", [(each,) for each in keys])


def expiry(wall: int, days: float) -> int:
    return wall + int(days * DAY)


def _drop_contents(
    connection: sqlite3.Connection, slots: list[int], wall: int, retention: Retention
) -> None:
    """Of versions that no delta depends on."""
    connection.executemany("DELETE FROM snapshot_bodies WHERE id = ?", [(slot,) for slot in slots])
    connection.executemany(
        "UPDATE snapshots SET bytes = 0, base = NULL, below = 0, expire_at = ? WHERE id = ?",
        [(expiry(wall, retention.emptied_versions), slot) for slot in slots],
    )


def _expire_runs(connection: sqlite3.Connection, wall: int) -> tuple[int, int]:
    """How many runs, and how much of the ledger, which goes first."""
    connection.execute(
        "UPDATE job_runs SET ledger_until = expire_at WHERE expire_at <= ? AND ledger_until > ?",
        (wall, wall),
    )
    rows = 0
    run = connection.execute(
        "SELECT id FROM job_runs WHERE ledger_until <= ? ORDER BY ledger_until LIMIT 1", (wall,)
    ).fetchone()
    if run is not None:
        rows = connection.execute(
            """
            DELETE FROM watch_ledger WHERE run = ?1 AND key IN
                (SELECT key FROM watch_ledger WHERE run = ?1 LIMIT ?2)
            """,
            (run[0], SLICE),
        ).rowcount
        if rows < SLICE:
            connection.execute("UPDATE job_runs SET ledger_until = NULL WHERE id = ?", run)
            rows += 1
    runs = connection.execute(
        """
        DELETE FROM job_runs WHERE id IN (
            SELECT id FROM job_runs WHERE expire_at <= ? AND ledger_until IS NULL LIMIT ?)
        """,
        (wall, SLICE),
    ).rowcount
    return runs, rows


# What is superseded


class _Rows(NamedTuple):
    table: str
    key: str
    bytes: str  # that one takes
    chosen: str
    order: str = "expire_at"


_PRUNABLE = {
    Prunable.CONTENTS: _Rows("snapshots", "id", "bytes", "bytes > 0", "expire_at, below"),
    Prunable.CHANGE_LOGS: _Rows("change_logs", "snapshot", "150 + length(body)", "untold = 0"),
    Prunable.PRICES: _Rows("price_history", "key", "200", "true"),
    Prunable.EMPTIED_VERSIONS: _Rows("snapshots", "id", "200", _WITHOUT_LOG),
    # With each goes the row of its version, next time.
    Prunable.PENDING_CHANGE_LOGS: _Rows("change_logs", "snapshot", "350 + length(body)", "true"),
}


def prune(connection: sqlite3.Connection, goal: PruneGoal, wall: int, retention: Retention) -> int:
    """Remove a slice of what is superseded; 0: enough is free, or nothing is left."""
    used = used_bytes(connection).all
    for prunable, most in prune_steps(goal):
        rows = _PRUNABLE[prunable]
        keys = _oldest(connection, rows, used - most)
        if keys and prunable is Prunable.CONTENTS:
            _drop_contents(connection, keys, wall, retention)
        elif keys:
            _remove(connection, rows.table, rows.key, keys, wall)
        if keys:
            return len(keys)
    return 0


def _oldest(connection: sqlite3.Connection, rows: _Rows, excess: int) -> list[Any]:
    """As many of a slice as free that many bytes."""
    keys: list[Any] = []
    if excess <= 0:
        return keys
    for found, freed in connection.execute(
        f"SELECT {rows.key}, {rows.bytes} FROM {rows.table} "
        f"WHERE expire_at IS NOT NULL AND {rows.chosen} ORDER BY {rows.order} LIMIT {SLICE}"
    ).fetchall():
        if excess <= 0:
            break
        keys.append(found)
        excess -= freed
    return keys
