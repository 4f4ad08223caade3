"""Change logs that wait, muted pages, and how many went unread."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from webloom.adapters.sqlite import page_codec, page_logs
from webloom.adapters.sqlite.batches import as_json, for_each, plain
from webloom.adapters.sqlite.database import Database, Operation
from webloom.adapters.sqlite.index_scan import LAST, conditions, consistent_read, scan_index
from webloom.adapters.sqlite.values import instant
from webloom.domain.inbox import InboxState, Range, day_of, first_counted_day, muted
from webloom.domain.listing import Count, counted_to
from webloom.domain.storage_event import milliseconds_of
from webloom.ports.inbox import MutedPage
from webloom.stores.cursors import page_of, values_of
from webloom.stores.inbox import Asked, Listed, Logged, Place, Row, StoredInbox, decide


class _Muting(NamedTuple):
    key: bytes  # of the page
    is_muted: bool
    now: int


class _Deciding(NamedTuple):
    keys: Sequence[str]
    asked: Asked


class SqliteInbox(StoredInbox):
    row_kind = int

    def __init__(self, database: Database) -> None:
        self._db = database
        self._deciding = Operation(run=for_each(_decide_all))
        self._muting = Operation(run=for_each(_mute))

    async def _waiting(
        self, chosen: Range, watch_id: str | None, *, limit: int, before: Place | None
    ) -> list[Place]:
        source, values = _waiting(chosen, watch_id)
        at, row = Place(chosen.to, LAST) if before is None else before
        values |= {"limit": limit, "at": at, "row": row, "to": min(at, chosen.to)}

        def query(connection: sqlite3.Connection) -> list[Place]:
            rows = connection.execute(
                f"""
                SELECT inbox_at, snapshot FROM {source}
                AND (inbox_at, snapshot) < (:at, :row)
                ORDER BY inbox_at DESC, snapshot DESC LIMIT :limit
                """,
                values,
            )
            return [Place._make(row) for row in rows]

        return await self._db.scan(query)

    async def _count_waiting(self, chosen: Range, watch_id: str | None, *, most: int) -> int:
        source, values = _waiting(chosen, watch_id)

        def query(connection: sqlite3.Connection) -> int:
            [count] = connection.execute(
                f"SELECT count(*) FROM (SELECT 1 FROM {source} LIMIT :limit)",
                values | {"limit": most + 1},
            ).fetchone()
            return int(count)

        return await self._db.scan(query)

    async def _latest(
        self, state: InboxState | None, watch_id: str | None, *, limit: int, cursor: str | None
    ) -> tuple[list[Row], str | None]:
        behind = None if cursor is None else values_of(cursor, int, int)
        values = {"job_id": watch_id and plain(watch_id), "inbox": state and state.value}
        of_watch = conditions({"job_id": values["job_id"]}, job_id="job_id = :job_id")
        chosen = "inbox IS NOT NULL" if state is None else "inbox IS :inbox"

        def query(connection: sqlite3.Connection) -> tuple[list[Row], str | None]:
            ids, following = scan_index(
                connection,
                source=f"change_logs WHERE {of_watch}",
                place=("ts", "snapshot"),
                chosen=chosen,
                values=values,
                limit=limit,
                behind=behind,
            )
            return [*ids], following

        return await self._db.scan(query)

    async def _count_latest(
        self, state: InboxState | None, watch_id: str | None, *, most: int
    ) -> Count:
        rows, following = await self._latest(state, watch_id, limit=most, cursor=None)
        return counted_to(most, len(rows), is_all=following is None)

    async def _read(self, rows: Sequence[Row]) -> list[Listed]:
        def query(connection: sqlite3.Connection) -> list[Listed]:
            with consistent_read(connection):
                found = [_listed(connection, int(row)) for row in rows]
            return [each for each in found if each is not None]

        return await self._db.scan(query)

    async def _decide(self, keys: Sequence[str], asked: Asked) -> list[bool]:
        return await self._db.write(self._deciding, _Deciding(keys, asked))

    async def went_unread(self, *, now: datetime) -> int:
        first = first_counted_day(now)

        def query(connection: sqlite3.Connection) -> int:
            [count] = connection.execute(
                "SELECT coalesce(sum(number), 0) FROM went_unread WHERE day >= ?", (first,)
            ).fetchone()
            return int(count)

        return await self._db.read(query)

    async def mute_page(self, watch_id: str, url: str, *, is_muted: bool, now: datetime) -> bool:
        key = page_codec.key_of(watch_id, url)
        return await self._db.write(self._muting, _Muting(key, is_muted, milliseconds_of(now)))

    async def muted_pages(
        self, *, limit: int, cursor: str | None = None
    ) -> tuple[list[MutedPage], str | None]:
        at, row = (LAST, LAST) if cursor is None else values_of(cursor, int, int)

        def query(connection: sqlite3.Connection) -> list[tuple[str, str, int, int]]:
            return connection.execute(
                """
                SELECT job_id, url, muting_at, id FROM pages
                WHERE is_muted = 1 AND muting_at <= ? AND (muting_at, id) < (?, ?)
                ORDER BY muting_at DESC, id DESC LIMIT ?
                """,
                (at, at, row, limit + 1),
            ).fetchall()

        found, following = page_of(await self._db.scan(query), limit, lambda each: each[2:])
        return [
            MutedPage(watch_id=job_id, url=url, muted_at=instant(muting_at))
            for job_id, url, muting_at, _ in found
        ], following


def _waiting(chosen: Range, watch_id: str | None) -> tuple[str, dict[str, Any]]:
    """As a FROM with a WHERE, and its values. `inbox_at IS NOT NULL` chooses the index."""
    index = "change_logs_waiting" if watch_id is None else "change_logs_waiting_of_job"
    of_watch = "" if watch_id is None else "AND job_id = :job_id"
    source = (
        f"change_logs INDEXED BY {index} WHERE inbox_at IS NOT NULL AND inbox = :inbox {of_watch} "
        "AND inbox_at > :after AND inbox_at <= :to"
    )
    values: dict[str, Any] = {"inbox": chosen.state.value, "after": chosen.after, "to": chosen.to}
    return source, values | {"job_id": watch_id and plain(watch_id)}


def _listed(connection: sqlite3.Connection, snapshot: int) -> Listed | None:
    found = page_logs.find(connection, snapshot)
    if found is None:
        return None
    [page] = connection.execute(
        "SELECT page FROM change_logs WHERE snapshot = ?", (snapshot,)
    ).fetchone()
    return Listed(*found, is_muted=page_codec.is_muted(connection, page))


def _decide_all(connection: sqlite3.Connection, deciding: _Deciding) -> list[bool]:
    return [_decide_one(connection, key, deciding.asked) for key in deciding.keys]


def _decide_one(connection: sqlite3.Connection, key: str, asked: Asked) -> bool:
    row = connection.execute(
        """
        SELECT snapshot, change_logs.ts, inbox, inbox_at, inbox_decided_at
        FROM snapshots JOIN change_logs ON snapshot = snapshots.id WHERE key = ?
        """,
        (bytes.fromhex(key),),
    ).fetchone()
    if row is None:
        return False
    known = Logged(row[1], page_logs.triage_of(*row[2:]))
    log, is_there = decide(known, asked)
    if log is not None and log is not known:
        connection.execute(
            """
            UPDATE change_logs
            SET inbox = :inbox, inbox_at = :inbox_at, inbox_decided_at = :inbox_decided_at
            WHERE snapshot = :snapshot
            """,
            page_logs.triage_columns(log.triage) | {"snapshot": row[0]},
        )
    return is_there


def _mute(connection: sqlite3.Connection, given: _Muting) -> bool:
    row = connection.execute(
        "SELECT is_muted, muting_at FROM pages WHERE key = ?", (given.key,)
    ).fetchone()
    if row is None:
        return False
    known = page_codec.muting_of(*row)
    new = muted(known, is_muted=given.is_muted, now=given.now)
    if new is not None and new is not known:
        page_codec.note_muting(connection, given.key, new)
    return True


def note_unread(connection: sqlite3.Connection, snapshots: list[int], wall: int) -> None:
    """How many of the change logs that are about to be removed wait."""
    given = "SELECT value FROM json_each(?)"
    [number] = connection.execute(
        f"SELECT count(inbox_at) FROM change_logs WHERE snapshot IN ({given})",
        (as_json(snapshots),),
    ).fetchone()
    if number:
        now = instant(wall)
        connection.execute("DELETE FROM went_unread WHERE day < ?", (first_counted_day(now),))
        connection.execute(
            """
            INSERT INTO went_unread (day, number) VALUES (?, ?)
            ON CONFLICT (day) DO UPDATE SET number = number + excluded.number
            """,
            (day_of(now), number),
        )
