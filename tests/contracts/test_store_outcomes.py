"""The InventoryStore's contract: what an attempt leaves behind, and forgetting it."""

from __future__ import annotations

import asyncio
from dataclasses import astuple, replace

import pytest

from contracts.adapters import Inventory, Processes
from contracts.inventory_samples import (
    COMPLETED,
    LEASE,
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
    with_source,
)
from webloom.domain.inventory import (
    AlreadyDone,
    Completed,
    Failed,
    GivenBack,
    LargeSource,
    Metadata,
    Outcome,
    Received,
    RecordFilter,
    Status,
)

Stores = Processes[Inventory]

NEW = Received(
    status_code=404,
    headers={"new": "1"},
    cookies={},
    page_source=None,
    final_url=URL,
    details={"new": True},
)
OUTCOMES: list[tuple[str, Outcome]] = [
    ("completed", Completed(received=NEW)),
    ("failed with a response", Failed(reason="404", retry_count=0, received=NEW)),
    ("failed without a response", Failed(reason="no such host", retry_count=0)),
    ("retry later", later()),
    ("given back", GivenBack()),
]
every_outcome = pytest.mark.parametrize(
    "outcome", [row[1] for row in OUTCOMES], ids=[row[0] for row in OUTCOMES]
)


async def test_a_completed_attempt_is_stored_whole(stores: Stores) -> None:
    async with stores.open() as store:
        await note(store, request("r"))
        created = stores.clock.now()
        await stores.pass_time(5)
        attempt = await begin(store, request("r"))
        begun = stores.clock.now()
        await stores.pass_time(2)
        assert await store.finish_attempt(attempt, COMPLETED)
    async with stores.open() as other:
        record = await found(other)
        assert (record.url, record.status) == (URL, Status.COMPLETED)
        assert record.metadata == RECEIVED.metadata
        assert None not in astuple(record.metadata), "each field needs a sample"
        assert record.additional_details == RECEIVED.details
        assert record.processing.error_message is None
        assert (record.processing.attempt_number, record.processing.retry_count) == (1, 0)
        assert record.processing.last_attempt_at == begun
        assert record.processing.last_request_id == "r"
        assert (record.created_at, record.updated_at) == (created, stores.clock.now())
        state = await state_of(other)
        assert (state.request_id, state.in_progress_for, state.waits_for) == (None, None, None)
        bare = await other.find(URL, most=0)
        assert bare == replace(record, metadata=replace(record.metadata, page_source=None))


SOURCES = [
    ("", "empty is not none"),
    ("a\0b\0", "NUL"),
    ("ä€\U0001f600\u2028\ufeff\ufffd", "beyond ASCII"),
    ('"\'$.a[0] {"json": \\u0000} ?1 :rows', "looks like SQL and JSON"),
    ("x" * 1_000_000, "as long as it may be"),
    ("\U0001f600" * 1_000_000, "as long as it may be, four bytes each"),
    (None, "not text"),
]


@pytest.mark.parametrize(("source", "reason"), SOURCES, ids=[row[1] for row in SOURCES])
async def test_a_page_source_comes_back_as_it_was(
    store: Inventory, source: str | None, reason: str
) -> None:
    await complete(store, outcome=with_source(source))
    assert (await found(store)).metadata.page_source == source


async def test_sources_that_are_written_together_stay_apart(store: Inventory) -> None:
    urls = [f"{URL}/{n}" for n in range(40)]
    sources = [None if n % 5 == 0 else f"source {n} ä" * n for n in range(40)]
    attempts = await asyncio.gather(*(begin(store, request(url=url)) for url in urls))
    assert all(
        await asyncio.gather(
            *(
                store.finish_attempt(attempt, with_source(source))
                for attempt, source in zip(attempts, sources, strict=True)
            )
        )
    )
    records = await asyncio.gather(*(found(store, url) for url in urls))
    assert [record.metadata.page_source for record in records] == sources


HEADERS = [
    ({}, "none at all"),
    ({"a.b": "1", "$where": "2", "": "3"}, "names that mean something to databases"),
    ({"x": "ä€\0\x01\n\t\"'\\"}, "values with control characters"),
    ({f"h{n}": "v" * 100 for n in range(500)}, "many"),
]


