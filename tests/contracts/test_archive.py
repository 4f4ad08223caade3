"""Stores carried whole, from each backend to each; and the layouts of the SQLite file.

Every test has a source that holds each kind of record that there is, made by the verbs of the
inventory, and an empty target.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from contracts.adapters import Place, PortAdapter, database_file, move_clock
from contracts.conftest import place_for
from contracts.inventory_samples import (
    COMPLETED,
    FAILED,
    LEASE,
    RECEIVED,
    begin,
    begin_any,
    complete,
    found,
    later,
    note,
    request,
    state_of,
    with_source,
)
from contracts.mongodb_backend import measured_once
from fakes.clock import FakeClock
from servers.mongod import MongoServer
from webloom.adapters.mongodb.archive import MongoInventoryArchive
from webloom.adapters.mongodb.client import CollectionNames, open_mongodb
from webloom.adapters.mongodb.inventory_store import MongoInventoryStore
from webloom.adapters.sqlite.archive import SqliteInventoryArchive
from webloom.adapters.sqlite.database import open_database
from webloom.adapters.sqlite.inventory_store import SqliteInventoryStore
from webloom.adapters.sqlite.schema import APPLICATION_ID, IMPORTS, TABLES, VERSION
from webloom.adapters.sqlite.watch_schema import WATCHES
from webloom.domain.errors import StoreUnavailable
from webloom.domain.inventory import (
    AlreadyDone,
    Attempt,
    Completed,
    Failed,
    FetchRequest,
    GivenBack,
    GiveUp,
    RecordFilter,
    Status,
)
from webloom.ports.archive import LARGE_SLICE, Archive, Fingerprint, StoredRecord
from webloom.ports.clock import Clock
from webloom.ports.inventory_store import InventoryStore

pytestmark = pytest.mark.usefixtures("patient")

SITE = "http://site.example/"
MILLION = "aä€😀\n" * 200_000


@dataclass(frozen=True, kw_only=True)
class Whole:
    """One store, as its users and as a copy see it."""

    store: InventoryStore
    archive: Archive[StoredRecord]


@asynccontextmanager
async def open_sqlite_whole(place: Place, clock: Clock) -> AsyncIterator[Whole]:
    place.folder.mkdir(exist_ok=True)
    async with open_database(database_file(place), clock) as database:
        yield Whole(
            store=SqliteInventoryStore(database),
            archive=SqliteInventoryArchive(database),
        )


@asynccontextmanager
async def open_mongodb_whole(place: Place, clock: Clock) -> AsyncIterator[Whole]:
    """A database for each role, emptied: to make one anew takes most of a test's time."""
    assert isinstance(place.server, MongoServer)
    name = f"archive-{place.folder.name}"
    async with open_mongodb(
        place.server.url, clock, database=name, names=CollectionNames()
    ) as database:
        measured_once(database)
        for collection in (database.records, database.forgotten, database.copies):
            await collection.delete_many({})
        yield Whole(
            store=MongoInventoryStore(database),
            archive=MongoInventoryArchive(database),
        )


ARCHIVES: tuple[PortAdapter[Whole], ...] = (
    PortAdapter(name="sqlite", open=open_sqlite_whole, pass_time=move_clock),
    PortAdapter(name="mongodb", open=open_mongodb_whole, pass_time=move_clock, server="mongod"),
)


@asynccontextmanager
async def opened(
    adapter: PortAdapter[Whole], request: pytest.FixtureRequest, folder: Path, clock: Clock
) -> AsyncIterator[Whole]:
    async with adapter.open(place_for(adapter, request, folder), clock) as whole:
        yield whole


@pytest.fixture(params=ARCHIVES, ids=lambda adapter: f"from-{adapter.name}")
async def source(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock
) -> AsyncIterator[Whole]:
    async with opened(request.param, request, tmp_path / "source", clock) as whole:
        yield whole


@pytest.fixture(params=ARCHIVES, ids=lambda adapter: f"to-{adapter.name}")
async def target(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock
) -> AsyncIterator[Whole]:
    async with opened(request.param, request, tmp_path / "target", clock) as whole:
        yield whole


# What a store can hold: each kind is the name of a URL.

