"""What a crash of MongoDB has undone before the end of an attempt: its beginning, which is answered
early, and a note that was not read yet."""

from __future__ import annotations

import pytest

from contracts.inventory_samples import (
    COMPLETED,
    FAILED,
    URL,
    begin,
    begin_any,
    found,
    later,
    note,
    request,
)
from fakes.clock import FakeClock
from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.inventory_store import MongoInventoryStore
from webloom.domain.inventory import AlreadyDone, Attempt, GivenBack, Outcome, Status, url_key

KEY = {"_id": url_key(URL)}
OUTCOMES: list[tuple[Outcome, Status]] = [
    (COMPLETED, Status.COMPLETED),
    (FAILED, Status.FAILED_PERMANENT),
    (later(1), Status.FAILED_RETRYABLE),
    (GivenBack(), Status.PENDING),
]


@pytest.mark.parametrize("is_noted", [True, False], ids=["beginning", "beginning and note"])
@pytest.mark.parametrize(("outcome", "status"), OUTCOMES, ids=[row[1] for row in OUTCOMES])
async def test_an_outcome_stands_although_the_beginning_of_its_attempt_was_undone(
    mongodb: MongoDatabase, clock: FakeClock, outcome: Outcome, status: Status, is_noted: bool
) -> None:
    store = MongoInventoryStore(mongodb)
    wanted = request()
    await note(store, wanted)
    before = await mongodb.records.find_one(KEY)
    assert before is not None
    clock.advance(1)
    attempt = await begin(store, wanted)
    await mongodb.records.delete_one(KEY)
    if is_noted:
        await mongodb.records.insert_one(before)
    assert await store.finish_attempt(attempt, outcome)
    record = await found(store)
    assert record.status is status
    assert record.processing.last_request_id == wanted.request_id
    is_given_back = isinstance(outcome, GivenBack)
    assert record.processing.attempt_number == (0 if is_given_back else 1)
    if status.is_final:
        assert await begin_any(store, wanted) == AlreadyDone()
    assert not await store.finish_attempt(attempt, outcome)


async def test_a_record_that_was_deleted_is_not_made_again_by_an_outcome_that_comes_late(
    mongodb: MongoDatabase, clock: FakeClock
) -> None:
    store = MongoInventoryStore(mongodb)
    late = await begin(store, lease=1)
    clock.advance(2)
    attempt = await begin_any(store)
    assert isinstance(attempt, Attempt)
    assert await store.finish_attempt(attempt, COMPLETED)
    assert await store.forget(URL)
    assert not await store.finish_attempt(late, COMPLETED)
    assert await store.find(URL) is None


async def test_a_late_outcome_does_not_recreate_a_deleted_record_after_a_second_request(
    mongodb: MongoDatabase, clock: FakeClock
) -> None:
    store = MongoInventoryStore(mongodb)
    late = await begin(store, request("first"), lease=1)
    for name in ("first", "second"):
        clock.advance(2)
        attempt = await begin(store, request(name))
        assert await store.finish_attempt(attempt, COMPLETED)
    assert await store.forget(URL)
    assert not await store.finish_attempt(late, COMPLETED)
    assert await store.find(URL) is None