@pytest.mark.parametrize(("headers", "reason"), HEADERS, ids=[row[1] for row in HEADERS])
async def test_headers_and_cookies_come_back_as_they_were(
    store: Inventory, headers: dict[str, str], reason: str
) -> None:
    received = replace(RECEIVED, headers=headers, cookies=headers, details={"headers": headers})
    await complete(store, outcome=Completed(received=received))
    record = await found(store)
    assert record.metadata.headers == headers
    assert record.metadata.cookies == headers
    assert record.additional_details == {"headers": headers}


@every_outcome
async def test_the_outcome_of_a_superseded_attempt_changes_nothing(
    stores: Stores, outcome: Outcome
) -> None:
    async with stores.open() as stalled, stores.open() as other:
        await complete(stalled)
        old = await begin(stalled)
        await stores.pass_time(LEASE + 1)
        new = await begin(other)
        before = (await found(other), await state_of(other))
        assert not await stalled.finish_attempt(old, outcome)
        assert (await found(other), await state_of(other)) == before
        assert await other.finish_attempt(new, COMPLETED)
        before = (await found(other), await state_of(other))
        assert not await stalled.finish_attempt(old, outcome)
        assert (await found(other), await state_of(other)) == before


@every_outcome
async def test_an_outcome_is_written_once(stores: Stores, outcome: Outcome) -> None:
    async with stores.open() as store:
        await complete(store)
        attempt = await begin(store)
        assert await store.finish_attempt(attempt, outcome)
        before = (await found(store), await state_of(store))
        await stores.pass_time(1)
        assert not await store.finish_attempt(attempt, outcome)
        assert not await store.finish_attempt(attempt, COMPLETED)
        assert await found(store) == before[0]
        state = await state_of(store)
        assert state._replace(as_of=before[1].as_of) == before[1]


async def test_an_outcome_that_is_written_twice_at_once_counts_once(store: Inventory) -> None:
    attempt = await begin(store)
    answers = await asyncio.gather(*(store.finish_attempt(attempt, COMPLETED) for _ in range(10)))
    assert sum(answers) == 1


async def test_an_outcome_counts_after_the_lease_unless_somebody_took_over(stores: Stores) -> None:
    async with stores.open() as store:
        attempt = await begin(store)
        await stores.pass_time(100 * LEASE)
        assert await store.finish_attempt(attempt, COMPLETED)
        assert await status_of(store) is Status.COMPLETED


async def test_the_outcome_for_a_record_that_is_gone_is_dropped(store: Inventory) -> None:
    attempt = await complete(store)
    assert await store.forget(URL)
    assert not await store.finish_attempt(attempt, COMPLETED)
    assert await store.find(URL) is None


async def test_a_failure_without_a_response_leaves_the_earlier_one_in_place(
    store: Inventory,
) -> None:
    await complete(store)
    before = await found(store)
    await complete(store, outcome=Failed(reason="no such host: ä\0\ud800", retry_count=2))
    record = await found(store)
    assert record.status is Status.FAILED_PERMANENT
    assert record.metadata == before.metadata
    assert record.additional_details == before.additional_details
    assert record.processing.retry_count == 2
    assert (record.processing.error_message or "").startswith("no such host: ä")


@pytest.mark.parametrize(
    "outcome",
    [Completed(received=NEW), Failed(reason="404", retry_count=0, received=NEW)],
    ids=["completed", "failed"],
)
async def test_a_new_response_replaces_everything_of_the_earlier_one(
    store: Inventory, outcome: Completed | Failed
) -> None:
    await complete(store)
    await complete(store, outcome=outcome)
    record = await found(store)
    assert record.metadata == NEW.metadata
    assert record.additional_details == {"new": True}
    await complete(store, outcome=with_source("again"))
    assert (await found(store)).metadata.page_source == "again"


async def test_a_success_clears_the_error_of_an_earlier_attempt(stores: Stores) -> None:
    async with stores.open() as store:
        wanted = request()
        await store.finish_attempt(await begin(store, wanted), later(1))
        await stores.pass_time(2)
        assert await store.finish_attempt(await begin(store, wanted), COMPLETED)
        processing = (await found(store)).processing
        assert (processing.attempt_number, processing.retry_count) == (2, 1)
        assert processing.error_message is None


