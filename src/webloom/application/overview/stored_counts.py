"""How much is stored, and what fails: queries that may be slow, so their results are cached."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import NamedTuple

from webloom.application.overview.caching import RefreshingCache
from webloom.application.overview.liveness import Waiting
from webloom.application.watch.manage_watches import all_watches
from webloom.domain.feed import Feed
from webloom.domain.inventory import Status
from webloom.domain.watch import Outcome, Watch
from webloom.ports import watches as watches_port
from webloom.ports.imports import Imports
from webloom.ports.inventory_store import InventoryStore
from webloom.ports.page_storage import PageStorage
from webloom.ports.pages import PageFilter, Pages
from webloom.ports.watches import WatchCounts

MOST_FAILED_PAGES = 200  # that are counted


class Watches(NamedTuple):
    counts: WatchCounts
    failing: list[Watch]


class FailedPages(NamedTuple):
    found: int
    are_more: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Stored:
    records: dict[Status, int]
    postings: int
    pages: int
    feeds: list[Feed]
    watches: Watches
    failed_pages: FailedPages

    @property
    def waiting(self) -> Waiting:
        return Waiting.of(self.feeds, self.watches.counts)


class StoredCounts:
    def __init__(
        self,
        *,
        store: InventoryStore,
        imports: Imports,
        pages: Pages,
        page_storage: PageStorage,
        watches: watches_port.Watches,
        pages_collection: str,
    ) -> None:
        self._imports = imports
        self._page_store = pages
        self._page_storage = page_storage
        self._watch_store = watches
        self._pages_collection = pages_collection
        no_watches = Watches(WatchCounts(all=0, enabled=0, checking=0, failing=0), [])
        self._records = RefreshingCache[dict[Status, int]](store.count_by_status, {})
        self._postings = RefreshingCache(self._count_postings, 0)
        self._pages = RefreshingCache(self._count_pages, 0)
        self._feeds = RefreshingCache[list[Feed]](imports.feeds.all, [])
        self._watches = RefreshingCache(self._find_watches, no_watches)
        self._failed_pages = RefreshingCache(self._count_failed_pages, FailedPages(0, False))

    async def records(self) -> dict[Status, int]:
        return await self._records.get()

    async def get(self) -> Stored:
        """The latest known values; 0 until the first query has succeeded."""
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

    async def _count_postings(self) -> int:
        return sum(await self._imports.postings.count())

    async def _count_pages(self) -> int:
        """The collection may have been renamed in the settings."""
        usage = await self._page_storage.usage(with_superseded=False)
        names = ("pages", self._pages_collection)
        return sum(each.items for each in usage if each.collection in names)

    async def _find_watches(self) -> Watches:
        counts = await self._watch_store.count_watches()
        failing: list[Watch] = []
        if counts.failing:
            failing = [each async for each in all_watches(self._watch_store) if each.failures]
        return Watches(counts, failing)

    async def _count_failed_pages(self) -> FailedPages:
        chosen = PageFilter(outcome=Outcome.FAILED)
        pages, cursor = await self._page_store.list_pages(chosen, limit=MOST_FAILED_PAGES)
        return FailedPages(len(pages), cursor is not None)