ANSWERED: dict[str, Completed | Failed] = {
    "page": COMPLETED,
    "empty-page": with_source(""),
    "no-page": with_source(None),
    "long-page": with_source(MILLION),
    "page-with-nul": with_source("a\0b\0"),
    "not-found": FAILED,
    "server-error": Failed(
        reason="ein Fehler: ä \0 \U0001f9ff",
        retry_count=2,
        received=replace(RECEIVED, status_code=503),
    ),
    "odd-names": Completed(
        received=replace(
            RECEIVED,
            headers={"": "", "a.b": "$c", "$set": "{}", ".": "\0", "$": "\u202e\u2028", "ä😀": "é"},
            cookies={"": "x", "$ref": "a", "$id": "b", "__proto__": "\x01"},
            final_url="http://site.example/?q=%00&$where=1",
            details={
                "": {"": [[], {}, [[None, True, 0.5]], {"a.b": {"$c": ""}}]},
                "numbers": [0, -1, 2**53 + 1, 2**63 - 1, -(2**63), 1e300, 5e-324, -0.0, 1.0],
                "$ref": "a collection",
                "$id": 1,
                "texts": ["", "\0", "$a", "\U0010ffff", "é"],
                "nothing": None,
            },
        )
    ),
    "nothing-inside": Completed(
        received=replace(RECEIVED, headers={}, cookies={}, details={}, page_source="")
    ),
}  # fmt: skip
OUTSTANDING = {  # and whether as a background refresh
    "waiting": False,
    "again": False,
    "running": False,
    "running-again": False,
    "given-back": False,
    "retrying": False,
    "refresh-waiting": True,
    "refresh-running": True,
    "refresh-retrying": True,
}
RUNNING = {"running", "running-again", "refresh-running"}
LOST = "worker-died-thrice"
KINDS = (*ANSWERED, *OUTSTANDING, LOST)


def url(kind: str) -> str:
    return SITE + kind


def wanted(kind: str) -> FetchRequest:
    """The latest request of this kind's record."""
    return request(f"latest of {kind}", url=url(kind), background=OUTSTANDING.get(kind, False))


async def furnish(store: InventoryStore, clock: FakeClock) -> None:
    """One record of each kind, each made some milliseconds after the one before."""
    for kind in KINDS:
        clock.advance(0.007)
        if kind in ANSWERED:
            assert await store.finish_attempt(await begin(store, wanted(kind)), ANSWERED[kind])
        elif kind == LOST:
            for _ in range(3):
                await begin(store, wanted(kind), lease=1)
                clock.advance(2)
            assert isinstance(await begin_any(store, wanted(kind)), GiveUp)
        else:
            await _request(store, kind)


async def _request(store: InventoryStore, kind: str) -> None:
    asked = wanted(kind)
    if asked.background or kind == "again":
        await complete(store, asked.url)
        await note(store, asked, (await state_of(store, asked.url)).token)
    elif kind == "waiting":
        await note(store, asked)
    if kind in ("waiting", "again", "refresh-waiting"):
        return
    attempt = await begin(store, asked, lease=3600)
    if kind in ("retrying", "refresh-retrying"):
        assert await store.finish_attempt(attempt, later(30))
    elif kind == "given-back":
        assert await store.finish_attempt(attempt, GivenBack())
    elif kind == "running-again":
        assert await store.finish_attempt(attempt, later(0))
        await begin(store, asked, lease=3600)


async def everything(archive: Archive[StoredRecord], limit: int = 4) -> list[StoredRecord]:
    items: list[StoredRecord] = []
    part = await archive.read(None, limit)
    items += part.items
    while part.position is not None:
        part = await archive.read(part.position, limit)
        items += part.items
    return items


def by_kind(items: Sequence[StoredRecord | None]) -> dict[str, StoredRecord]:
    return {item.url.removeprefix(SITE): item for item in items if item is not None}


async def carry(source: Whole, target: Whole) -> list[StoredRecord]:
    items = await everything(source.archive)
    for start in range(0, len(items), 5):
        await target.archive.write(items[start : start + 5])
    return items


@pytest.fixture
async def carried(source: Whole, target: Whole, clock: FakeClock) -> list[StoredRecord]:
    await furnish(source.store, clock)
    return await carry(source, target)


