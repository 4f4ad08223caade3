"""Watches, their runs, and what is to be told of them, in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from webloom.adapters.sqlite import watch_notices, watch_rows, watch_runs
from webloom.adapters.sqlite.database import Database, Verb
from webloom.adapters.sqlite.page_pruning import DAY
from webloom.domain.watch import Watch, WatchConfig, WatchRun
from webloom.ports.page_store import Retention
from webloom.ports.watch_store import (
    Attended,
    DueTarget,
    NewRun,
    Notice,
    RunFilter,
    WatchCounts,
)

Result = TypeVar("Result")
Change = Callable[[sqlite3.Connection, int], Result]  # with the time, in milliseconds


class SqliteWatchStore:
    def __init__(self, database: Database, *, retention: Retention) -> None:
        self._db = database
        self._keep = int(retention.job_runs * DAY)
        self._changing: Verb[Change[Any], Any] = Verb(run=self._change)

    # Watches

    async def add_watch(
        self, watch_id: str, config: WatchConfig, *, next_run_at: datetime | None
    ) -> tuple[Watch, bool]:
        return await self._write(
            lambda connection, wall: watch_rows.add(connection, watch_id, config, next_run_at, wall)
        )

    async def find_watch(self, watch_id: str) -> Watch | None:
        return await self._db.read(lambda connection: watch_rows.one(connection, watch_id))

    async def watches(
        self, *, limit: int, cursor: str | None = None
    ) -> tuple[list[Watch], str | None]:
        return await self._db.read(watch_rows.listed(limit, cursor))

    async def count_watches(self) -> WatchCounts:
        return await self._db.read(watch_rows.counted)

    async def edit_watch(
        self, watch_id: str, config: WatchConfig, *, next_run_at: datetime | None
    ) -> Watch | None:
        return await self._write(
            lambda connection, wall: watch_rows.edit(
                connection, watch_id, config, next_run_at, wall
            )
        )

    async def remove_watch(self, watch_id: str) -> bool:
        return await self._write(
            lambda connection, wall: watch_runs.remove_watch(
                connection, watch_id, wall, wall + self._keep
            )
        )

    async def due_watches(self, now: datetime, *, limit: int) -> list[Watch]:
        return await self._db.read(lambda connection: watch_rows.due(connection, now, limit))

    # Runs

    async def start_run(self, watch_id: str, new: NewRun) -> WatchRun | None:
        return await self._write(
            lambda connection, wall: watch_runs.start(connection, watch_id, new, wall)
        )

    async def attended(self, *, limit: int) -> list[Attended]:
        if await self._db.read(watch_runs.has_astray):
            await self._write(lambda connection, wall: watch_runs.free_astray(connection))
        return await self._db.read(lambda connection: watch_runs.attended(connection, limit))

    async def unchecked(self, run_id: str) -> list[str]:
        return await self._db.scan(lambda connection: watch_runs.unchecked(connection, run_id))

    async def is_open(self, run_id: str, url: str) -> bool:
        return await self._db.read(lambda connection: watch_runs.is_open(connection, run_id, url))

    async def note_published(self, run_id: str, at: datetime) -> None:
        await self._write(
            lambda connection, wall: watch_runs.note_published(connection, run_id, at)
        )

    async def finish_run(
        self, run_id: str, *, next_run_at: datetime | None, instead_of: datetime | None
    ) -> WatchRun | None:
        return await self._write(
            lambda connection, wall: watch_runs.finish(
                connection, run_id, next_run_at, instead_of, wall, wall + self._keep
            )
        )

    async def close_idle_runs(self, idle_since: datetime) -> int:
        return await self._write(
            lambda connection, wall: watch_runs.close_idle(connection, idle_since)
        )

    async def find_run(self, run_id: str) -> WatchRun | None:
        return await self._db.read(lambda connection: watch_runs.find(connection, run_id))

    async def runs(
        self, chosen: RunFilter, *, limit: int, cursor: str | None = None
    ) -> tuple[list[WatchRun], str | None]:
        return await self._db.scan(watch_runs.listed(chosen, limit, cursor))

    # What people are told

    async def add_notices(self, notices: Sequence[Notice]) -> None:
        await self._write(lambda connection, wall: watch_notices.add(connection, notices))

    async def due_targets(self, now: datetime, *, limit: int) -> list[DueTarget]:
        return await self._db.read(
            lambda connection: watch_notices.due_targets(connection, now, limit)
        )

    async def due_notices(
        self, now: datetime, *, limit: int, target_url: str | None = None
    ) -> list[Notice]:
        return await self._db.read(
            lambda connection: watch_notices.due(connection, now, limit, target_url)
        )

    async def note_sent(self, notice_ids: Sequence[str], at: datetime) -> None:
        await self._write(
            lambda connection, wall: watch_notices.note_sent(
                connection, notice_ids, at, wall + self._keep
            )
        )

    async def note_unsent(
        self, notice_ids: Sequence[str], *, error: str, due_at: datetime | None
    ) -> None:
        await self._write(
            lambda connection, wall: watch_notices.note_unsent(
                connection, notice_ids, error, due_at, wall + self._keep
            )
        )

    async def notices(
        self, watch_id: str, *, limit: int, cursor: str | None = None
    ) -> tuple[list[Notice], str | None]:
        return await self._db.read(watch_notices.listed(watch_id, limit, cursor))

    async def _write(self, change: Change[Result]) -> Result:
        result: Result = await self._db.write(self._changing, change)
        return result

    def _change(self, connection: sqlite3.Connection, changes: list[Change[Any]]) -> list[Any]:
        """In the writer's thread."""
        wall = self._db.wall_ms()
        return [change(connection, wall) for change in changes]
