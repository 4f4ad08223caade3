from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from webloom.adapters.mongodb.change_alerts import MongoChangeAlerts
from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.index_scan import (
    MOST_SCANNED,
    ScanPlan,
    behind,
    cursor_behind,
    scan_index,
)
from webloom.adapters.mongodb.indexes import PAGES_LATEST_FIRST, PAGES_OF_JOB
from webloom.adapters.mongodb.page_codec import check_parts, page_of, page_update
from webloom.adapters.mongodb.page_events import EventWriter
from webloom.adapters.mongodb.page_history import MongoPageHistory
from webloom.adapters.mongodb.page_storage import MongoPageStorage
from webloom.adapters.mongodb.page_writes import PageUpdate, PageWrites
from webloom.adapters.mongodb.watch_ledger import CountedRun, Entry, WatchLedger, page_in_run
from webloom.domain.page_check import Checked
from webloom.domain.retention import Retention
from webloom.domain.storage_event import StorageEvent, page_key
from webloom.domain.watch import Outcome, PageFailure
from webloom.ports.page_stores import PageStores
from webloom.ports.pages import PageFilter, Stored, StoredPage

_LISTED = dict.fromkeys(("text", "metadata", "links", "exact"), False)
_LOOKED_AT = dict.fromkeys(("order", "url", "title", "classification.type", "lastOutcome"), True)


class MongoPages:
    def __init__(
        self, database: MongoDatabase, storage: MongoPageStorage, *, retention: Retention
    ) -> None:
        self._db = database
        self._storage = storage
        self._writes = PageWrites(database)
        self._ledger = WatchLedger(database, timedelta(days=retention.job_runs))
        self._events = EventWriter(database, self._writes, self._ledger, retention)

    async def store_event(self, event: StorageEvent) -> Stored:
        await self._storage.make_room()
        await self._db.check_room()
        return await self._events.store(event)

    async def note_checked(self, checked: Checked) -> None:
        update = page_update(checked.job_id, checked.url, check_parts(checked), None)
        page = page_key(checked.job_id, checked.url)
        await self._writes.pages.ask(PageUpdate(page, update))
        failure = None
        if checked.outcome is Outcome.FAILED:
            failure = PageFailure(url=checked.url, reason=checked.error or "it could not be read")
        run = CountedRun(plain(checked.job_id), plain(checked.run_id))
        entry = Entry(run, page_in_run(checked.url), checked.outcome, failure=failure)
        await self._ledger.count(entry)

    async def find_page(self, job_id: str, url: str) -> StoredPage | None:
        with self._db.use():
            document = await self._db.pages.find_one({"_id": page_key(job_id, url)})
        return None if document is None else page_of(document)

    async def list_pages(
        self, chosen: PageFilter, *, limit: int, cursor: str | None = None
    ) -> tuple[list[StoredPage], str | None]:
        within = behind("order", cursor)
        if chosen.changed_since is not None:
            within = {"$and": [within, {"order": {"$gte": chosen.changed_since}}]}
        index, found = PAGES_LATEST_FIRST, {}
        if chosen.job_id is not None:
            index, found = PAGES_OF_JOB, {"jobId": plain(chosen.job_id)}
            if chosen.url is not None:
                found["_id"] = page_key(chosen.job_id, chosen.url)
        with self._db.use():
            documents, last = await scan_index(
                self._db.pages,
                ScanPlan(index=index, found=found, accepts=_filter(chosen)),
                bounds=within,
                order=PAGES_LATEST_FIRST,
                limit=limit,
                most_scanned=MOST_SCANNED,
                filter_fields=_LOOKED_AT,
                shown=_LISTED,
            )
        return [page_of(each) for each in documents], cursor_behind("order", last)

    async def forget_job(self, job_id: str) -> None:
        with self._db.use():
            for collection in (
                self._db.pages,
                self._db.change_logs,
                self._db.price_history,
                self._db.snapshots,
            ):
                await collection.delete_many({"jobId": plain(job_id)})


def _filter(chosen: PageFilter) -> Callable[[Document], bool] | None:
    """What no index knows of it."""
    only_url = chosen.url if chosen.job_id is None else None
    if only_url is None and not chosen.text and chosen.type is None and chosen.outcome is None:
        return None
    text = plain(chosen.text or "").casefold()

    def accepts(document: Document) -> bool:
        kind = (document.get("classification") or {}).get("type")
        return (
            only_url in (None, document["url"])
            and chosen.type in (None, kind)
            and chosen.outcome in (None, document.get("lastOutcome"))
            and any(text in (document.get(name) or "").casefold() for name in ("url", "title"))
        )

    return accepts


def mongodb_pages(database: MongoDatabase, *, retention: Retention, budget: int) -> PageStores:
    storage = MongoPageStorage(database, budget=budget)
    return PageStores(
        pages=MongoPages(database, storage, retention=retention),
        history=MongoPageHistory(database),
        alerts=MongoChangeAlerts(database),
        storage=storage,
    )
