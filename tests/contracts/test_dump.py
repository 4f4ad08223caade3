"""Whole stores, read and loaded: from SQLite to SQLite, and across the backends.

Every source holds each kind of item that there is, made by the verbs of its stores.
"""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from contracts.adapters import Whole
from contracts.inventory_samples import (
    COMPLETED,
    FAILED,
    begin,
    begin_any,
    complete,
    found,
    note,
    request,
    state_of,
    with_source,
)
from contracts.page_samples import event
from contracts.whole_samples import (
    ANSWERED,
    EVERY_SOURCE,
    KINDS,
    LOST,
    MILLION,
    OUTSTANDING,
    PAIRS,
    RUNNING,
    SITE,
    SOURCES,
    TARGETS,
    by_kind,
    carry,
    furnish,
    furnish_inventory,
    held,
    url,
    wanted,
)
from fakes.clock import FakeClock
from webloom.adapters.cron import next_match
from webloom.application.move.dump import dump
from webloom.application.move.load import Load, read
from webloom.application.move.stream import DumpReader, DumpWriter
from webloom.domain.inventory import (
    AlreadyDone,
    Attempt,
    Completed,
    Failed,
    RecordFilter,
    Status,
)
from webloom.ports.dump import COLLECTIONS
from webloom.stores.whole import LARGE

pytestmark = pytest.mark.usefixtures("patient")

COUNTS = {
    "metadata": len(KINDS),
    "feeds": 4,
    "import_logs": 3,
    "jobs": 6,
    "job_runs": 3,  # one is of events
    "watches": 3,
    "pages": 5,
    "snapshots": 6,
    "price_history": 4,
    "change_logs": 4,
    "notices": 3,
}


@pytest.fixture
def clock(clock_of_today: FakeClock) -> FakeClock:
    return clock_of_today


async def dumped(store: Whole) -> bytes:
    file = io.BytesIO()
    writer = DumpWriter(file, "1.2.3", "some id")
    async with store.whole.snapshot() as snapshot:
        await dump(snapshot, writer, lambda name, items: None)
    return file.getvalue()


@PAIRS
async def test_whatever_a_store_holds_arrives(
    source: Whole, target: Whole, clock: FakeClock
) -> None:
    await furnish(source, clock)
    before = await held(source)
    assert {name: len(items) for name, items in before.items()} == COUNTS
    for _ in range(2):
        verdicts = await carry(source, target, clock)
        assert {name: each.equal for name, each in verdicts.items()} == COUNTS
        assert all(each.source_hash == each.target_hash for each in verdicts.values())
        assert await held(target) == before
        assert await target.whole.noted("source") is None
        clock.advance(60)
    assert await held(source) == before
    async with target.whole.snapshot() as snapshot:
        assert {name: await snapshot.count(name) for name in COLLECTIONS} == COUNTS


@PAIRS
async def test_a_dump_holds_the_same(source: Whole, target: Whole, clock: FakeClock) -> None:
    await furnish(source, clock)
    data = await dumped(source)
    load = Load(target=target.whole, name="n", now=clock.now(), progress=lambda name, items: None)
    verdicts = await load.run(lambda: read(DumpReader(io.BytesIO(data), next_match)), resume=True)
    assert {name: each.equal for name, each in verdicts.items()} == COUNTS
    assert await held(target) == await held(source)


# Records


@PAIRS
async def test_readers_see_the_same_records(source: Whole, target: Whole, clock: FakeClock) -> None:
    await furnish_inventory(source.inventory, clock)
    await carry(source, target, clock)
    for kind in set(KINDS) - RUNNING:
        left, here = [await found(each.inventory, url(kind)) for each in (source, target)]
        error = left.processing.error_message
        if error is not None:  # a NUL, which not every store can hold, is in no dump
            mended = replace(left.processing, error_message=error.replace("\0", "\ufffd"))
            left = replace(left, processing=mended)
        assert here == left, kind
    assert (await found(target.inventory, url("long-page"))).metadata.page_source == MILLION
    counts = await source.inventory.count_by_status()
    moved = counts[Status.IN_PROGRESS]
    assert moved == 2
    assert await target.inventory.count_by_status() == counts | {
        Status.IN_PROGRESS: 0,
        Status.PENDING: counts[Status.PENDING] + moved,
    }


