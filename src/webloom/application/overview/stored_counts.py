"""How much there is of everything: what takes long to find out."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from webloom.application.overview.caching import RefreshingCache
from webloom.application.overview.missing_scheduler import Waiting
from webloom.application.watch.manage_watches import all_watches
from webloom.domain.feed import Feed
from webloom.domain.inventory import Status
from webloom.domain.watch import Outcome, Watch
from webloom.ports import watches as watches_port
from webloom.ports.imports import Imports
from webloom.ports.inventory_store import InventoryStore
from webloom.ports.page_store import PageFilter, PageStore
from webloom.ports.watches import WatchCounts

FAILED_PAGES = 200  # that are counted


@dataclass(frozen=True, kw_only=True, slots=True)
class Feeds:
    all: list[Feed] = field(default_factory=list)

    @property
    def failing(self) -> list[Feed]:
        return [feed for feed in self.all if feed.failures]


@dataclass(frozen=True, kw_only=True, slots=True)
class Watches:
    counts: WatchCounts = field(
        default_factory=lambda: WatchCounts(all=0, enabled=0, checking=0, failing=0)
    )
    failing: list[Watch] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True, slots=True)
class FailedPages:
    count: int = 0
    are_more: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Stored:
    records: dict[Status, int]
    postings: int
    pages: int
    feeds: Feeds
    watches: Watches
    failed_pages: FailedPages

    @property
    def waiting(self) -> Waiting:
        return Waiting.of(self.feeds.all, self.watches.counts)


class StoredCounts:
    def __init__(
        self,
        *,
        store: InventoryStore,
        imports: Imports,
        pages: PageStore,
        watches: watches_port.Watches,
        pages_collection: str,
    ) -> None:
        self._store = store
        self._import_store = imports
        self._page_store = pages
        self._watch_store = watches
        self._pages_collection = pages_collection
        self._records = RefreshingCache[dict[Status, int]](self._count_records, {})
        self._postings = RefreshingCache(self._count_postings, 0)
        self._pages = RefreshingCache(self._count_pages, 0)
        self._feeds = RefreshingCache(self._look_at_feeds, Feeds())
        self._watches = RefreshingCache(self._look_at_watches, Watches())
        self._failed_pages = RefreshingCache(self._look_at_failed_pages, FailedPages())

    async def records(self) -> dict[Status, int]:
        return await self._records.get()

    async def get(self) -> Stored:
        """The latest that is known; 0 while nothing is."""
        records, postings, pages, feeds, watches, failed_pages = await asyncio.gather(
            self._records.get(),
            self._postings.get(),
            self._pages.get(),
            self._feeds.get(),
            self._watches.get(),
            self._failed_pages.get(),
        )
        return Stored(
            records=records,
            postings=postings,
            pages=pages,
            feeds=feeds,
            watches=watches,
            failed_pages=failed_pages,
        )

    async def _count_records(self) -> dict[Status, int]:
        return await self._store.count_by_status()

    async def _count_postings(self) -> int:
        return sum(await self._import_store.postings.count())

    async def _count_pages(self) -> int:
        """A collection may have another name."""
        usage = await self._page_store.usage(with_superseded=False)
        names = ("pages", self._pages_collection)
        return sum(each.items for each in usage if each.collection in names)

    async def _look_at_feeds(self) -> Feeds:
        return Feeds(all=await self._import_store.feeds.all())

    async def _look_at_watches(self) -> Watches:
        counts = await self._watch_store.count_watches()
        failing: list[Watch] = []
        if counts.failing:
            failing = [each async for each in all_watches(self._watch_store) if each.failures]
        return Watches(counts=counts, failing=failing)

    async def _look_at_failed_pages(self) -> FailedPages:
        chosen = PageFilter(outcome=Outcome.FAILED)
        pages, cursor = await self._page_store.pages(chosen, limit=FAILED_PAGES)
        return FailedPages(count=len(pages), are_more=cursor is not None)
