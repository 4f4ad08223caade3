"""What the tables take, and what goes from them: slice by slice, so that others can write.

What has expired goes first. While the budget is passed, so does the oldest of what is superseded:
contents of versions, then change logs, then price records, then the rows of versions without
content. Change logs that people are still to be told of go at last, as many as the budget has no
room for.
"""

from __future__ import annotations

import sqlite3
from typing import Any, NamedTuple

from webloom.adapters.sqlite.batches import plain
from webloom.ports.page_store import Retention, Usage

DAY = 24 * 3600 * 1000  # milliseconds
SLICE = 500  # rows that one transaction removes
SLICE_OF_PAGES = 20
PRUNED_TO = 0.9  # of the budget
_WITHOUT_LOG = "NOT EXISTS (SELECT 1 FROM change_logs WHERE snapshot = snapshots.id)"


class Taken(NamedTuple):
    bytes: int
    superseded: int  # of them


def taken(connection: sqlite3.Connection) -> Taken:
    row = connection.execute("SELECT sum(bytes), sum(superseded_bytes) FROM watch_usage").fetchone()
    return Taken._make(row)


def usage(connection: sqlite3.Connection) -> list[Usage]:
    rows = connection.execute(
        """
        SELECT collection, items, bytes, superseded_items, superseded_bytes FROM watch_usage
        ORDER BY collection
        """
    )
    return [
        Usage(
            collection=collection,
            items=items,
            bytes=taken,
            superseded_items=superseded_items,
            superseded_bytes=superseded_bytes,
        )
        for collection, items, taken, superseded_items, superseded_bytes in rows
    ]


class Slice(NamedTuple):
    items: int  # that people know of
    is_last: bool


def expire(connection: sqlite3.Connection, wall: int, retention: Retention) -> Slice:
    """Remove a slice of what has expired."""
    items, rows = _expire_versions(connection, wall, retention)
    for table, key in (("change_logs", "snapshot"), ("price_history", "key"), ("notices", "id")):
        removed = _remove(connection, table, key, wall)
        items, rows = items + removed, rows + removed
    removed, ledger = _expire_runs(connection, wall)
    return Slice(items + removed, rows + removed + ledger == 0)


def _remove(connection: sqlite3.Connection, table: str, key: str, wall: int) -> int:
    return connection.execute(
        f"DELETE FROM {table} WHERE {key} IN "
        f"(SELECT {key} FROM {table} WHERE expire_at <= ? ORDER BY expire_at LIMIT ?)",
        (wall, SLICE),
    ).rowcount


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
            (row_expiry(wall, retention), slot),
        )
        connection.execute("DELETE FROM snapshots WHERE id = ? AND expire_at <= ?", (slot, wall))
    return len(contents), len(rows)


def row_expiry(wall: int, retention: Retention) -> int:
    """Of a version that has no content."""
    return wall + int(max(1.0, retention.prices, retention.change_logs) * DAY)


def _drop_contents(
    connection: sqlite3.Connection, slots: list[int], wall: int, retention: Retention
) -> None:
    """Of those that nothing else depends on."""
    connection.executemany("DELETE FROM snapshot_bodies WHERE id = ?", [(slot,) for slot in slots])
    connection.executemany(
        "UPDATE snapshots SET bytes = 0, base = NULL, below = 0, expire_at = ? WHERE id = ?",
        [(row_expiry(wall, retention), slot) for slot in slots],
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


class Goal(NamedTuple):
    """Prune until no more bytes than these are used."""

    bytes: int
    with_untold: int  # the same for change logs whose notifications are not sent yet: they go last


def goal(used: int, budget: int, *, excess: int = 0) -> Goal | None:
    """None: nothing has to go. `excess`: bytes that the database has no room for."""
    if excess:
        least = min(used - excess, budget)
        return Goal(least, least)
    return Goal(int(budget * PRUNED_TO), budget) if used > budget else None


def relieve(connection: sqlite3.Connection, aim: Goal, wall: int, retention: Retention) -> int:
    """Remove a slice of what is superseded; 0: enough is free, or nothing is left."""
    used = taken(connection).bytes
    excess = used - aim.bytes
    if excess <= 0:
        return 0
    contents = _oldest(
        connection,
        "SELECT id, bytes FROM snapshots WHERE expire_at IS NOT NULL AND bytes > 0 "
        "ORDER BY expire_at, below",
        excess,
    )
    if contents:
        _drop_contents(connection, [slot for slot, _ in contents], wall, retention)
        return len(contents)
    for table, key, size, chosen, surplus in (
        ("change_logs", "snapshot", "150 + length(body)", "untold = 0", excess),
        ("price_history", "key", "200", "true", excess),
        ("snapshots", "id", "200", _WITHOUT_LOG, excess),
        # With each goes the row of its version, next time.
        ("change_logs", "snapshot", "350 + length(body)", "true", used - aim.with_untold),
    ):
        rows = _oldest(
            connection,
            f"SELECT {key}, {size} FROM {table} WHERE expire_at IS NOT NULL AND {chosen} "
            "ORDER BY expire_at",
            surplus,
        )
        if rows:
            connection.executemany(
                f"DELETE FROM {table} WHERE {key} = ?", [(each,) for each, _ in rows]
            )
            return len(rows)
    return 0


def _oldest(connection: sqlite3.Connection, query: str, excess: int) -> list[tuple[Any, int]]:
    """As many of a slice as free that many bytes."""
    chosen: list[tuple[Any, int]] = []
    for key, size in connection.execute(f"{query} LIMIT {SLICE}").fetchall():
        if excess <= 0:
            break
        chosen.append((key, size))
        excess -= size
    return chosen


def forget(connection: sqlite3.Connection, job_id: str) -> bool:
    """Remove a few pages of a job; whether there were any."""
    pages = connection.execute(
        "SELECT id FROM pages WHERE job_id = ? LIMIT ?", (plain(job_id), SLICE_OF_PAGES)
    ).fetchall()
    connection.executemany(
        "DELETE FROM snapshot_bodies WHERE id IN (SELECT id FROM snapshots WHERE page = ?)", pages
    )
    for table in ("snapshots", "change_logs", "price_history", "page_checks"):
        connection.executemany(f"DELETE FROM {table} WHERE page = ?", pages)
    connection.executemany("DELETE FROM pages WHERE id = ?", pages)
    return bool(pages)
