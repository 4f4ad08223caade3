from __future__ import annotations

from collections.abc import Callable

from webloom.adapters.mongodb.change_alerts import MongoChangeAlerts
from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.inbox import MongoInbox
from webloom.adapters.mongodb.index_scan import (
    ScanPlan,
    behind,
    count_index,
    cursor_behind,
    scan_index,
)
from webloom.adapters.mongodb.indexes import PAGES_LATEST_FIRST, PAGES_OF_WATCH
from webloom.adapters.mongodb.page_codec import check_parts, page_of, page_update
from webloom.adapters.mongodb.page_events import EventWriter
from webloom.adapters.mongodb.page_history import MongoPageHistory
from webloom.adapters.mongodb.page_storage import MongoPageStorage
from webloom.adapters.mongodb.page_writes import PageUpdate, PageWrites
from webloom.adapters.mongodb.watch_ledger import WatchLedger
from webloom.domain.listing import Count
from webloom.domain.page_check import Checked
from webloom.domain.retention import Retention
from webloom.domain.search import is_found, terms_of
from webloom.domain.storage_event import StorageEvent, page_key
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
        self._ledger = WatchLedger(database, retention.kept_runs)
        self._events = EventWriter(database, self._writes, self._ledger, retention)

    async def store_event(self, event: StorageEvent) -> Stored:
        full = await self._storage.make_room()
        if full is not None and await self._events.needs_room(event):
            raise full
        await self._db.check_room()
        return await self._events.store(event)

    async def note_checked(self, checked: Checked) -> None:
        update = page_update(checked.watch_id, checked.url, check_parts(checked), None)
        page = page_key(checked.watch_id, checked.url)
        await self._writes.pages.ask(PageUpdate(page, update))
        await self._ledger.count(checked)

    async def find_page(self, watch_id: str, url: str) -> StoredPage | None:
        with self._db.use():
            document = await self._db.pages.find_one({"_id": page_key(watch_id, url)})
        return None if document is None else page_of(document)

    async def list_pages(
        self,
        chosen: PageFilter,
        *,
        limit: int,
        cursor: str | None = None,
        oldest_first: bool = False,
    ) -> tuple[list[StoredPage], str | None]:
        within = behind("order", cursor, oldest_first=oldest_first)
        if chosen.changed_since is not None:
            within = {"$and": [within, {"order": {"$gte": chosen.changed_since}}]}
        with self._db.use():
            documents, last = await scan_index(
                self._db.pages,
                _plan(chosen),
                bounds=within,
                order=PAGES_LATEST_FIRST,
                oldest_first=oldest_first,
                limit=limit,
                filter_fields=_LOOKED_AT,
                shown=_LISTED,
            )
        following = cursor_behind("order", last, oldest_first=oldest_first)
        return [page_of(each) for each in documents], following

    async def count_chosen(self, chosen: PageFilter, *, most: int) -> Count:
        since = chosen.changed_since
        within: Document = {} if since is None else {"order": {"$gte": since}}
        with self._db.use():
            return await count_index(
                self._db.pages,
                _plan(chosen),
                bounds=within,
                order=PAGES_LATEST_FIRST,
                filter_fields=_LOOKED_AT,
                most=most,
            )

    async def forget_watch(self, watch_id: str) -> None:
        with self._db.use():
            for collection in (
                self._db.pages,
                self._db.change_logs,
                self._db.price_history,
                self._db.snapshots,
            ):
                await collection.delete_many({"jobId": plain(watch_id)})


def _plan(chosen: PageFilter) -> ScanPlan:
    index, found = PAGES_LATEST_FIRST, {}
    if chosen.watch_id is not None:
        index, found = PAGES_OF_WATCH, {"jobId": plain(chosen.watch_id)}
        if chosen.url is not None:
            found["_id"] = page_key(chosen.watch_id, chosen.url)
    return ScanPlan(index=index, found=found, accepts=_filter(chosen))


def _filter(chosen: PageFilter) -> Callable[[Document], bool] | None:
    """What no index knows of it."""
    only_url = chosen.url if chosen.watch_id is None else None
    terms = terms_of(plain(chosen.text or ""))
    if only_url is None and not terms and chosen.type is None and chosen.outcome is None:
        return None

    def accepts(document: Document) -> bool:
        kind = (document.get("classification") or {}).get("type")
        return (
            only_url in (None, document["url"])
            and chosen.type in (None, kind)
            and chosen.outcome in (None, document.get("lastOutcome"))
            and is_found([document["url"], document.get("title") or ""], terms)
        )

    return accepts


def mongodb_pages(database: MongoDatabase, *, retention: Retention, budget: int) -> PageStores:
    storage = MongoPageStorage(database, retention=retention, budget=budget)
    return PageStores(
        pages=MongoPages(database, storage, retention=retention),
        history=MongoPageHistory(database),
        alerts=MongoChangeAlerts(database),
        inbox=MongoInbox(database),
        storage=storage,
    )
