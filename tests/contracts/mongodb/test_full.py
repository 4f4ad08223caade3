"""A MongoDB server that has no room: behind a quota, and by its own refusals."""

from __future__ import annotations

import random
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pymongo
import pytest

from contracts.inventory_samples import URL, found, note
from contracts.mongodb_backend import NAMES
from contracts.page_samples import event, numbers, parsed
from contracts.waiting import until
from servers.mongod import MongoServer
from servers.quota import Quota
from webloom.adapters.mongodb import database as mongodb_database
from webloom.adapters.mongodb.database import MongoDatabase, open_mongodb
from webloom.adapters.mongodb.heartbeats import MongoHeartbeats
from webloom.adapters.mongodb.inventory_store import MongoInventoryStore
from webloom.adapters.mongodb.locks import mongodb_locks
from webloom.adapters.mongodb.pages import mongodb_pages
from webloom.adapters.system_clock import SystemClock
from webloom.domain.errors import StoreFull, StoreUnavailable
from webloom.domain.inventory import FetchRequest
from webloom.domain.retention import Retention
from webloom.ports.heartbeats import Heartbeat
from webloom.ports.page_stores import PageStores

pytestmark = pytest.mark.usefixtures("patient")

BEAT = Heartbeat(
    process_id="p", role="worker", host="h", pid=1, slots=1, in_flight=0, completed=0, retried=0,
    failed=0, started_at=datetime(2026, 3, 1, tzinfo=UTC),
)  # fmt: skip
KNOWN = FetchRequest(url=URL, request_id="r")
UNKNOWN = FetchRequest(url=f"{URL}/another", request_id="s")
OUT_OF_DISK = 14031
OF_THE_CLOUD = 8000


@pytest.fixture
def name(mongod: MongoServer) -> Iterator[str]:
    chosen = f"full-{uuid.uuid4().hex[:12]}"
    yield chosen
    with pymongo.MongoClient[dict[str, Any]](mongod.url) as direct:
        direct.drop_database(chosen)


@pytest.fixture
async def quota(mongod: MongoServer) -> AsyncIterator[Quota]:
    async with Quota(mongod).running() as running:
        yield running


def opened(quota: Quota, name: str) -> AbstractAsyncContextManager[MongoDatabase]:
    return open_mongodb(quota.url, SystemClock(), database=name, names=NAMES)


def pages_of(database: MongoDatabase) -> PageStores:
    return mongodb_pages(database, retention=Retention(), budget=1 << 30)


async def store_versions(store: PageStores, count: int) -> None:
    for n in range(count):
        content = parsed(f"{n}") | {"more": random.Random(n).randbytes(50_000).hex()}
        await store.pages.store_event(
            event(f"{n}", version=n + 1, ts=n, content=content, is_change=True)
        )


async def test_over_its_quota_a_database_is_read_and_pruned(quota: Quota, name: str) -> None:
    async with opened(quota, name) as database:
        inventory, pages = MongoInventoryStore(database), pages_of(database)
        heartbeats, lock = MongoHeartbeats(database), mongodb_locks(database)
        await note(inventory, KNOWN)
        await store_versions(pages, 8)
        quota.is_used_up = True
        for write in (
            lambda: heartbeats.beat(BEAT),
            lambda: lock.acquire("scheduler", "me", 60.0),
            lambda: note(inventory, UNKNOWN),
            lambda: pages.pages.store_event(event("new", version=9, ts=9)),
        ):
            with pytest.raises(StoreFull, match=r"space quota.*remove watches"):
                await write()
        assert database.connection().state == "READY"
        assert "space quota" in str(database.room.full)
        assert (await found(inventory)).url == URL
        assert await pages.storage.prune() > 0
        kept = await numbers(pages)
        assert kept == [(n + 1, f"{n}") for n in range(8)][-len(kept) :], "the oldest went"
        while await pages.storage.prune():
            pass
        assert await numbers(pages) == [(8, "7")], "the newest stays, however full it is"
        quota.is_used_up = False
        await heartbeats.beat(BEAT)
        assert database.room.full is None
        await pages.pages.store_event(event("new", version=9, ts=9))
        assert await numbers(pages) == [(8, "7"), (9, "new")]


async def test_with_room_nothing_is_pruned_below_the_budget(quota: Quota, name: str) -> None:
    async with opened(quota, name) as database:
        pages = pages_of(database)
        await store_versions(pages, 3)
        assert await pages.storage.prune() == 0
        assert len(await numbers(pages)) == 3


async def test_a_database_that_is_full_at_the_start_is_read_and_goes_on_by_itself(
    quota: Quota, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mongodb_database, "MEASURE_SECONDS", 0.1)
    async with opened(quota, name) as database:
        await note(MongoInventoryStore(database), KNOWN)
    quota.is_used_up = True
    async with opened(quota, name) as database:
        inventory = MongoInventoryStore(database)
        assert (await found(inventory)).url == URL
        with pytest.raises(StoreFull):
            await note(inventory, UNKNOWN)
        assert not database._is_prepared
        quota.is_used_up = False

        async def is_prepared() -> bool:
            return database._is_prepared

        await until(is_prepared)
        await note(inventory, UNKNOWN)


@contextmanager
def failing(mongod: MongoServer, code: int, *commands: str) -> Iterator[None]:
    with pymongo.MongoClient[dict[str, Any]](mongod.url) as direct:
        data = {"failCommands": list(commands), "errorCode": code, "appName": "webloom"}
        direct.admin.command(
            {"configureFailPoint": "failCommand", "mode": "alwaysOn", "data": data}
        )
        try:
            yield
        finally:
            direct.admin.command({"configureFailPoint": "failCommand", "mode": "off"})


async def test_what_the_cloud_refuses_for_an_unknown_reason_is_waited_for(
    mongod: MongoServer, mongodb: MongoDatabase
) -> None:
    inventory = MongoInventoryStore(mongodb)
    await note(inventory, KNOWN)
    with failing(mongod, OF_THE_CLOUD, "insert", "update", "find", "aggregate"):
        with pytest.raises(StoreUnavailable) as write:
            await note(inventory, UNKNOWN)
        with pytest.raises(StoreUnavailable):
            await found(inventory)
        assert type(write.value) is StoreUnavailable
    assert (await found(inventory)).url == URL
    assert mongodb.room.full is None


async def test_a_server_whose_disk_is_full_is_read(
    mongod: MongoServer, mongodb: MongoDatabase
) -> None:
    inventory = MongoInventoryStore(mongodb)
    await note(inventory, KNOWN)
    with failing(mongod, OUT_OF_DISK, "insert", "update"):
        with pytest.raises(StoreFull):
            await note(inventory, UNKNOWN)
        assert (await found(inventory)).url == URL
        assert mongodb.room.full
    await MongoHeartbeats(mongodb).beat(replace(BEAT, process_id="q"))
    assert mongodb.room.full is None
