"""Pages, their versions, changes and prices in SQLite."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping
from typing import Any

import msgspec

from webloom.adapters.sqlite import (
    page_alerts,
    page_events,
    page_listing,
    page_prices,
    page_pruning,
    page_rows,
)
from webloom.adapters.sqlite.database import Database, Operation
from webloom.adapters.sqlite.page_events import Draft, Writing
from webloom.adapters.sqlite.page_pruning import Goal, Slice
from webloom.adapters.sqlite.page_versions import joined
from webloom.domain.errors import StorageFull
from webloom.domain.storage_event import StorageEvent
from webloom.ports.page_store import (
    ChangeFilter,
    ChangeLog,
    Checked,
    Late,
    PageFilter,
    PriceRecord,
    PriceSummary,
    Retention,
    Stored,
    StoredPage,
    Usage,
    Version,
    relief,
)


def _decoded(bodies: list[bytes]) -> Mapping[str, Any]:
    content: Mapping[str, Any] = msgspec.json.decode(joined(bodies))
    return content


class SqlitePageStore:
    """`budget`: bytes that watch data may take, about."""

    def __init__(self, database: Database, *, retention: Retention, budget: int) -> None:
        self._db = database
        self._retention = retention
        self._budget = budget
        self._storing = Operation(run=self._store)
        self._checking = Operation(run=self._check)
        self._expiring = Operation(run=self._expire, frees=True)
        self._relieving = Operation(run=self._relieve, frees=True)
        self._forgetting = Operation(run=self._forget, frees=True)
        self._gathering = Operation(run=self._gather)
        self._telling = Operation(run=self._tell)

    async def store_event(self, event: StorageEvent) -> Stored:
        await self._db.check_room()
        draft = Draft(event=event)
        if event.parsed is not None or event.is_change:
            await asyncio.to_thread(draft.encode)
        if draft.content is not None:
            is_new, newest = await self._db.read(
                lambda connection: page_events.outlook(connection, draft)
            )
            if is_new:
                await asyncio.to_thread(draft.compress, newest)
        stored = await self._db.write(self._storing, draft)
        if isinstance(stored, StorageFull):
            raise stored
        return stored

    async def note_checked(self, checked: Checked) -> None:
        await self._db.write(self._checking, checked)

    async def find_page(self, job_id: str, url: str) -> StoredPage | None:
        found = await self._db.read(lambda connection: page_rows.find(connection, job_id, url))
        return None if found is None else await asyncio.to_thread(page_rows.whole, found)

    async def pages(
        self, chosen: PageFilter, *, limit: int, cursor: str | None = None
    ) -> tuple[list[StoredPage], str | None]:
        return await self._db.scan(page_listing.pages(chosen, limit, cursor))

    async def versions(
        self, job_id: str, url: str, *, limit: int, before: int | None = None
    ) -> list[Version]:
        return await self._db.read(
            lambda connection: page_listing.versions(connection, job_id, url, limit, before)
        )

    async def parsed(self, job_id: str, url: str, version: int) -> Mapping[str, Any] | None:
        bodies = await self._db.read(
            lambda connection: page_listing.parsed(connection, job_id, url, version)
        )
        return None if bodies is None else await asyncio.to_thread(_decoded, bodies)

    async def change_logs(
        self, chosen: ChangeFilter, *, limit: int, cursor: str | None = None
    ) -> tuple[list[ChangeLog], str | None]:
        return await self._db.scan(page_listing.change_logs(chosen, limit, cursor))

    async def late_alerts(self, *, limit: int) -> list[Late]:
        return await self._db.read(lambda connection: page_alerts.late(connection, limit))

    async def gather_alerts(self, job_id: str, run_id: str | None, batch: str) -> list[str]:
        if not await self._db.read(
            lambda connection: page_alerts.is_waiting(connection, job_id, run_id)
        ):
            return []
        return await self._db.write(self._gathering, (job_id, run_id, batch))

    async def note_told(self, batch: str) -> None:
        await self._db.write(self._telling, batch)

    async def prices(
        self, job_id: str, url: str, *, limit: int, cursor: str | None = None
    ) -> tuple[list[PriceRecord], str | None]:
        return await self._db.read(page_prices.prices(job_id, url, limit, cursor))

    async def price_summary(self, job_id: str, url: str) -> PriceSummary | None:
        return await self._db.scan(lambda connection: page_prices.summary(connection, job_id, url))

    async def forget_job(self, job_id: str) -> None:
        while await self._db.write(self._forgetting, job_id):
            pass

    async def usage(self, *, with_superseded: bool = True) -> list[Usage]:
        return await self._db.read(page_pruning.usage)

    async def prune(self) -> int:
        gone, is_last = 0, False
        while not is_last:
            expired = await self._db.write(self._expiring, None)
            gone += expired.items
            is_last = expired.is_last
        await self._db.measure_room()
        taken = await self._db.read(page_pruning.taken)
        room = self._db.room
        excess = max(room.excess, relief(taken.bytes) if room.full else 0)
        if aim := page_pruning.goal(taken.bytes, self._budget, excess=excess):
            while items := await self._db.write(self._relieving, aim):
                gone += items
            self._db.note_pruned()
            await self._db.measure_room()
        return gone

    async def is_full(self) -> bool:
        taken = await self._db.read(page_pruning.taken)
        return taken.bytes > self._budget and taken.superseded == 0

    # What follows runs in the writer's thread.

    def _writing(self, connection: sqlite3.Connection) -> Writing:
        return Writing(
            connection, wall=self._db.wall_ms(), retention=self._retention, budget=self._budget
        )

    def _store(
        self, connection: sqlite3.Connection, drafts: list[Draft]
    ) -> list[Stored | StorageFull]:
        writing = self._writing(connection)
        return [writing.store(draft) for draft in drafts]

    def _check(self, connection: sqlite3.Connection, checks: list[Checked]) -> list[None]:
        writing = self._writing(connection)
        for checked in checks:
            writing.check(checked)
        return [None] * len(checks)

    def _expire(self, connection: sqlite3.Connection, items: list[None]) -> list[Slice]:
        wall = self._db.wall_ms()
        return [page_pruning.expire(connection, wall, self._retention) for _ in items]

    def _relieve(self, connection: sqlite3.Connection, goals: list[Goal]) -> list[int]:
        wall = self._db.wall_ms()
        return [page_pruning.relieve(connection, aim, wall, self._retention) for aim in goals]

    def _forget(self, connection: sqlite3.Connection, jobs: list[str]) -> list[bool]:
        return [page_pruning.forget(connection, job_id) for job_id in jobs]

    def _gather(
        self, connection: sqlite3.Connection, asked: list[tuple[str, str | None, str]]
    ) -> list[list[str]]:
        return [page_alerts.gather(connection, *each) for each in asked]

    def _tell(self, connection: sqlite3.Connection, batches: list[str]) -> list[None]:
        for batch in batches:
            page_alerts.note_told(connection, batch)
        return [None] * len(batches)
