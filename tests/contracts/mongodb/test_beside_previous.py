"""A process of the previous version works with the same database, beside or before this one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from contracts.list_samples import LISTS, Listed
from contracts.mongodb_backend import NAMES, empty, measured_once, stores_on
from fakes.clock import FakeClock
from servers.mongod import MongoServer
from webloom.adapters.mongodb import list_upkeep
from webloom.adapters.mongodb.database import MongoDatabase, open_mongodb
from webloom.adapters.mongodb.indexes import Collection
from webloom.adapters.mongodb.upgrade import upgrade
from webloom.bootstrap.stores import Stores

NEW_FIELDS = ("search", "searchedAt", "tags", "tagKeys")  # that the previous version does not write

pytestmark = pytest.mark.parametrize("listed", LISTS, ids=lambda each: each.name)


@pytest.fixture
async def database(
    mongod: MongoServer, clock: FakeClock, patient: None
) -> AsyncIterator[MongoDatabase]:
    async with open_mongodb(mongod.url, clock, database="beside", names=NAMES) as opened:
        measured_once(opened)
        await empty(opened)
        yield opened


@pytest.fixture
def stores(database: MongoDatabase) -> Stores:
    return stores_on(database)


def items(database: MongoDatabase, listed: Listed) -> Collection:
    found: Collection = getattr(database, listed.name)
    return found


async def rename(collection: Collection, item_id: str, name: str) -> None:
    known = await collection.find_one({"_id": item_id})
    assert known is not None
    edited: dict[str, Any] = {"name": name, "updatedAt": known["updatedAt"] + timedelta(seconds=1)}
    await collection.update_one({"_id": item_id}, {"$set": edited, "$inc": {"revision": 1}})


async def copy(collection: Collection, item_id: str, **changes: Any) -> None:
    known = await collection.find_one({"_id": item_id})
    assert known is not None
    kept = {name: value for name, value in known.items() if name not in NEW_FIELDS}
    await collection.insert_one(kept | changes)


async def test_what_it_edits_and_adds_is_found_by_its_words(
    database: MongoDatabase, stores: Stores, listed: Listed
) -> None:
    await listed.add(stores, "one", name="alpha", tags=["red"])
    await rename(items(database, listed), "one", "beta")
    await copy(items(database, listed), "one", _id="two", url="http://two.example/", name="copied")
    assert await stores.list_upkeep.make_searchable() == 2
    assert await listed.found(stores, "alpha") == []
    assert await listed.found(stores, "beta red") == ["one"]
    assert await listed.found(stores, "copied") == ["two"]
    assert await stores.list_upkeep.make_searchable() == 0


async def test_an_edit_that_leaves_the_words_alone_writes_them_too(
    database: MongoDatabase, clock: FakeClock, stores: Stores, listed: Listed
) -> None:
    await listed.add(stores, "one", name="alpha")
    await rename(items(database, listed), "one", "beta")
    clock.advance(60)
    await listed.edit(stores, "one", enabled=False)
    assert await listed.found(stores, "alpha") == []
    assert await listed.found(stores, "beta") == ["one"]
    assert await stores.list_upkeep.make_searchable() == 0


async def test_what_is_edited_while_words_are_written_keeps_its_own(
    database: MongoDatabase,
    stores: Stores,
    listed: Listed,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    collection = items(database, listed)
    await listed.add(stores, "one", name="alpha")
    await rename(collection, "one", "beta")
    await collection.update_one({"_id": "one"}, {"$set": {"search": None}})

    class Overtaken:
        """Between its read and its write, another process renames the item."""

        def __init__(self) -> None:
            self.find = collection.find

        async def bulk_write(self, *given: Any, **more: Any) -> Any:
            await listed.edit(stores, "one", name="gamma")
            return await collection.bulk_write(*given, **more)

    setattr(database, listed.name, Overtaken())
    assert await list_upkeep.make_searchable(database) == 0
    assert await listed.found(stores, "gamma") == ["one"]
    assert await listed.found(stores, "beta") == []


async def test_what_cant_be_read_keeps_no_process_from_starting(
    database: MongoDatabase, stores: Stores, listed: Listed
) -> None:
    collection = items(database, listed)
    for item_id in ("one", "two"):
        await listed.add(stores, item_id, name="alpha")
    await copy(collection, "one", _id="broken", url="http://two.example/", name=7, urls=5)
    await rename(collection, "one", "beta")
    await upgrade(database)
    assert await listed.found(stores, "beta") == ["one"]
    assert await listed.found(stores, "alpha") == ["two"]
    assert await list_upkeep.make_searchable(database) == 0