async def test_whatever_a_store_holds_arrives(
    source: Whole, target: Whole, carried: list[StoredRecord]
) -> None:
    assert sorted(by_kind(carried)) == sorted(KINDS)
    assert len(carried) == len(KINDS)
    assert by_kind(await everything(target.archive)) == by_kind(carried)
    assert await target.archive.same_as(carried) == carried
    assert await source.archive.same_as(carried) == carried
    assert await target.archive.count() == await source.archive.count() == len(KINDS)


async def test_readers_see_the_same_records(
    source: Whole, target: Whole, carried: list[StoredRecord]
) -> None:
    for kind in set(KINDS) - RUNNING:
        left, here = await found(source.store, url(kind)), await found(target.store, url(kind))
        error = left.processing.error_message
        if error is not None:  # a NUL, which not every store can hold, is carried by none
            left = replace(
                left,
                processing=replace(left.processing, error_message=error.replace("\0", "\ufffd")),
            )
        assert here == left, kind
    long = await found(target.store, url("long-page"))
    assert long.metadata.page_source == MILLION
    assert (await found(target.store, url("empty-page"))).metadata.page_source == ""
    assert (await found(target.store, url("no-page"))).metadata.page_source is None
    counts = await source.store.count_by_status()
    moved = counts[Status.IN_PROGRESS]
    assert moved == 2
    assert await target.store.count_by_status() == counts | {
        Status.IN_PROGRESS: 0,
        Status.PENDING: counts[Status.PENDING] + moved,
    }


async def test_a_running_attempt_is_carried_as_given_back(
    source: Whole, target: Whole, carried: list[StoredRecord]
) -> None:
    for kind, status, number in (
        ("running", Status.PENDING, 0),
        ("running-again", Status.PENDING, 1),
        ("refresh-running", Status.COMPLETED, 0),
    ):
        left, here = await found(source.store, url(kind)), await found(target.store, url(kind))
        assert here.status is status, kind
        assert here.processing == replace(left.processing, attempt_number=number), kind
        state = await state_of(target.store, url(kind))
        assert (state.in_progress_for, state.request_id) == (None, wanted(kind).request_id), kind
    running = await state_of(source.store, url("running"))
    attempt = Attempt(
        url=url("running"),
        request_id=wanted("running").request_id,
        token=running.token,
        number=1,
        retry_count=0,
    )
    assert not await target.store.finish_attempt(attempt, COMPLETED)
    assert await source.store.finish_attempt(attempt, COMPLETED)


async def test_dates_are_carried_to_the_millisecond(
    source: Whole, target: Whole, clock: FakeClock
) -> None:
    for moment in (
        datetime(2024, 2, 29, 23, 59, 59, 999_000, UTC),
        datetime(1999, 12, 31, 0, 0, 0, 1_000, UTC),
        datetime(2038, 1, 19, 3, 14, 8, 7_000, UTC),
    ):
        clock.jump_wall((moment - clock.now()).total_seconds())
        await complete(source.store, url(str(moment.year)))
        await carry(source, target)
        record = await found(target.store, url(str(moment.year)))
        times = {record.created_at, record.updated_at, record.processing.last_attempt_at}
        assert times == {moment}


async def test_carried_requests_are_served_and_none_counts_as_lost(
    source: Whole, target: Whole, carried: list[StoredRecord]
) -> None:
    second = {"retrying", "refresh-retrying", "running-again"}
    for kind, background in OUTSTANDING.items():
        before = await state_of(source.store, url(kind))
        attempt = await begin(target.store, wanted(kind))
        numbers = (2, 1) if kind in second else (1, 0)
        assert (attempt.number, attempt.retry_count) == numbers, kind
        assert attempt.token > before.token, kind
        assert attempt.request_id == wanted(kind).request_id, kind
        record = await found(target.store, url(kind))
        assert record.status is (Status.COMPLETED if background else Status.IN_PROGRESS), kind
        assert await target.store.finish_attempt(attempt, with_source(f"new {kind}"))
        record = await found(target.store, url(kind))
        assert (record.status, record.metadata.page_source) == (Status.COMPLETED, f"new {kind}")
        assert isinstance(await begin_any(target.store, wanted(kind)), AlreadyDone)


