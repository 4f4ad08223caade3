"""How much is stored, and what fails: queries that may be slow, so their results are cached."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from webloom.application.overview.caching import RefreshingCache
from webloom.application.overview.facts import Waiting
from webloom.application.overview.troubles import MOST_OF_A_KIND
from webloom.application.watch.manage_watches import all_watches
from webloom.domain.feed import Feed
from webloom.domain.inventory import Status
from webloom.domain.notification import Notification
from webloom.domain.watch import Outcome, Watch
from webloom.ports import watches as watches_port
from webloom.ports.imports import Imports
from webloom.ports.notifications import Notifications
from webloom.ports.page_storage import PageStorage
from webloom.ports.pages import PageFilter, Pages
from webloom.ports.record_listing import RecordListing
from webloom.ports.watch_runs import WatchRuns
from webloom.ports.watches import WatchCounts

MOST_FAILED_PAGES = 200  # that are counted
MOST_FAILING_TARGETS = 100  # the same


class Watches(NamedTuple):
    counts: WatchCounts
    failing: list[Watch]
    errors: Mapping[str, str]  # of the first of these, by their last run


class FailedPages(NamedTuple):
    found: list[str]  # the watch of each
    are_more: bool

    def without(self, watches: Iterable[Watch]) -> FailedPages:
        left_out = {watch.watch_id for watch in watches}
        return self._replace(found=[each for each in self.found if each not in left_out])


class FailingTargets(NamedTuple):
    found: list[Notification]
    are_more: bool
    watches: Mapping[str, Watch]  # of the first of these, by id; without those that were removed


class Stored(NamedTuple):
    records: dict[Status, int]
    postings: int
    pages: int
    feeds: list[Feed]
    watches: Watches
    failed_pages: FailedPages  # of watches that do not fail themselves
    failing_targets: FailingTargets


class StoredCounts:
    def __init__(
        self,
        *,
        records: RecordListing,
        imports: Imports,
        pages: Pages,
        page_storage: PageStorage,
        watches: watches_port.Watches,
        watch_runs: WatchRuns,
        notifications: Notifications,
        pages_collection: str,
    ) -> None:
        self._imports = imports
        self._page_store = pages
        self._page_storage = page_storage
        self._watch_store = watches
        self._watch_runs = watch_runs
        self._notifications = notifications
        self._pages_collection = pages_collection
        no_watches = Watches(WatchCounts(all=0, enabled=0, checking=0, failing=0), [], {})
        self._records = RefreshingCache[dict[Status, int]](records.count_by_status, {})
        self._postings = RefreshingCache(self._count_postings, 0)
        self._pages = RefreshingCache(self._count_pages, 0)
        self._feeds = RefreshingCache[list[Feed]](imports.feeds.all, [])
        self._watches = RefreshingCache(self._find_watches, no_watches)
        self._failed_pages = RefreshingCache(self._count_failed_pages, FailedPages([], False))
        self._failing_targets = RefreshingCache(
            self._find_failing_targets, FailingTargets([], False, {})
        )

    async def records(self) -> dict[Status, int]:
        return await self._records.get()

    async def waiting(self) -> Waiting:
        feeds, watches = await asyncio.gather(self._feeds.get(), self._watches.get())
        return Waiting.of(feeds, watches.counts)

    async def get(self) -> Stored:
        """The latest known values; 0 until the first query has succeeded."""
        records, postings, pages = await asyncio.gather(
            self._records.get(), self._postings.get(), self._pages.get()
        )
        feeds, watches, failed_pages, failing_targets = await asyncio.gather(
            self._feeds.get(),
            self._watches.get(),
            self._failed_pages.get(),
            self._failing_targets.get(),
        )
        others = failed_pages.without(watches.failing)
        return Stored(records, postings, pages, feeds, watches, others, failing_targets)

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
        last_runs = [each.last_run_id for each in failing[:MOST_OF_A_KIND] if each.last_run_id]
        errors = await self._watch_runs.first_failures(last_runs) if last_runs else {}
        return Watches(counts, failing, errors)

    async def _count_failed_pages(self) -> FailedPages:
        chosen = PageFilter(outcome=Outcome.FAILED)
        pages, cursor = await self._page_store.list_pages(chosen, limit=MOST_FAILED_PAGES)
        return FailedPages([page.watch_id for page in pages], cursor is not None)

    async def _find_failing_targets(self) -> FailingTargets:
        found = await self._notifications.failing(limit=MOST_FAILING_TARGETS + 1)
        named = dict.fromkeys(each.watch_id for each in found[:MOST_OF_A_KIND])
        watches = await asyncio.gather(*map(self._watch_store.find_watch, named))
        return FailingTargets(
            found[:MOST_FAILING_TARGETS],
            len(found) > MOST_FAILING_TARGETS,
            {each.watch_id: each for each in watches if each is not None},
        )
