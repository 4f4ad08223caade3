"""What comes from outside is a value to MongoDB, whatever it looks like."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from contracts.inventory_samples import (
    COMPLETED,
    RECEIVED,
    URL,
    begin,
    begin_any,
    complete,
    found,
    later,
    note,
    request,
    state_of,
    status_of,
)
from contracts.test_heartbeats import WORKER
from fakes.clock import FakeClock
from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.heartbeats import MongoHeartbeats
from webloom.adapters.mongodb.inventory_store import MongoInventoryStore
from webloom.adapters.mongodb.locks import mongodb_locks
from webloom.domain.errors import StoreUnavailable
from webloom.domain.inventory import (
    AlreadyDone,
    Attempt,
    Completed,
    Failed,
    Received,
    RecordFilter,
    Status,
)

LIKE_OPERATORS = [
    "$where", "$gt", "$$NOW", "$$ROOT", "$url", "$work.token", "$literal", '{"$gt": ""}',
    "{$ne: null}", "work.token", "a.b.c", "", ".", "$", "$$", "null", "\0", "x\0$set", "ä\ud800",
]  # fmt: skip
operators = pytest.mark.parametrize("text", LIKE_OPERATORS, ids=[ascii(t) for t in LIKE_OPERATORS])


def received(**changes: Any) -> Completed:
    return Completed(received=replace(RECEIVED, **changes))


NAMES_OF_FIELDS = [
    ({"a.b": "1", ".": "2", "a..b": "3", ".x": "4"}, "dots"),
    ({"$set": "1", "$": "2", "$$ROOT": "3", "$unset": "4", "a$b": "5"}, "dollars"),
    ({"$where": "return true", "$literal": "$url", "$expr": "x"}, "names of operators"),
    ({"": "1"}, "an empty name"),
    ({"_id": "1", "url": "2", "status": "FAILED"}, "names of our own fields"),
    ({"$ref": "a", "$id": "b"}, "what the driver takes for a reference"),
    ({"$ref": "a", "$id": "b", "$db": "c", "d": "e"}, "a reference with more in it"),
    ({"$ref": "a"}, "half a reference"),
    ({"x": "$url", "y": "$$NOW", "z": '{"$gt": ""}'}, "values that look like expressions"),
    ({"ä€": "\U0001f600"}, "beyond ASCII"),
]


@pytest.mark.parametrize(
    ("names", "reason"), NAMES_OF_FIELDS, ids=[row[1] for row in NAMES_OF_FIELDS]
)
async def test_names_and_values_from_outside_come_back_as_they_were(
    store: MongoInventoryStore, names: dict[str, str], reason: str
) -> None:
    details = names | {"inside": names, "list": [names, [names]], "none": None}
    outcome = received(headers=names, cookies=names, details=details)
    await complete(store, outcome=outcome)
    record = await found(store)
    assert record.status is Status.COMPLETED
    assert record.metadata.headers == names
    assert record.metadata.cookies == names
    assert record.additional_details == details
    [listed] = (await store.page_of_records(RecordFilter(), limit=10)).records
    assert listed.metadata.headers == names


async def test_what_bson_can_not_carry_is_replaced(store: MongoInventoryStore) -> None:
    outcome = received(
        headers={"a\0b": "c\0d", "e\ud800": "f\udfff"},
        cookies={"\0": ""},
        page_source="g\ud800h\0",
        final_url="http://site.example/\udc00",
        details={"a\0": {"b\ud800": ["c\udfff", 1 << 80, -(1 << 80), (1 << 63) - 1]}},
    )
    await complete(store, outcome=outcome)
    record = await found(store)
    assert record.metadata.headers == {"a\ufffdb": "c\0d", "e\ufffd": "f\ufffd"}
    assert record.metadata.cookies == {"\ufffd": ""}
    assert record.metadata.page_source == "g\ufffdh\0"
    assert record.metadata.final_url == "http://site.example/\ufffd"
    values = ["c\ufffd", float(1 << 80), -float(1 << 80), (1 << 63) - 1]
    assert record.additional_details == {"a\ufffd": {"b\ufffd": values}}


async def test_details_are_kept_as_json_would_keep_them(store: MongoInventoryStore) -> None:
    moment = datetime(2026, 3, 1, tzinfo=UTC)
    details = {"tuple": (1, 2.5, True, None), "date": moment, "number": {1: 2}}
    await complete(store, outcome=received(details=details))
    assert (await found(store)).additional_details == {
        "tuple": [1, 2.5, True, None],
        "date": "2026-03-01T00:00:00Z",
        "number": {"1": 2},
    }


@operators
async def test_a_url_acts_as_nothing_but_itself(store: MongoInventoryStore, text: str) -> None:
    url = f"http://site.example/{text}".replace("\ud800", "")
    await complete(store)
    assert await store.find(url) is None
    assert await store.states([url]) == [None]
    assert not await store.forget(url)
    await note(store, request("r", url=url))
    attempt = await begin(store, request("r", url=url))
    assert attempt.url == url
    await store.renew_attempts([attempt], lease=15)
    assert await store.finish_attempt(attempt, received(final_url=url))
    assert (await found(store, url)).metadata.final_url == url
    listed = await store.page_of_records(RecordFilter(text=text or "-"), limit=10)
    assert {record.url for record in listed.records} <= {url}
    assert await store.forget(url)
    assert await status_of(store) is Status.COMPLETED


@operators
async def test_a_request_id_acts_as_nothing_but_itself(
    store: MongoInventoryStore, clock: FakeClock, text: str
) -> None:
    kept = text.replace("\ud800", "\ufffd")
    await complete(store, "http://other.example/")
    before = await found(store, "http://other.example/")
    wanted = request(text) if text else replace(request(), request_id="")
    await note(store, wanted)
    attempt = await begin(store, wanted)
    assert attempt.request_id == kept
    assert await store.finish_attempt(attempt, later(1))
    clock.advance(100)
    await note(store, wanted, (await state_of(store)).token)
    assert await store.forgotten_requests(quiet_for=60, limit=10) == []
    clock.advance(100)
    [forgotten] = await store.forgotten_requests(quiet_for=60, limit=10)
    assert forgotten.request.request_id == kept
    assert await store.finish_attempt(await begin(store, wanted), COMPLETED)
    assert await begin_any(store, wanted) == AlreadyDone()
    await note(store, replace(wanted, background=True), (await state_of(store)).token)
    assert (await found(store)).processing.last_request_id == kept
    assert await found(store, "http://other.example/") == before


@operators
async def test_a_reason_acts_as_nothing_but_itself(
    store: MongoInventoryStore, clock: FakeClock, text: str
) -> None:
    kept = text.replace("\ud800", "\ufffd")
    wanted = request()
    attempt = await begin(store, wanted)
    assert await store.finish_attempt(attempt, replace(later(1), reason=text))
    assert (await found(store)).processing.error_message == kept
    clock.advance(2)
    attempt = await begin(store, wanted)
    assert await store.finish_attempt(attempt, Failed(reason=text, retry_count=1))
    assert (await found(store)).processing.error_message == kept


@operators
async def test_names_of_locks_and_processes_act_as_nothing_but_themselves(
    mongodb: MongoDatabase, text: str
) -> None:
    lock, heartbeats = mongodb_locks(mongodb), MongoHeartbeats(mongodb)
    token = await lock.acquire("a", "owner", 10)
    assert await lock.acquire("a", text, 10) is None
    assert await lock.acquire(text, text, 10) == 1
    assert await lock.acquire(text, "other", 10) is None
    await lock.release("a", text)
    assert await lock.acquire("a", "owner", 10) == token
    await heartbeats.beat(WORKER)
    strange = replace(WORKER, process_id=text, host=text)
    await heartbeats.beat(strange)
    assert len(await heartbeats.seen(within=60)) == 2
    await heartbeats.leave(text)
    assert [each.heartbeat for each in await heartbeats.seen(within=60)] == [WORKER]


@operators
async def test_filters_of_the_listing_act_as_nothing_but_themselves(
    store: MongoInventoryStore, text: str
) -> None:
    await complete(store)
    assert (await store.page_of_records(RecordFilter(host=text), limit=10)).records == []
    for words in (text, text + "*", "page " + text):
        listed = await store.page_of_records(RecordFilter(text=words, host=text), limit=10)
        assert listed.records == []


async def test_a_document_has_the_fields_that_others_read(
    store: MongoInventoryStore, mongodb: MongoDatabase, clock: FakeClock
) -> None:
    await note(store, request("r"))
    assert await store.finish_attempt(await begin(store, request("r")), COMPLETED)
    document = await mongodb.records.find_one({"url": URL})
    assert document is not None
    assert document["status"] == "COMPLETED"
    assert document["metadata"] == asdict(RECEIVED.metadata)
    assert document["metadata"].keys() >= {
        "status_code", "headers", "cookies", "page_source", "final_url",
    }  # fmt: skip
    assert document["processing"] == {
        "retry_count": 0,
        "attempt_number": 1,
        "error_message": None,
        "last_attempt_at": clock.now(),
        "last_request_id": "r",
    }
    assert document["additional_details"] == RECEIVED.details
    assert document["created_at"] == document["updated_at"] == clock.now()


async def test_a_document_of_another_program_is_in_nobodys_way_but_its_urls(
    store: MongoInventoryStore, mongodb: MongoDatabase
) -> None:
    await mongodb.records.insert_one({"url": URL, "status": "QUEUED"})
    foreign, own = await asyncio.gather(
        begin_any(store, request()),
        begin_any(store, request(url="http://other.example/")),
        return_exceptions=True,
    )
    assert isinstance(own, Attempt)
    assert isinstance(foreign, StoreUnavailable)
    assert "not Webloom's" in str(foreign)
    await note(store, request())
    assert await store.find(URL) is None
    assert len((await store.page_of_records(RecordFilter(), limit=10)).records) == 1


async def test_outcomes_larger_together_than_one_message_may_be_are_all_stored(
    store: MongoInventoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    urls = [f"{URL}/{n}" for n in range(8)]
    large: Received = replace(RECEIVED, page_source="\U0001f600" * 1_000_000)
    attempts = await asyncio.gather(*(begin(store, request(url=url)) for url in urls))
    finished = await asyncio.gather(
        *(store.finish_attempt(attempt, Completed(received=large)) for attempt in attempts)
    )
    assert all(finished)
    assert caplog.records == [], "they went in parts, and none was sent in vain"
    for url in urls:
        assert (await found(store, url)).metadata.page_source == large.page_source


async def test_an_outcome_too_large_to_be_stored_fails_alone(store: MongoInventoryStore) -> None:
    urls = [f"{URL}/{n}" for n in range(4)]
    attempts = await asyncio.gather(*(begin(store, request(url=url)) for url in urls))
    details = {"large": "x" * 17_000_000}
    outcomes = [received(details=details if n == 2 else {}) for n in range(4)]
    finished = await asyncio.gather(
        *map(store.finish_attempt, attempts, outcomes), return_exceptions=True
    )
    assert [each for each in finished if each is True] == [True] * 3
    assert isinstance(finished[2], StoreUnavailable)
    assert await store.finish_attempt(attempts[2], received(details={}))


async def test_outcomes_of_an_old_and_a_new_attempt_in_one_batch_find_their_own(
    store: MongoInventoryStore, clock: FakeClock
) -> None:
    wanted = request()
    old = await begin(store, wanted)
    clock.advance(100)
    new = await begin(store, wanted)
    assert await asyncio.gather(
        *(store.finish_attempt(attempt, COMPLETED) for attempt in (old, new))
    ) == [False, True]
