"""Several people and processes edit one watch or feed at the same time: no edit is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from contracts.adapters import ImportProcesses, Watching, WatchProcesses
from contracts.import_samples import add_feed, feed_now
from contracts.import_samples import config as feed_config
from contracts.watch_samples import add_watch, watch_now
from contracts.watch_samples import config as watch_config
from webloom.adapters.cron import next_match
from webloom.application.bulk import Done
from webloom.application.bulk_items import BulkAction, BulkItems, BulkOptions
from webloom.application.imports.bulk_feeds import BulkFeeds
from webloom.application.imports.manage_feeds import ManageFeeds
from webloom.application.watch.bulk_watches import BulkWatches
from webloom.application.watch.manage_watches import ManageWatches
from webloom.domain.errors import EditOvertaken
from webloom.ports.clock import Clock
from webloom.ports.imports import Imports


class Together:
    """A store in which the first reader of an item waits until all others have read it, too."""

    def __init__(self, store: Any, verb: str, readers: asyncio.Barrier) -> None:
        self._store = store
        self._verb = verb
        self._readers = readers
        self._has_waited = False

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._store, name)
        return self._read if name == self._verb else verb

    async def _read(self, item_id: str) -> Any:
        found = await getattr(self._store, self._verb)(item_id)
        if not self._has_waited:
            self._has_waited = True
            await self._readers.wait()
        return found


def managed_watches(store: Watching, clock: Clock, readers: asyncio.Barrier) -> BulkWatches:
    nothing: Any = None
    manage = ManageWatches(
        store=Together(store.watches, "find_watch", readers),
        pages=store.pages,
        clock=clock,
        cron=next_match,
        check=lambda url: url,
        check_target=lambda url: None,
        shown_target=lambda url: url,
        usual_minutes=60.0,
    )
    return BulkWatches(store=store.watches, pages=store.pages, manage=manage, start=nothing)


def managed_feeds(store: Imports, clock: Clock, readers: asyncio.Barrier) -> BulkFeeds:
    nothing: Any = None
    manage = ManageFeeds(
        store=Together(store.feeds, "find", readers),
        clock=clock,
        check=lambda url: url,
        usual_minutes=60.0,
    )
    return BulkFeeds(store=store.feeds, manage=manage, start=nothing)


def tag(items: BulkItems[Any], item_id: str, name: str) -> Awaitable[object]:
    return items.act(BulkAction.TAG, BulkOptions(tags=[name]))(item_id)


async def test_tags_that_are_added_at_once_are_all_kept(
    watchings: WatchProcesses, clock: Clock
) -> None:
    readers = asyncio.Barrier(2)
    async with watchings.open() as one, watchings.open() as other:
        watch = await add_watch(one)
        results = await asyncio.gather(
            *(
                tag(managed_watches(each, clock, readers), watch.watch_id, name)
                for each, name in ((one, "red"), (other, "blue"))
            )
        )
        tags = (await watch_now(one)).config.tags
        assert sorted(tags) == ["blue", "red"]
        first = tags[:1]
        assert sorted(results, key=str) == sorted(  # each undoes its own
            [Done({"tags": []}), Done({"tags": first})], key=str
        )


async def test_tags_of_a_feed_that_are_added_at_once_are_all_kept(
    imports: ImportProcesses, clock: Clock
) -> None:
    readers = asyncio.Barrier(2)
    async with imports.open() as one, imports.open() as other:
        feed = await add_feed(one)
        await asyncio.gather(
            *(
                tag(managed_feeds(each, clock, readers), feed.feed_id, name)
                for each, name in ((one, "red"), (other, "blue"))
            )
        )
        assert sorted((await feed_now(one)).config.tags) == ["blue", "red"]


async def test_a_pause_during_an_edit_leaves_what_is_edited(
    watchings: WatchProcesses, clock: Clock
) -> None:
    readers = asyncio.Barrier(2)
    async with watchings.open() as one, watchings.open() as other:
        watch_id = (await add_watch(one)).watch_id
        pause = managed_watches(one, clock, readers).act(BulkAction.PAUSE, BulkOptions())
        rename = managed_watches(other, clock, readers).manage.edit(watch_id, name="new")
        await asyncio.gather(pause(watch_id), rename)
        edited = (await watch_now(one)).config
        assert (edited.enabled, edited.name) == (False, "new")


async def test_a_pause_of_a_feed_during_an_edit_leaves_what_is_edited(
    imports: ImportProcesses, clock: Clock
) -> None:
    readers = asyncio.Barrier(2)
    async with imports.open() as one, imports.open() as other:
        feed_id = (await add_feed(one)).feed_id
        pause = managed_feeds(one, clock, readers).act(BulkAction.PAUSE, BulkOptions())
        rename = managed_feeds(other, clock, readers).manage.edit(feed_id, name="new")
        await asyncio.gather(pause(feed_id), rename)
        edited = (await feed_now(one)).config
        assert (edited.enabled, edited.name) == (False, "new")


async def test_an_edit_instead_of_another_configuration_changes_nothing(
    watching: Watching,
) -> None:
    watch = await add_watch(watching)
    other = watch_config("other", enabled=False)
    with pytest.raises(EditOvertaken):
        await watching.watches.edit_watch(watch.watch_id, other, next_run_at=None, instead_of=other)
    assert await watch_now(watching) == watch


async def test_an_edit_instead_of_other_settings_of_a_feed_changes_nothing(
    import_store: Imports,
) -> None:
    feed = await add_feed(import_store)
    other = feed_config("feed", enabled=False)
    with pytest.raises(EditOvertaken):
        await import_store.feeds.edit(feed.feed_id, other, next_run_at=None, instead_of=other)
    assert await feed_now(import_store) == feed