async def test_answered_requests_stay_answered(target: Whole, carried: list[StoredRecord]) -> None:
    for kind in (*ANSWERED, LOST):
        assert isinstance(await begin_any(target.store, wanted(kind)), AlreadyDone), kind
        assert await begin(target.store, request(url=url(kind))), kind


async def test_outstanding_requests_are_found_by_the_scheduler_at_once(
    target: Whole, carried: list[StoredRecord]
) -> None:
    quiet = await target.store.forgotten_requests(quiet_for=600, limit=100)
    requests = [each.request for each in quiet]
    assert sorted(requests, key=lambda each: each.url) == sorted(
        (wanted(kind) for kind in OUTSTANDING), key=lambda each: each.url
    )


async def test_listings_show_the_newest_first(
    source: Whole, target: Whole, carried: list[StoredRecord]
) -> None:
    newest_first = [url(kind) for kind in reversed(KINDS)]
    for chosen in (RecordFilter(), RecordFilter(host="site.example"), RecordFilter(text="site")):
        urls, cursor = [], None
        while True:
            page = await target.store.page_of_records(chosen, limit=7, cursor=cursor)
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
        page = await target.store.page_of_records(RecordFilter(text=text), limit=10)
        assert [record.url for record in page.records] == [url(kind) for kind in kinds]
    page = await target.store.page_of_records(
        RecordFilter(status=Status.FAILED_RETRYABLE), limit=10
    )
    assert [record.url for record in page.records] == [url("retrying")]


async def test_records_of_one_millisecond_keep_their_order(source: Whole, target: Whole) -> None:
    for number in range(8):
        await complete(source.store, f"{SITE}{number}")
    await carry(source, target)
    newest_first = [f"{SITE}{number}" for number in range(7, -1, -1)]
    page = await source.store.page_of_records(RecordFilter(), limit=10)
    assert [record.url for record in page.records] == newest_first
    page = await target.store.page_of_records(RecordFilter(), limit=10)
    there = [record.url for record in page.records]
    assert there == newest_first


async def test_writing_the_same_again_changes_nothing(
    source: Whole, target: Whole, carried: list[StoredRecord], clock: FakeClock
) -> None:
    before = await target.archive.fingerprint(lambda _: None)
    clock.advance(3)
    await carry(source, target)
    assert by_kind(await everything(target.archive)) == by_kind(carried)
    assert await target.archive.count() == len(KINDS)
    assert await target.archive.fingerprint(lambda _: None) == before
    page = await target.store.page_of_records(RecordFilter(text="waiting"), limit=10)
    assert sorted(record.url for record in page.records) == [url("refresh-waiting"), url("waiting")]


async def test_what_is_newer_in_the_target_stays(
    source: Whole, target: Whole, carried: list[StoredRecord], clock: FakeClock
) -> None:
    clock.advance(1)
    for kind in ("waiting", "page"):
        attempt = await begin(target.store, request(f"newer of {kind}", url=url(kind)))
        await target.store.finish_attempt(attempt, with_source("newer"))
    here = await target.archive.same_as(carried)
    await target.archive.write(carried)
    assert await target.archive.same_as(carried) == here
    twins = by_kind(here)
    for kind, item in by_kind(carried).items():
        is_newer = kind in ("waiting", "page")
        assert target.archive.is_newer(twins[kind], item) is is_newer, kind
        assert not target.archive.is_newer(item, twins[kind]), kind


async def test_what_is_newer_in_the_source_replaces_all_of_the_record(
    source: Whole, target: Whole, carried: list[StoredRecord], clock: FakeClock
) -> None:
    clock.advance(1)
    for kind, outcome in (("page", with_source(None)), ("no-page", COMPLETED), ("waiting", FAILED)):
        attempt = await begin(source.store, request(f"newer of {kind}", url=url(kind)))
        assert await source.store.finish_attempt(attempt, outcome)
    await carry(source, target)
    for kind in ("page", "no-page", "waiting"):
        assert await found(target.store, url(kind)) == await found(source.store, url(kind))
    assert await target.archive.same_as(carried) == await source.archive.same_as(carried)