@PAIRS
async def test_listings_show_the_newest_first(
    source: Whole, target: Whole, clock: FakeClock
) -> None:
    await furnish_inventory(source.inventory, clock)
    for number in range(8):  # of one millisecond
        await complete(source.inventory, f"{SITE}{number}")
    await carry(source, target, clock)
    newest_first = [f"{SITE}{number}" for number in range(7, -1, -1)]
    newest_first += [url(kind) for kind in reversed(KINDS)]
    for chosen in (RecordFilter(), RecordFilter(host="site.example"), RecordFilter(text="site")):
        urls, cursor = [], None
        while True:
            page = await target.inventory.page_of_records(chosen, limit=7, cursor=cursor)
            urls += [record.url for record in page.records]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert urls == newest_first, chosen
    for text, kinds in (
        ("refresh running", ["refresh-running"]),
        ("odd*", ["odd-names"]),
        ("elsewhere", []),
    ):
        page = await target.inventory.page_of_records(RecordFilter(text=text), limit=10)
        assert [record.url for record in page.records] == [url(kind) for kind in kinds]
    retryable = RecordFilter(status=Status.FAILED_RETRYABLE)
    page = await target.inventory.page_of_records(retryable, limit=10)
    assert [record.url for record in page.records] == [url("retrying")]


@PAIRS
async def test_a_running_attempt_arrives_as_returned(
    source: Whole, target: Whole, clock: FakeClock
) -> None:
    await furnish_inventory(source.inventory, clock)
    await carry(source, target, clock)
    for kind, status, number in (
        ("running", Status.PENDING, 0),
        ("running-again", Status.PENDING, 1),
        ("refresh-running", Status.COMPLETED, 0),
    ):
        left, here = [await found(each.inventory, url(kind)) for each in (source, target)]
        assert here.status is status, kind
        assert here.processing == replace(left.processing, attempt_number=number), kind
        state = await state_of(target.inventory, url(kind))
        assert (state.in_progress_for, state.request_id) == (None, wanted(kind).request_id), kind
    running = await state_of(source.inventory, url("running"))
    attempt = Attempt(
        url=url("running"),
        request_id=wanted("running").request_id,
        token=running.token,
        number=1,
        retry_count=0,
    )
    assert not await target.inventory.finish_attempt(attempt, COMPLETED)
    assert await source.inventory.finish_attempt(attempt, COMPLETED)


@PAIRS
async def test_requests_are_queued_and_served_once(
    source: Whole, target: Whole, clock: FakeClock
) -> None:
    await furnish_inventory(source.inventory, clock)
    await carry(source, target, clock)
    store = target.inventory
    quiet = await store.forgotten_requests(quiet_for=600, limit=100)
    outstanding = sorted((wanted(kind) for kind in OUTSTANDING), key=lambda each: each.url)
    assert sorted((each.request for each in quiet), key=lambda each: each.url) == outstanding
    second = {"retrying", "refresh-retrying", "running-again"}
    for kind, background in OUTSTANDING.items():
        before = await state_of(source.inventory, url(kind))
        attempt = await begin(store, wanted(kind))
        numbers = (2, 1) if kind in second else (1, 0)
        assert (attempt.number, attempt.retry_count) == numbers, kind
        assert attempt.token > before.token, kind
        status = Status.COMPLETED if background else Status.IN_PROGRESS
        assert (await found(store, url(kind))).status is status, kind
        assert await store.finish_attempt(attempt, with_source(f"new {kind}"))
        record = await found(store, url(kind))
        assert (record.status, record.metadata.page_source) == (Status.COMPLETED, f"new {kind}")
        assert isinstance(await begin_any(store, wanted(kind)), AlreadyDone)
    for kind in (*ANSWERED, LOST):
        assert isinstance(await begin_any(store, wanted(kind)), AlreadyDone), kind
        assert await begin(store, request(url=url(kind))), kind


@PAIRS
async def test_dates_arrive_to_the_millisecond(
    source: Whole, target: Whole, clock: FakeClock
) -> None:
    moments = (
        datetime(1999, 12, 31, 0, 0, 0, 1_000, UTC),
        datetime(2024, 2, 29, 23, 59, 59, 999_000, UTC),
        datetime(2038, 1, 19, 3, 14, 8, 7_000, UTC),
    )
    for moment in moments:
        clock.jump_wall((moment - clock.now()).total_seconds())
        await complete(source.inventory, url(str(moment.year)))
    await carry(source, target, clock)
    for moment in moments:
        record = await found(target.inventory, url(str(moment.year)))
        times = {record.created_at, record.updated_at, record.processing.last_attempt_at}
        assert times == {moment}


