"""Feeds, runs and postings carried whole, from each backend to each."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from contracts.adapters import Place, PortAdapter, database_file, move_clock
from contracts.conftest import place_for
from contracts.import_samples import (
    MAY,
    add_feed,
    all_read,
    apply,
    begin,
    claimed,
    config,
    end,
    failure,
    feed_now,
    import_all,
    key_of,
    later,
    names_listed,
    posting,
    postings,
    reading,
    run_now,
    started,
    stored,
)
from contracts.mongodb_backend import measured_once
from fakes.clock import FakeClock
from servers.mongod import MongoServer
from webloom.adapters.mongodb.client import CollectionNames, open_mongodb
from webloom.adapters.mongodb.import_archives import (
    MongoFeedArchive,
    MongoPostingArchive,
    MongoRunArchive,
)
from webloom.adapters.mongodb.import_store import MongoImportStore
from webloom.adapters.sqlite.database import open_database
from webloom.adapters.sqlite.import_archives import (
    SqliteFeedArchive,
    SqlitePostingArchive,
    SqliteRunArchive,
)
from webloom.adapters.sqlite.import_store import SqliteImportStore
from webloom.domain.feed import Feed, LastFetch
from webloom.domain.import_run import Counts, ImportRun, RunStatus
from webloom.parsing.job_posting import Salary
from webloom.ports.archive import Archive, Fingerprint
from webloom.ports.clock import Clock
from webloom.ports.import_store import ImportStore, PostingFilter, StoredPosting

pytestmark = pytest.mark.usefixtures("patient")


@dataclass(frozen=True, kw_only=True)
class Whole:
    store: ImportStore
    feeds: Archive[Feed]
    runs: Archive[ImportRun]
    postings: Archive[StoredPosting]

    @property
    def archives(self) -> dict[str, Archive[Any]]:
        return {"feeds": self.feeds, "runs": self.runs, "postings": self.postings}


@asynccontextmanager
async def open_sqlite_whole(place: Place, clock: Clock) -> AsyncIterator[Whole]:
    place.folder.mkdir(exist_ok=True)
    async with open_database(database_file(place), clock) as database:
        yield Whole(
            store=SqliteImportStore(database, durable_batches=False),
            feeds=SqliteFeedArchive(database),
            runs=SqliteRunArchive(database),
            postings=SqlitePostingArchive(database),
        )


@asynccontextmanager
async def open_mongodb_whole(place: Place, clock: Clock) -> AsyncIterator[Whole]:
    """A database for each role, emptied: to make one anew takes most of a test's time."""
    assert isinstance(place.server, MongoServer)
    name = f"imports-{place.folder.name}"
    async with open_mongodb(
        place.server.url, clock, database=name, names=CollectionNames()
    ) as database:
        measured_once(database)
        for collection in (
            database.feeds,
            database.jobs,
            database.job_words,
            database.import_logs,
            database.import_batches,
            database.copies,
        ):
            await collection.delete_many({})
        yield Whole(
            store=MongoImportStore(database),
            feeds=MongoFeedArchive(database),
            runs=MongoRunArchive(database),
            postings=MongoPostingArchive(database),
        )


ARCHIVES: tuple[PortAdapter[Whole], ...] = (
    PortAdapter(name="sqlite", open=open_sqlite_whole, pass_time=move_clock),
    PortAdapter(name="mongodb", open=open_mongodb_whole, pass_time=move_clock, server="mongod"),
)


@pytest.fixture
def clock() -> FakeClock:
    """It begins now: of two stores with clocks of their own, the later change must be the newer."""
    return FakeClock(datetime.now(UTC).replace(microsecond=0))


@pytest.fixture(params=ARCHIVES, ids=lambda adapter: f"from-{adapter.name}")
async def source(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock
) -> AsyncIterator[Whole]:
    place = place_for(request.param, request, tmp_path / "source")
    async with request.param.open(place, clock) as whole:
        yield whole


@pytest.fixture(params=ARCHIVES, ids=lambda adapter: f"to-{adapter.name}")
async def target(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock
) -> AsyncIterator[Whole]:
    place = place_for(request.param, request, tmp_path / "target")
    async with request.param.open(place, clock) as whole:
        yield whole


WHOLE = posting(
    "whole",
    company="Ä & Söhne",
    location="Köln",
    remote=False,
    salary=Salary(min=1, max=2.5, currency="EUR"),
    categories=["$a.b", ""],
    published_at=MAY,
    expires_at=later(1),
)


async def furnish(store: ImportStore, clock: FakeClock) -> None:
    """Every kind of feed, run and posting that there is."""
    odd = {"mapping": {"$t": "a.b"}, "interval_minutes": 5.5, "enabled": False}
    await add_feed(store, "never", due=MAY, **odd)
    await add_feed(store, "moved", moved_to="http://new.example/feed.xml")
    await import_all(store, [WHOLE, *postings("same", "changed", "closed"), posting("old")])
    clock.advance(60)
    claim = await begin(store)
    await apply(store, claim, 0, [posting("changed", "anew")], failures=[failure("nö", "\0", 3)])
    await store.close_postings(claim, [key_of("closed")])
    read = all_read(4, 2, repairs={"a.b": 1}, bytes_total=1 << 40, format="rss")
    fetched = LastFetch(etag="$e", content_hash="ab")
    await end(store, claim, read, error="ö", next_run_at=later(9), last_fetch=fetched)
    clock.advance(60)
    await add_feed(store, "running")
    run = await started(store, "running")
    claim = await claimed(store, run_id=run.run_id, lease=3600)
    await apply(store, claim, 0, [posting("half", source_url="http://running.example/feed.xml")])
    await store.note_reading(claim, reading(fetched=2, published=2))


