"""Which pages of other programs' events our own checker maintains, as far as the store tells it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from webloom.adapters.sqlite.database import Database
from webloom.adapters.sqlite.watches import SqliteWatches
from webloom.application.watch.publish_events import FindMaintained
from webloom.domain.errors import StoreUnavailable
from webloom.domain.retention import Retention
from webloom.domain.schedule import Schedule
from webloom.domain.watch import Watch, WatchConfig

URLS = ["https://shop.test/1", "https://shop.test/2"]


class Store(SqliteWatches):
    """May be away, or hang."""

    trouble: Exception | None = None
    hangs = False

    async def find_watch(self, watch_id: str) -> Watch | None:
        if self.hangs:
            await asyncio.Event().wait()
        if self.trouble is not None:
            raise self.trouble
        return await super().find_watch(watch_id)


@pytest.fixture
def store(database: Database) -> Store:
    return Store(database, retention=Retention())


async def added(store: Store, watch_id: str, **decided: Any) -> None:
    config = WatchConfig(name="Shop", urls=URLS, schedule=Schedule(every_minutes=60), **decided)
    await store.add_watch(watch_id, config, next_run_at=None)


ASKED = {
    "ours": {URLS[0], "https://shop.test/3"},
    "shared": {URLS[0]},
    "paused": {URLS[1]},
    "theirs": {URLS[0]},
}


async def test_pages_of_watches_that_accept_no_events_are_found(store: Store) -> None:
    await added(store, "ours")
    await added(store, "paused", enabled=False)
    await added(store, "shared", accepts_events=True)
    found = await FindMaintained(watches=store, seconds=None)(ASKED)
    assert found == {"ours": {URLS[0]}, "paused": {URLS[1]}, "shared": set(), "theirs": set()}


async def test_a_store_that_is_away_or_hangs_leaves_it_to_the_agent(store: Store) -> None:
    await added(store, "ours")
    find = FindMaintained(watches=store, seconds=0.01)
    store.trouble = StoreUnavailable("gone")
    assert await find(ASKED) == {}
    store.hangs = True
    assert await find(ASKED) == {}


async def test_a_store_that_is_the_broker_too_is_needed(store: Store) -> None:
    store.trouble = StoreUnavailable("gone")
    with pytest.raises(StoreUnavailable):
        await FindMaintained(watches=store, seconds=None)(ASKED)