async def test_a_forgotten_record_is_gone_with_all_that_led_to_it(stores: Stores) -> None:
    async with stores.open() as store, stores.open() as other:
        await complete(store, "http://other.example/page")
        await complete(store)
        assert await store.forget(URL)
        assert await other.find(URL) is None
        assert await other.states([URL]) == [None]
        for chosen in (RecordFilter(), RecordFilter(text="page"), RecordFilter(text="site")):
            listed = await other.page_of_records(chosen, limit=10)
            assert URL not in [record.url for record in listed.records]
        assert (await other.count_by_status())[Status.COMPLETED] == 1
        assert not await other.forget(URL)
        await complete(store, "http://third.example/page")
        record = await found(store, "http://third.example/page")
        assert record.metadata.page_source == RECEIVED.page_source
        [third] = (await other.page_of_records(RecordFilter(text="third"), limit=10)).records
        assert third.url == "http://third.example/page"
        # The new record may live where the forgotten one did, and is not found by its words.
        assert (await other.page_of_records(RecordFilter(text="site"), limit=10)).records == []


async def test_a_url_that_comes_back_after_being_forgotten_starts_afresh(stores: Stores) -> None:
    async with stores.open() as store:
        await complete(store)
        await store.forget(URL)
        await stores.pass_time(5)
        await note(store, request("new"))
        record = await found(store)
        assert (record.status, record.metadata) == (Status.PENDING, Metadata())
        assert record.created_at == stores.clock.now()
        listed = await store.page_of_records(RecordFilter(text="page"), limit=10)
        assert [each.url for each in listed.records] == [URL]


@pytest.mark.parametrize("stage", ["pending", "running", "retry", "refresh"])
async def test_forgetting_leaves_an_outstanding_request_to_be_answered(
    stores: Stores, stage: str
) -> None:
    async with stores.open() as store:
        await complete(store)
        wanted = request("r", background=stage == "refresh")
        await note(store, wanted, (await state_of(store)).token)
        attempt = None
        if stage != "pending":
            attempt = await begin(store, wanted)
        if stage == "retry":
            assert attempt is not None
            await store.finish_attempt(attempt, later(10))
        assert await store.forget(URL)
        record = await found(store)
        assert record.metadata == Metadata()
        assert record.additional_details is None
        expected = {
            "pending": Status.PENDING,
            "running": Status.IN_PROGRESS,
            "retry": Status.FAILED_RETRYABLE,
            "refresh": Status.IN_PROGRESS,
        }
        assert record.status is expected[stage]
        assert (await store.count_by_status())[record.status] == 1
        if stage in ("pending", "retry"):
            await stores.pass_time(11)
            attempt = await begin(store, wanted)
        assert attempt is not None
        assert await store.finish_attempt(attempt, COMPLETED)
        record = await found(store)
        assert record.status is Status.COMPLETED
        assert record.metadata.page_source == RECEIVED.page_source
        assert await begin_any(store, wanted) == AlreadyDone()


async def test_records_are_counted_by_status(store: Inventory) -> None:
    assert await store.count_by_status() == dict.fromkeys(Status, 0)
    for n in range(2):
        await note(store, request(url=f"{URL}/pending{n}"))
    for n in range(3):
        await begin(store, request(url=f"{URL}/running{n}"))
    for n in range(4):
        await complete(store, f"{URL}/completed{n}")
    for n in range(5):
        failed = Failed(reason="404", retry_count=0)
        await complete(store, f"{URL}/failed{n}", failed)
    retried = await begin(store, request(url=f"{URL}/retried"))
    await store.finish_attempt(retried, later())
    await begin(store, request(url=f"{URL}/completed0", background=True))
    await begin(store, request(url=f"{URL}/failed0"))
    assert await store.count_by_status() == {
        Status.PENDING: 2,
        Status.IN_PROGRESS: 4,
        Status.COMPLETED: 4,
        Status.FAILED_PERMANENT: 4,
        Status.FAILED_RETRYABLE: 1,
    }


async def test_a_source_is_read_with_its_record_up_to_a_size(stores: Stores) -> None:
    async with stores.open() as store:
        sources = {"http://a.test/": "ä" * 500, "http://b.test/": "ä" * 501, "http://c.test/": None}
        for url, source in sources.items():
            received = replace(RECEIVED, page_source=source)
            await complete(store, url, Completed(received=received))
        small, large, none, unknown = await asyncio.gather(
            *(store.find(url, most=1000) for url in (*sources, "http://d.test/"))
        )
        assert small == await found(store, "http://a.test/")
        assert none == await found(store, "http://c.test/")
        assert unknown is None
        whole = await found(store, "http://b.test/")
        bare = replace(whole, metadata=replace(whole.metadata, page_source=None))
        assert large == LargeSource.of(bare, 1002)
