"""`Documents` and `Pairs` on MongoDB: deaths, lost answers, and processes of earlier versions."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
from pymongo.errors import AutoReconnect

from contracts.test_primitives import add, move, put
from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.locks import lock_codec
from webloom.adapters.mongodb.primitives import MongoDocuments, MongoPairs
from webloom.domain.errors import StoreUnavailable
from webloom.domain.lease import Lease

CALLS = ("find", "insert_many", "update_one", "update_many", "delete_one")
MOST_STEPS = 30


class Died(BaseException):
    pass


class Rigged:
    """A collection with something that happens before or after its n-th call."""

    def __init__(
        self,
        collection: Any,
        *,
        at: int,
        before: Callable[[], Awaitable[None]] | None = None,
        after: Callable[[], Awaitable[None]] | None = None,
        calls: tuple[str, ...] = CALLS,
    ) -> None:
        self._collection = collection
        self._left = at
        self._before, self._after = before, after
        self._calls = calls
        self.has_happened = False

    def with_options(self, **_: Any) -> Rigged:
        return self

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._collection, name)
        if name == "find" and name in self._calls:
            return lambda *values: _Found(self, attribute(*values))
        if name not in self._calls:
            return attribute

        async def call(*values: Any, **options: Any) -> Any:
            return await self.run(lambda: attribute(*values, **options))

        return call

    async def run(self, action: Callable[[], Awaitable[Any]]) -> Any:
        self._left -= 1
        is_now = self._left == 0
        if is_now:
            self.has_happened = True
            if self._before is not None:
                await self._before()
        result = await action()
        if is_now and self._after is not None:
            await self._after()
        return result


class _Found:
    def __init__(self, rigged: Rigged, cursor: Any) -> None:
        self._rigged = rigged
        self._cursor = cursor

    async def to_list(self) -> Any:
        return await self._rigged.run(self._cursor.to_list)


def process(mongodb: MongoDatabase, rigged: Any) -> MongoDatabase:
    other = copy.copy(mongodb)
    other.locks = rigged
    return other


async def die() -> None:
    raise Died


async def lose() -> None:
    raise AutoReconnect("the answer is lost")


def documents(database: MongoDatabase) -> MongoDocuments[Lease]:
    return MongoDocuments(database, lock_codec(database))


def pairs(database: MongoDatabase) -> MongoPairs[Lease, Lease]:
    return MongoPairs(database, lock_codec(database), lock_codec(database))


@pytest.mark.parametrize("others", ["new", "earlier"], ids=["this version", "an earlier version"])
async def test_what_others_write_at_any_step_is_neither_lost_nor_counted_twice(
    mongodb: MongoDatabase, others: str
) -> None:
    """Processes of an earlier version leave no id of their writes."""

    async def interfere() -> None:
        if others == "new":
            await documents(mongodb).change(add, [("x", 100), ("y", 100)])
        else:
            await mongodb.locks.update_many({}, {"$inc": {"token": 100}})

    for step in range(1, MOST_STEPS):
        start = [("x", Lease("a", 0, 0.0)), ("y", Lease("b", 0, 0.0)), ("z", None)]
        await documents(mongodb).change(put, start)
        rigged = Rigged(mongodb.locks, at=step, before=interfere)
        await documents(process(mongodb, rigged)).change(add, [("x", 1), ("y", 1), ("z", 1)])
        found = await documents(mongodb).read(["x", "y"])
        wanted = 101 if rigged.has_happened else 1
        assert {each.token for each in found.values()} == {wanted}, f"at step {step}"
        if not rigged.has_happened:
            return
    raise AssertionError("the steps do not end")


async def test_documents_of_earlier_versions_have_no_write_id(mongodb: MongoDatabase) -> None:
    old = [{"_id": key, "owner": "a", "token": 1, "lease": 0.0} for key in "xyz"]
    await mongodb.locks.insert_many(old)
    assert await documents(mongodb).change(add, [("x", 1)]) == [2]
    assert await documents(mongodb).change(add, [("y", 1), ("z", 1)]) == [2, 2]
    assert await documents(mongodb).change(put, [("x", None)]) == [Lease("a", 2, 0.0)]
    assert await mongodb.locks.count_documents({"writeId": {"$type": "string"}}) == 2


@pytest.mark.parametrize("keys", ["x", "xyz"], ids=["one", "several"])
@pytest.mark.parametrize("is_new", [True, False], ids=["insert", "update"])
async def test_a_call_whose_answer_was_lost_is_answered_when_it_is_made_again(
    mongodb: MongoDatabase, keys: str, is_new: bool
) -> None:
    if not is_new:
        await documents(mongodb).change(put, [(key, Lease("a", 0, 0.0)) for key in keys])
    writes = ("insert_many", "update_one", "update_many")
    rigged = Rigged(mongodb.locks, at=1, after=lose, calls=writes)
    store = documents(process(mongodb, rigged))
    call = [(key, 1) for key in keys]
    with pytest.raises(StoreUnavailable):
        await store.change(add, call)
    assert await store.change(add, call) == [1] * len(keys)
    found = await store.read(list(keys))
    assert {each.token for each in found.values()} == {1}
    assert await store.change(add, [(key, 2) for key in keys]) == [3] * len(keys), "another call"


async def test_a_lost_answer_is_not_repeated_once_others_have_written(
    mongodb: MongoDatabase,
) -> None:
    rigged = Rigged(mongodb.locks, at=1, after=lose, calls=("insert_many",))
    store = documents(process(mongodb, rigged))
    with pytest.raises(StoreUnavailable):
        await store.change(put, [("x", Lease("we", 1, 0.0))])
    await documents(mongodb).change(put, [("x", Lease("they", 2, 0.0))])
    assert await store.change(put, [("x", Lease("we", 1, 0.0))]) == [Lease("they", 2, 0.0)]


@pytest.mark.parametrize("end", [die, lose], ids=["death", "lost answer"])
@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_pair_that_was_cut_off_at_any_step_is_completed_by_the_next_call(
    mongodb: MongoDatabase, moment: str, end: Callable[[], Awaitable[None]]
) -> None:
    for step in range(1, MOST_STEPS):
        await documents(mongodb).change(put, [("x", Lease("", 10, 0.0)), ("y", None)])
        rigged = Rigged(mongodb.locks, at=step, **{moment: end})  # type: ignore[arg-type]
        changed = pairs(process(mongodb, rigged)).change(move, "x", 4, second=lambda giver: "y")
        with suppress(Died, StoreUnavailable):
            await changed
        assert await pairs(mongodb).change(move, "x", 4, second=lambda giver: "y") == "parcel 10"
        found = await documents(mongodb).read(["x", "y"])
        assert {key: each.token for key, each in found.items()} == {"x": 6, "y": 4}
        if not rigged.has_happened:
            return
    raise AssertionError("the steps do not end")


async def test_a_pair_is_decided_again_when_others_are_faster(mongodb: MongoDatabase) -> None:
    async def interfere() -> None:
        await documents(mongodb).change(add, [("x", 100), ("y", 100)])

    for step in range(1, MOST_STEPS):
        start = [("x", Lease("", 10, 0.0)), ("y", Lease("", 0, 0.0))]
        await documents(mongodb).change(put, start)
        rigged = Rigged(mongodb.locks, at=step, before=interfere)
        changed = pairs(process(mongodb, rigged)).change(move, "x", 4, second=lambda giver: "y")
        await changed
        more = 100 if rigged.has_happened else 0
        found = await documents(mongodb).read(["x", "y"])
        tokens = {key: each.token for key, each in found.items()}
        assert tokens == {"x": 6 + more, "y": 4 + more}, f"at step {step}"
        if not rigged.has_happened:
            return
    raise AssertionError("the steps do not end")
