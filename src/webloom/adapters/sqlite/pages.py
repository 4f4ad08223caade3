from __future__ import annotations

import asyncio
import sqlite3
from typing import Any

from webloom.adapters.sqlite.batches import for_each, plain
from webloom.adapters.sqlite.change_alerts import SqliteChangeAlerts
from webloom.adapters.sqlite.database import Database, Operation
from webloom.adapters.sqlite.inbox import SqliteInbox
from webloom.adapters.sqlite.index_scan import (
    conditions,
    consistent_read,
    scan_index,
)
from webloom.adapters.sqlite.page_codec import find_page, listed_page, page_of
from webloom.adapters.sqlite.page_events import (
    Draft,
    EventWriter,
    drafted,
    precompressed,
    predicted,
)
from webloom.adapters.sqlite.page_history import SqlitePageHistory
from webloom.adapters.sqlite.page_storage import SqlitePageStorage
from webloom.adapters.sqlite.words import IS_FOUND, look_for
from webloom.domain.errors import StorageFull
from webloom.domain.listing import MOST_SCANNED, Count, counted_to
from webloom.domain.page_check import OUTCOMES, Checked
from webloom.domain.retention import Retention
from webloom.domain.search import terms_of
from webloom.domain.storage_event import StorageEvent
from webloom.ports.page_stores import PageStores
from webloom.ports.pages import PageFilter, Stored, StoredPage
from webloom.stores.cursors import values_of
from webloom.stores.page_contents import joined

_KNOWN = {
    "url": "pages.url = :url",
    "job_id": "job_id = :job_id",
    "since": "last_updated >= :since",
}
SLICE_OF_PAGES = 20  # that one transaction removes


class SqlitePages:
    """`budget`: bytes that watch data may take, about."""

    def __init__(self, database: Database, *, retention: Retention, budget: int) -> None:
        self._db = database
        self._retention = retention
        self._budget = budget
        self._storing = Operation(run=self._store)
        self._checking = Operation(run=self._check)
        self._forgetting = Operation(run=for_each(_forget), frees=True)

    async def store_event(self, event: StorageEvent) -> Stored:
        await self._db.check_room()
        draft = Draft(event)
        if event.has_version:
            draft = await asyncio.to_thread(drafted, event)
        if draft.content is not None:
            is_new, newest = await self._db.read(lambda connection: predicted(connection, draft))
            if is_new:
                draft = await asyncio.to_thread(precompressed, draft, newest)
        stored = await self._db.write(self._storing, draft)
        if isinstance(stored, StorageFull):
            raise stored
        return stored

    def _store(
        self, connection: sqlite3.Connection, drafts: list[Draft]
    ) -> list[Stored | StorageFull]:
        writer = self._writer(connection)
        return [writer.store(draft) for draft in drafts]

    async def note_checked(self, checked: Checked) -> None:
        await self._db.write(self._checking, checked)

    def _check(self, connection: sqlite3.Connection, checks: list[Checked]) -> list[None]:
        writer = self._writer(connection)
        for checked in checks:
            writer.note_checked(checked)
        return [None] * len(checks)

    def _writer(self, connection: sqlite3.Connection) -> EventWriter:
        wall = self._db.wall_ms()
        return EventWriter(connection, wall=wall, retention=self._retention, budget=self._budget)

    async def find_page(self, watch_id: str, url: str) -> StoredPage | None:
        found = await self._db.read(lambda connection: find_page(connection, watch_id, url))
        if found is None:
            return None
        row, bodies = found
        return await asyncio.to_thread(lambda: page_of(row, joined(bodies) if bodies else None))

    async def list_pages(
        self,
        chosen: PageFilter,
        *,
        limit: int,
        cursor: str | None = None,
        oldest_first: bool = False,
    ) -> tuple[list[StoredPage], str | None]:
        behind = None
        if cursor is not None:
            behind = values_of(cursor, int, int, oldest_first=oldest_first)

        def query(connection: sqlite3.Connection) -> tuple[list[StoredPage], str | None]:
            with consistent_read(connection):
                ids, following = _scan(
                    connection, chosen, limit=limit, behind=behind, oldest_first=oldest_first
                )
                return [listed_page(connection, each) for each in ids], following

        return await self._db.scan(query)

    async def count_chosen(self, chosen: PageFilter, *, most: int) -> Count:
        def query(connection: sqlite3.Connection) -> Count:
            if terms_of(chosen.text or "") or chosen.type is not None or chosen.outcome is not None:
                found, following = _scan(connection, chosen, limit=MOST_SCANNED)
                return counted_to(most, len(found), is_all=following is None)
            values = _known_values(chosen)
            rows = f"SELECT 1 FROM pages WHERE {conditions(values, **_KNOWN)} LIMIT :most"
            [count] = connection.execute(
                f"SELECT count(*) FROM ({rows})", values | {"most": most + 1}
            ).fetchone()
            return counted_to(most, count)

        return await self._db.scan(query)

    async def forget_watch(self, watch_id: str) -> None:
        while await self._db.write(self._forgetting, watch_id):
            pass


def _known_values(chosen: PageFilter) -> dict[str, Any]:
    return {
        "url": chosen.url and plain(chosen.url),
        "job_id": chosen.watch_id and plain(chosen.watch_id),
        "since": chosen.changed_since,
    }


def _scan(
    connection: sqlite3.Connection,
    chosen: PageFilter,
    *,
    limit: int,
    behind: tuple[int, ...] | None = None,
    oldest_first: bool = False,
) -> tuple[list[int], str | None]:
    """Ids of a page of the list, and the cursor of the next."""
    terms = terms_of(chosen.text or "")
    values = _known_values(chosen) | {
        "text": bool(terms) or None,
        "type": chosen.type and plain(chosen.type),
        "outcome": None if chosen.outcome is None else OUTCOMES.index(chosen.outcome),
    }
    checks = "" if chosen.outcome is None else "LEFT JOIN page_checks ON page = pages.id"
    look_for(connection, terms)
    return scan_index(
        connection,
        source=f"pages {checks} WHERE {conditions(values, **_KNOWN)}",
        place=("last_updated", "pages.id"),
        chosen=conditions(
            values, text=IS_FOUND, type="type IS :type", outcome="outcome IS :outcome"
        ),
        values=values,
        limit=limit,
        behind=behind,
        oldest_first=oldest_first,
    )


def _forget(connection: sqlite3.Connection, watch_id: str) -> bool:
    """Remove a few pages of a watch; False: there were none."""
    pages = connection.execute(
        "SELECT id FROM pages WHERE job_id = ? LIMIT ?", (plain(watch_id), SLICE_OF_PAGES)
    ).fetchall()
    connection.executemany(
        "DELETE FROM snapshot_bodies WHERE id IN (SELECT id FROM snapshots WHERE page = ?)", pages
    )
    for table in ("snapshots", "change_logs", "price_history", "page_checks"):
        connection.executemany(f"DELETE FROM {table} WHERE page = ?", pages)
    connection.executemany("DELETE FROM pages WHERE id = ?", pages)
    return bool(pages)


def sqlite_pages(database: Database, *, retention: Retention, budget: int) -> PageStores:
    return PageStores(
        pages=SqlitePages(database, retention=retention, budget=budget),
        history=SqlitePageHistory(database),
        alerts=SqliteChangeAlerts(database),
        inbox=SqliteInbox(database),
        storage=SqlitePageStorage(database, retention=retention, budget=budget),
    )