@PAIRS
async def test_the_newer_record_stands(source: Whole, target: Whole, clock: FakeClock) -> None:
    await furnish_inventory(source.inventory, clock)
    await carry(source, target, clock)
    clock.advance(1)
    for kind in ("waiting", "page"):
        attempt = await begin(target.inventory, request(f"newer of {kind}", url=url(kind)))
        await target.inventory.finish_attempt(attempt, with_source("newer"))
    # A background refresh does not show: the record is as old as the one that is loaded.
    refresh = await begin(target.inventory, wanted("refresh-waiting"))
    here = by_kind((await held(target, "metadata"))["metadata"])
    newer: dict[str, Completed | Failed] = {
        "not-found": with_source(None),
        "no-page": COMPLETED,
        "again": FAILED,
    }
    for kind, outcome in newer.items():
        attempt = await begin(source.inventory, request(f"newer of {kind}", url=url(kind)))
        assert await source.inventory.finish_attempt(attempt, outcome)
    verdict = (await carry(source, target, clock))["metadata"]
    assert (verdict.holds, verdict.newer) == (True, 3)
    for kind in newer:
        assert await found(target.inventory, url(kind)) == await found(source.inventory, url(kind))
        del here[kind]
    now = by_kind((await held(target, "metadata"))["metadata"])
    assert {kind: now[kind] for kind in here} == here
    assert (await state_of(target.inventory, url("refresh-waiting"))).token == refresh.token
    assert await target.inventory.finish_attempt(refresh, with_source("refreshed"))


@PAIRS
async def test_a_token_never_goes_back(source: Whole, target: Whole, clock: FakeClock) -> None:
    """The target has met the URL by itself, later than the source, and asked for it less lately."""
    await complete(source.inventory, url("met"))
    clock.advance(60)
    await note(target.inventory, request("of the target", url=url("met")))
    [here] = (await held(target, "metadata"))["metadata"]
    [there] = (await held(source, "metadata"))["metadata"]
    high = max(there.token, here.token) + 10**12  # tokens may follow the time in microseconds
    [raised] = await target.whole.put_if_newer("metadata", [replace(here, token=high)])
    assert raised.token == high
    clock.advance(60)
    attempt = await begin(source.inventory, request("newest", url=url("met")))
    await source.inventory.finish_attempt(attempt, with_source("newest"))
    verdict = (await carry(source, target, clock))["metadata"]
    assert (verdict.holds, verdict.newer) == (True, 1)
    record = await found(target.inventory, url("met"))
    assert record == await found(source.inventory, url("met"))
    assert (await state_of(target.inventory, url("met"))).token == high


# How a store is read


@EVERY_SOURCE
async def test_a_snapshot_does_not_see_what_is_written_meanwhile(
    source: Whole, clock: FakeClock, request: pytest.FixtureRequest
) -> None:
    """Without snapshots, every item is read once, and nothing refers to what is missing."""
    urls = {f"{SITE}{number}" for number in range(9)}
    for each in sorted(urls):
        await complete(source.inventory, each)
    await source.watching.pages.store_event(event("one"))
    has_snapshots = request.node.callspec.params["source"].backend.has_snapshots
    seen = []
    async with source.whole.snapshot() as snapshot:
        await complete(source.inventory, f"{SITE}added")
        await source.watching.pages.store_event(event("two", ts=event().ts + 1, is_change=True))
        for name in COLLECTIONS:
            async for lines in snapshot.scan(name):
                seen += [line.item for line in lines]
                clock.advance(1)
                for each in sorted(urls):
                    await complete(source.inventory, each)
    records = [item.url for item in seen if hasattr(item, "metadata")]
    assert len(records) == len(set(records))
    assert set(records) - urls == (set() if has_snapshots else {f"{SITE}added"})
    versions = [item.place.snapshot_hash for item in seen if hasattr(item, "content")]
    assert versions == (["one"] if has_snapshots else ["two", "one"])


@SOURCES
async def test_large_pages_come_a_few_at_a_time(source: Whole) -> None:
    """A thousand pages of a megabyte or four must not be held in memory at once."""
    for number in range(11):
        await complete(source.inventory, f"{SITE}{number}", outcome=with_source(MILLION))
    async with source.whole.snapshot() as snapshot:
        sizes = [[len(each.raw) for each in lines] async for lines in snapshot.scan("metadata")]
    assert sum(len(each) for each in sizes) == 11
    assert len(sizes) == 2
    assert all(sum(each[:-1]) < LARGE for each in sizes)


@TARGETS
async def test_notes_are_kept_by_name(target: Whole) -> None:
    store = target.whole
    assert await store.noted("one") is None
    await store.note("one", "12 $a.b")
    await store.note("$other.one", "7")
    await store.note("one", "13")
    assert await store.noted("one") == "13"
    for _ in range(2):
        await store.note("one", None)
    assert await store.noted("one") is None
    assert await store.noted("$other.one") == "7"