async def everything(archive: Archive[Any], limit: int = 2) -> list[Any]:
    items: list[Any] = []
    part = await archive.read(None, limit)
    items += part.items
    while part.position is not None:
        part = await archive.read(part.position, limit)
        items += part.items
    return items


async def carry(source: Whole, target: Whole) -> dict[str, Fingerprint]:
    written = {}
    for name, archive in source.archives.items():
        total = Fingerprint()
        items = await everything(archive)
        for start in range(0, len(items), 3):
            total += await target.archives[name].write(items[start : start + 3])
        written[name] = total
    return written


def in_order(items: list[Any]) -> list[Any]:
    return sorted(items, key=repr)


async def test_whatever_a_store_holds_arrives(
    source: Whole, target: Whole, clock: FakeClock
) -> None:
    await furnish(source.store, clock)
    written = await carry(source, target)
    for _ in range(2):
        for name, archive in source.archives.items():
            items = await everything(archive)
            there = target.archives[name]
            assert in_order(await everything(there)) == in_order(items)
            assert await there.same_as(items) == items
            assert await there.count() == await archive.count() == len(items)
            seen: list[int] = []
            assert await there.fingerprint(seen.append) == written[name]
            assert sum(seen) == len(items) == written[name].items
        clock.advance(60)
        assert await carry(source, target) == written


async def test_what_was_carried_is_used_like_what_was_made_here(
    source: Whole, target: Whole, clock: FakeClock
) -> None:
    await furnish(source.store, clock)
    await carry(source, target)
    store = target.store
    assert sorted(await names_listed(store)) == sorted(await names_listed(source.store))
    assert await names_listed(store, PostingFilter(text="köln")) == ["whole"]
    assert await names_listed(store, PostingFilter(is_open=False)) == ["closed"]
    again = [WHOLE, posting("changed", "anew"), posting("closed"), posting("old", "new")]
    run = await import_all(store, [*again, posting("new")])
    assert run.counts == Counts(new=1, updated=2, unchanged=2)
    assert len(await names_listed(store, limit=50)) == 7
    assert (await feed_now(store)).last_run_id == run.run_id


async def test_a_run_that_was_under_way_can_be_taken_up_at_once(
    source: Whole, target: Whole, clock: FakeClock
) -> None:
    await furnish(source.store, clock)
    await carry(source, target)
    claim = await claimed(target.store, "another")
    assert claim.feed.config == config("running")
    half = posting("half", source_url="http://running.example/feed.xml")
    other = posting("other", source_url="http://running.example/feed.xml")
    assert await apply(target.store, claim, 0, [half]) == Counts(new=1)
    assert await apply(target.store, claim, 1, [other]) == Counts(new=1)
    run = await end(target.store, claim, all_read(2, 2), next_run_at=later(5))
    assert (run.status, run.counts) == (RunStatus.COMPLETED, Counts(new=2))
    feed = await feed_now(target.store, "running")
    assert (feed.active_run_id, feed.next_run_at) == (None, later(5))


async def test_what_is_newer_here_stays(source: Whole, target: Whole, clock: FakeClock) -> None:
    await furnish(source.store, clock)
    await carry(source, target)
    clock.advance(60)
    await import_all(target.store, [posting("same", "newer")])
    here = await stored(target.store, "same"), await feed_now(target.store)
    await carry(source, target)
    assert (await stored(target.store, "same"), await feed_now(target.store)) == here
    assert target.postings.is_newer(here[0], await stored(source.store, "same"))
    assert not target.postings.is_newer(await stored(source.store, "same"), here[0])
    assert target.feeds.is_newer(here[1], await feed_now(source.store))


async def test_what_is_older_here_is_replaced(
    source: Whole, target: Whole, clock: FakeClock
) -> None:
    await furnish(source.store, clock)
    await carry(source, target)
    clock.advance(60)
    changed = posting("same", title="Another", published_at=later(1e9))
    run = await import_all(source.store, [changed])
    await carry(source, target)
    assert await stored(target.store, "same") == await stored(source.store, "same")
    assert await names_listed(target.store, PostingFilter(text="another")) == ["same"]
    assert (await names_listed(target.store))[0] == "same"
    assert await run_now(target.store, run.run_id) == run
    assert await feed_now(target.store) == await feed_now(source.store)


async def test_a_fingerprint_tells_one_item_from_another(target: Whole, clock: FakeClock) -> None:
    await furnish(target.store, clock)
    for archive in target.archives.values():
        [item, *_] = await everything(archive)
        if isinstance(item, StoredPosting):
            other: Any = replace(item, posting=posting("whole", "otherwise"))
        elif isinstance(item, ImportRun):
            other = replace(item, error="otherwise")
        else:
            other = replace(item, failures=77)
        whole = await archive.write([item])
        assert await archive.write([item]) == whole
        assert await archive.write([other]) != whole


async def test_positions_are_remembered_for_each_collection(target: Whole) -> None:
    for number, archive in enumerate(target.archives.values()):
        assert await archive.copied_until("one") is None
        await archive.note_copied("one", f"{number}")
    for number, archive in enumerate(target.archives.values()):
        assert await archive.copied_until("one") == f"{number}"
        await archive.note_copied("one", None)
        assert await archive.copied_until("one") is None