async def test_an_attempt_that_runs_in_the_target_outlives_a_second_copy(
    source: Whole, target: Whole, carried: list[StoredRecord], clock: FakeClock
) -> None:
    """A background refresh does not show: the record is as old as the one that is copied."""
    clock.advance(1)
    attempt = await begin(target.store, wanted("refresh-waiting"))
    await carry(source, target)
    state = await state_of(target.store, url("refresh-waiting"))
    assert state.token == attempt.token
    assert await target.store.finish_attempt(attempt, with_source("refreshed"))


async def test_a_token_never_goes_back(source: Whole, target: Whole, clock: FakeClock) -> None:
    """The target has met the URL by itself, later than the source, and asked for it less lately."""
    await complete(source.store, url("met"))
    clock.advance(60)
    old = await state_of(source.store, url("met"))
    await note(target.store, request("of the target", url=url("met")))
    [here] = await target.archive.same_as(await everything(source.archive))
    assert here is not None
    high = max(old.token, here.token) + 10**12  # tokens may follow the time in microseconds
    await target.archive.write([replace(here, token=high)])
    clock.advance(60)
    attempt = await begin(source.store, request("newest", url=url("met")))
    await source.store.finish_attempt(attempt, with_source("newest"))
    [item] = await carry(source, target)
    assert old.token < item.token < high
    record = await found(target.store, url("met"))
    assert record == await found(source.store, url("met"))
    state = await state_of(target.store, url("met"))
    assert state.token == high
    [twin] = await target.archive.same_as([item])
    assert twin == replace(item, token=high)
    assert target.archive.is_newer(twin, item)


async def test_everything_is_read_once_whatever_is_written_meanwhile(
    source: Whole, clock: FakeClock
) -> None:
    urls = [f"{SITE}{number}" for number in range(9)]
    for each in urls:
        await complete(source.store, each)
    part = await source.archive.read(None, 2)
    seen = [item.url for item in part.items]
    added = 0
    while part.position is not None:
        clock.advance(1)
        for each in urls:
            await complete(source.store, each)
        if added < 6:
            added += 1
            await complete(source.store, f"{SITE}added/{added}")
        part = await source.archive.read(part.position, 2)
        seen += [item.url for item in part.items]
    assert len(seen) == len(set(seen))
    assert set(urls) <= set(seen)


async def test_a_last_slice_says_that_it_is_the_last(source: Whole) -> None:
    assert (await source.archive.read(None, 3)).items == []
    for number in range(6):
        await complete(source.store, f"{SITE}{number}")
    seen = await everything(source.archive, limit=3)
    assert len({item.url for item in seen}) == 6
    assert (await source.archive.read(None, 7)).position is None


async def test_large_pages_come_a_few_at_a_time(source: Whole, target: Whole) -> None:
    """A thousand pages of a megabyte or four must not be held in memory at once."""
    for number in range(37):
        await complete(source.store, f"{SITE}{number}", outcome=with_source(MILLION))
    first = await source.archive.read(None, 500)
    assert LARGE_SLICE <= 1_000_000 * len(first.items) < LARGE_SLICE + 1_000_000
    seen, written = [*first.items], await target.archive.write(first.items)
    position = first.position
    while position is not None:
        part = await source.archive.read(position, 500)
        seen += part.items
        written += await target.archive.write(part.items)
        position = part.position
    assert {item.url for item in seen} == {f"{SITE}{number}" for number in range(37)}
    told: list[int] = []
    assert await target.archive.fingerprint(told.append) == written
    assert sum(told) == len(seen) == 37


async def test_unknown_items_have_no_twin(source: Whole, target: Whole, clock: FakeClock) -> None:
    await furnish(source.store, clock)
    items = await everything(source.archive)
    await target.archive.write(items[::2])
    twins = [item if place % 2 == 0 else None for place, item in enumerate(items)]
    assert await target.archive.same_as(items) == twins


async def test_the_fingerprint_is_that_of_what_was_written(
    source: Whole, target: Whole, clock: FakeClock
) -> None:
    await furnish(source.store, clock)
    items = await everything(source.archive)
    assert await target.archive.fingerprint(lambda _: None) == Fingerprint()
    written = Fingerprint()
    for start in range(0, len(items), 5):
        written += await target.archive.write(items[start : start + 5])
    told: list[int] = []
    assert await target.archive.fingerprint(told.append) == written
    assert sum(told) == written.items == len(KINDS)


CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("token", {"token": 5}),
    ("status", {"status": Status.FAILED_PERMANENT}),
    ("details", {"additional_details": {"a": 1}}),
    ("request", {"request_id": "other"}),
    ("retry", {"waits": True}),
]


@pytest.mark.parametrize("change", [change for _, change in CHANGES], ids=[n for n, _ in CHANGES])
async def test_any_difference_changes_the_fingerprint(
    target: Whole, change: dict[str, Any]
) -> None:
    await complete(target.store)
    [item] = await everything(target.archive)
    whole = await target.archive.write([item])
    other = replace(item, updated_at=item.updated_at, **change)
    assert await target.archive.write([other]) != whole
    page = replace(item, metadata=replace(item.metadata, page_source="<p>hellp</p>"))
    assert await target.archive.write([page]) != whole


async def test_positions_are_remembered_for_each_source(target: Whole) -> None:
    archive = target.archive
    assert await archive.copied_until("one") is None
    await archive.note_copied("one", "12 $a.b")
    await archive.note_copied("$other.one", "7")
    await archive.note_copied("one", "13")
    assert await archive.copied_until("one") == "13"
    await archive.note_copied("one", None)
    await archive.note_copied("one", None)
    assert await archive.copied_until("one") is None
    assert await archive.copied_until("$other.one") == "7"


# The layouts of the SQLite file.


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(folder=tmp_path, name="here", server=None)


def make_older(file: Path, layout: int) -> None:
    """As that layout has left it."""
    with closing(sqlite3.connect(file)) as connection:
        kinds = "'table', 'trigger'"
        made = connection.execute(f"SELECT name, type FROM sqlite_schema WHERE type IN ({kinds})")
        for name, kind in made.fetchall():
            later = WATCHES if layout == 3 else IMPORTS + WATCHES
            if f"CREATE TRIGGER {name} " in later or f"TABLE {name} " in later:
                connection.execute(f"DROP {kind} IF EXISTS {name}")
        if layout == 1:
            connection.execute("DROP TABLE copies")
        connection.execute(f"PRAGMA user_version = {layout}")
        connection.commit()


def schema_of(file: Path) -> set[tuple[str, ...]]:
    with closing(sqlite3.connect(file)) as connection:
        return set(connection.execute("SELECT type, name, sql FROM sqlite_schema"))


def layout_of(file: Path) -> int:
    with closing(sqlite3.connect(file)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


@pytest.mark.parametrize("layout", [1, 2, 3])
async def test_a_file_of_an_older_layout_is_brought_to_this_one_with_all_it_holds(
    place: Place, clock: FakeClock, layout: int
) -> None:
    async with open_sqlite_whole(place, clock) as whole:
        await furnish(whole.store, clock)
        before = await everything(whole.archive)
    tables = schema_of(database_file(place))
    make_older(database_file(place), layout)
    for _ in range(2):
        async with open_sqlite_whole(place, clock) as whole:
            assert await everything(whole.archive) == before
            await whole.archive.note_copied("source", "1")
            assert await whole.archive.copied_until("source") == "1"
            state = await state_of(whole.store, url("running"))
            assert state.in_progress_for is not None
            assert state.in_progress_for > LEASE
    assert layout_of(database_file(place)) == VERSION == 6
    assert schema_of(database_file(place)) == tables


async def test_an_empty_file_of_layout_1_opens(place: Place, clock: FakeClock) -> None:
    with closing(sqlite3.connect(database_file(place))) as connection:
        connection.executescript(TABLES)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA user_version = 1")
    async with open_sqlite_whole(place, clock) as whole:
        await complete(whole.store)
        await whole.archive.note_copied("source", "1")
    assert layout_of(database_file(place)) == VERSION


async def test_a_file_of_a_later_layout_is_refused_and_left_alone(
    place: Place, clock: FakeClock
) -> None:
    async with open_sqlite_whole(place, clock) as whole:
        await complete(whole.store)
    with closing(sqlite3.connect(database_file(place))) as connection:
        connection.execute("PRAGMA user_version = 7")
    with pytest.raises(StoreUnavailable, match=r"layout 7 .* knows layout 6"):
        async with open_database(database_file(place), clock):
            pass
    assert layout_of(database_file(place)) == 7
