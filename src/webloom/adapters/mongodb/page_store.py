"""Pages, their versions, changes and prices, in MongoDB."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.documents import plain
from webloom.adapters.mongodb.page_alerts import Alerts
from webloom.adapters.mongodb.page_budget import Budget
from webloom.adapters.mongodb.page_contents import Contents
from webloom.adapters.mongodb.page_documents import (
    Parts,
    checked_part,
    from_json,
    page_of,
    page_update,
    place_at,
    validator_fields,
)
from webloom.adapters.mongodb.page_events import Events
from webloom.adapters.mongodb.page_listing import PageListing
from webloom.adapters.mongodb.page_writes import PageUpdate, PageWrites
from webloom.adapters.mongodb.watch_ledger import WatchLedger
from webloom.domain.storage_event import StorageEvent, milliseconds_of, page_key
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
)


class MongoPageStore:
    def __init__(self, database: MongoDatabase, *, retention: Retention, budget: int) -> None:
        self._db = database
        self._writes = PageWrites(database)
        self._contents = Contents(database)
        self._ledger = WatchLedger(database, timedelta(days=retention.job_runs))
        self._events = Events(database, self._writes, self._ledger, retention)
        self._listing = PageListing(database)
        self._budget = Budget(database, budget)
        self._alerts = Alerts(database)

    # What the agent and the workers write

    async def store_event(self, event: StorageEvent) -> Stored:
        await self._budget.make_room()
        await self._db.check_room()
        return await self._events.store(event)

    async def note_checked(self, checked: Checked) -> None:
        ts = milliseconds_of(checked.at)
        parts: Parts = {"checked": checked_part(ts, checked.outcome, checked.error)}
        if (given := checked.validators) is not None:
            names = {
                "etag": given.etag,
                "lastModified": given.last_modified,
                "bodyHash": given.body_hash,
            }
            parts["validators"] = place_at(ts), validator_fields(names)
        update = page_update(checked.job_id, checked.url, parts, None)
        page = page_key(checked.job_id, checked.url)
        await self._writes.pages.ask(PageUpdate(page, update))
        await self._ledger.count_check(checked)

    # What is there

    async def find_page(self, job_id: str, url: str) -> StoredPage | None:
        with self._db.use():
            document = await self._db.pages.find_one({"_id": page_key(job_id, url)})
        return None if document is None else page_of(document)

    async def pages(
        self, chosen: PageFilter, *, limit: int, cursor: str | None = None
    ) -> tuple[list[StoredPage], str | None]:
        return await self._listing.pages(chosen, limit, cursor)

    async def versions(
        self, job_id: str, url: str, *, limit: int, before: int | None = None
    ) -> list[Version]:
        return await self._listing.versions(job_id, url, limit, before)

    async def parsed(self, job_id: str, url: str, version: int) -> Mapping[str, Any] | None:
        with self._db.use():
            found = await self._db.snapshots.find_one(
                {"jobId": plain(job_id), "url": plain(url), "version": version, "bare": None},
                {"_id": True},
            )
            content = None if found is None else await self._contents.read(found["_id"])
        return None if content is None else await asyncio.to_thread(from_json, content)

    async def change_logs(
        self, chosen: ChangeFilter, *, limit: int, cursor: str | None = None
    ) -> tuple[list[ChangeLog], str | None]:
        return await self._listing.change_logs(chosen, limit, cursor)

    async def prices(
        self, job_id: str, url: str, *, limit: int, cursor: str | None = None
    ) -> tuple[list[PriceRecord], str | None]:
        return await self._listing.prices(job_id, url, limit, cursor)

    async def price_summary(self, job_id: str, url: str) -> PriceSummary | None:
        return await self._listing.price_summary(job_id, url)

    # What people are told of

    async def late_alerts(self, *, limit: int) -> list[Late]:
        return await self._alerts.late(limit)

    async def gather_alerts(self, job_id: str, run_id: str | None, batch: str) -> list[str]:
        return await self._alerts.gather(job_id, run_id, batch)

    async def note_told(self, batch: str) -> None:
        await self._alerts.note_told(batch)

    # What goes

    async def forget_job(self, job_id: str) -> None:
        with self._db.use():
            for collection in (
                self._db.pages,
                self._db.change_logs,
                self._db.price_history,
                self._db.snapshots,
            ):
                await collection.delete_many({"jobId": plain(job_id)})

    async def usage(self, *, with_superseded: bool = True) -> list[Usage]:
        return await self._budget.usage(with_superseded=with_superseded)

    async def prune(self) -> int:
        return await self._budget.prune()

    async def is_full(self) -> bool:
        return await self._budget.is_full()
