"""Watches, pages and all that is kept of them carried whole, from each backend to each."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from contracts.adapters import (
    Place,
    PortAdapter,
    Watching,
    database_file,
    move_clock,
    watching_in,
    watching_on,
)
from contracts.conftest import place_for
from contracts.mongodb_backend import measured_once
from contracts.page_samples import TS, URL, event, numbers, parsed, state_of
from contracts.page_samples import page as page_now
from contracts.watch_samples import check, config, end, new_run, notification, run_now, url
from fakes.clock import FakeClock
from servers.mongod import MongoServer
from webloom.adapters.mongodb.client import CollectionNames, open_mongodb
from webloom.adapters.mongodb.page_archives import (
    MongoChangeLogArchive,
    MongoPageArchive,
    MongoPriceArchive,
)
from webloom.adapters.mongodb.version_archives import MongoVersionArchive
from webloom.adapters.mongodb.watch_archives import (
    MongoNoticeArchive,
    MongoWatchArchive,
    MongoWatchRunArchive,
)
from webloom.adapters.sqlite.database import open_database
from webloom.adapters.sqlite.page_archives import (
    SqliteChangeLogArchive,
    SqlitePageArchive,
    SqlitePriceArchive,
)
from webloom.adapters.sqlite.version_archives import SqliteVersionArchive
from webloom.adapters.sqlite.watch_archives import (
    SqliteNoticeArchive,
    SqliteWatchArchive,
    SqliteWatchRunArchive,
)
from webloom.application.move.copy_collection import CopyCollection, Verdict
from webloom.domain.page import Selection
from webloom.domain.watch import Outcome, RunStatus, Target, Thresholds
from webloom.parsing.storage_event import canonical
from webloom.ports.archive import Archive
from webloom.ports.clock import Clock
from webloom.ports.page_store import ChangeFilter, Checked, Validators
from webloom.ports.watch_archive import NOT_CHECKED, WholeLog, WholeVersion
from webloom.ports.watch_runs import RunFilter

pytestmark = pytest.mark.usefixtures("patient")

JOB = "id of shop"


@dataclass(frozen=True, kw_only=True)
class Whole:
    store: Watching
    archives: dict[str, Archive[Any]]


@asynccontextmanager
async def open_sqlite_whole(place: Place, clock: Clock) -> AsyncIterator[Whole]:
    place.folder.mkdir(exist_ok=True)
    async with open_database(database_file(place), clock) as database:
        yield Whole(
            store=watching_in(database),
            archives={
                "watches": SqliteWatchArchive(database),
                "job_runs": SqliteWatchRunArchive(database),
                "snapshots": SqliteVersionArchive(database),
                "price_history": SqlitePriceArchive(database),
                "pages": SqlitePageArchive(database),
                "change_logs": SqliteChangeLogArchive(database),
                "notices": SqliteNoticeArchive(database),
            },
        )


@asynccontextmanager
async def open_mongodb_whole(place: Place, clock: Clock) -> AsyncIterator[Whole]:
    """A database for each role, emptied: to make one anew takes most of a test's time."""
    assert isinstance(place.server, MongoServer)
    name = f"watches-{place.folder.name}"
    async with open_mongodb(
        place.server.url, clock, database=name, names=CollectionNames()
    ) as database:
        measured_once(database)
        for collection in (
            database.watches,
            database.job_runs,
            database.watch_ledger,
            database.notices,
            database.pages,
            database.snapshots,
            database.price_history,
            database.change_logs,
            database.copies,
        ):
            await collection.delete_many({})
        yield Whole(
            store=watching_on(database),
            archives={
                "watches": MongoWatchArchive(database),
                "job_runs": MongoWatchRunArchive(database),
                "snapshots": MongoVersionArchive(database),
                "price_history": MongoPriceArchive(database),
                "pages": MongoPageArchive(database),
                "change_logs": MongoChangeLogArchive(database),
                "notices": MongoNoticeArchive(database),
            },
        )


ARCHIVES: tuple[PortAdapter[Whole], ...] = (
    PortAdapter(name="sqlite", open=open_sqlite_whole, pass_time=move_clock),
    PortAdapter(name="mongodb", open=open_mongodb_whole, pass_time=move_clock, server="mongod"),
)


@pytest.fixture
def clock() -> FakeClock:
    """It begins now: what expires does so by the server's clock as well."""
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


ACROSS = pytest.mark.parametrize(
    ("source", "target"),
    [ARCHIVES, ARCHIVES[::-1]],
    indirect=True,
    ids=["from-sqlite-to-mongodb", "from-mongodb-to-sqlite"],
)

ODD = config(
    "Ä & Söhne",
    "ab",
    enabled=False,
    selection=Selection(keep=["$a.b"], ignore_pattern=["^ö"], sort_lines=True),
    thresholds=Thresholds(price_below=Decimal("10.00"), price_change_percent=Decimal("2.50")),
    targets=[Target(url="json://$hook/", secret="s", digest_minutes=5)],
)


async def furnish(whole: Whole, clock: FakeClock) -> None:
    """Every kind of item that there is."""
    store, now = whole.store, clock.now()
    await store.watches.add_watch("odd", ODD, next_run_at=None)
    await store.watches.add_watch(JOB, config(), next_run_at=now)
    run = await store.runs.start_run(JOB, new_run("ended"))
    assert run is not None
    await check(store, run, "a", validators=Validators(etag='"a"', body_hash="b"), at=now)
    await check(store, run, "b", "it said \0 nö", at=now)
    changed = event("c1", job_id=JOB, url=url("c"), price="12.50", previous="13", is_change=True)
    await store.pages.store_event(replace(changed, run_id=run.run_id, alerts=["ä"]))
    await end(store, run, next_run_at=now + timedelta(hours=1))
    await store.notifications.add(
        [notification("sent"), notification("open"), notification("tried")]
    )
    await store.notifications.note_sent(["notice sent"], now)
    await store.notifications.note_failed(["notice tried"], error="nö", retry_at=now)
    clock.advance(60)
    for each in (
        event("one", version=1, price="10.00", classification={"type": "product", "$x": [1, 2.5]}),
        event("five", version=5, ts=TS + 5, is_change=True, availability="in_stock"),
        event("six", ts=TS + 6, price="9.99", previous="10", content={"title": 1, "more\0": "\0ä"}),
        event("bare", ts=TS + 7, has_content=False, is_change=True),
        event("late", ts=TS + 3, is_change=True),
        event("only", url="http://price.example/", has_content=False, price="1"),
    ):
        clock.advance(1)
        await store.pages.store_event(each)
    running = await store.runs.start_run(JOB, new_run("running"))
    assert running is not None
    await check(store, running, "a", at=clock.now())
    await check(store, running, "b", "nö", at=clock.now())


async def carry(source: Whole, target: Whole) -> dict[str, Verdict]:
    """As `webloom copy` does."""
    return {name: await carry_one(source, target, name) for name in source.archives}


async def carry_one(source: Whole, target: Whole, name: str) -> Verdict:
    collection = CopyCollection(
        source=source.archives[name],
        target=target.archives[name],
        source_name="source",
        key=repr,
    )
    copied = await collection.copy(lambda items: None)
    return await collection.verify(copied, lambda items: None)


async def everything(archive: Archive[Any], limit: int = 2) -> list[Any]:
    part = await archive.read(None, limit)
    items = list(part.items)
    while part.position is not None:
        part = await archive.read(part.position, limit)
        items += part.items
    return sorted(items, key=repr)


COUNTS = {
    "watches": 3,
    "job_runs": 3,  # one is of events
    "snapshots": 6,
    "price_history": 4,
    "pages": 5,
    "change_logs": 4,
    "notices": 2,
}


async def test_whatever_a_store_holds_arrives(
    source: Whole, target: Whole, clock: FakeClock
) -> None:
    await furnish(source, clock)
    before = {name: await everything(each) for name, each in source.archives.items()}
    assert {name: len(items) for name, items in before.items()} == COUNTS
    for _ in range(2):
        verdicts = await carry(source, target)
        assert {name: each.equal for name, each in verdicts.items()} == COUNTS
        assert all(each.holds and each.newer == 0 for each in verdicts.values())
        for name, items in before.items():
            assert await everything(target.archives[name]) == items
            assert await target.archives[name].count() == len(items)
        clock.advance(60)
    assert {name: await everything(each) for name, each in source.archives.items()} == before
    pages = target.store.pages
    assert await state_of(pages) == await state_of(source.store.pages)
    seen = await page_now(pages, JOB, url("a"))
    assert seen.validators == Validators(etag='"a"', body_hash="b")
    assert (await page_now(pages, JOB, url("b"))).last_outcome is Outcome.FAILED
    summary = await pages.price_summary("abc123", URL)
    assert summary == await source.store.pages.price_summary("abc123", URL)


@ACROSS
async def test_numbering_goes_on_as_before(source: Whole, target: Whole, clock: FakeClock) -> None:
    await furnish(source, clock)
    await carry(source, target)
    news = [
        event("between", ts=TS + 4, is_change=True, price="11"),
        event("next", ts=TS + 8, is_change=True, price="8", previous="9.99"),
        event("one", version=1, price="10.00"),  # it is known
    ]
    for each in news:
        for whole in (source, target):
            await whole.store.pages.store_event(each)
            records = await everything(whole.archives["price_history"])
            latest = [each for each in records if each.url == URL and each.expires_at is None]
            assert len(latest) == 1
    found = await numbers(target.store.pages)
    assert found == await numbers(source.store.pages)
    assert [text for _, text in found] == ["one", "late", "between", "five", "six", "next"]
    assert await state_of(target.store.pages) == await state_of(source.store.pages)


@ACROSS
async def test_a_run_in_progress_arrives_as_ended_and_its_watch_is_due(
    source: Whole, target: Whole, clock: FakeClock
) -> None:
    await furnish(source, clock)
    await carry(source, target)
    run = await run_now(target.store, "running")
    assert (run.status, run.tally.processed, run.tally.failed) == (RunStatus.PARTIAL, 3, 2)
    assert [(each.url, each.reason) for each in run.failures] == [
        (url("b"), "nö"),
        (url("c"), NOT_CHECKED),
    ]
    watch = await target.store.watches.find_watch(JOB)
    assert watch is not None
    assert (watch.active_run_id, watch.last_run_id) == (None, "ended")
    assert await target.store.runs.active_runs(limit=9) == []
    due = await target.store.watches.due_watches(clock.now() + timedelta(hours=1), limit=9)
    assert [each.watch_id for each in due] == [JOB]
    again = await target.store.runs.start_run(JOB, new_run("again"))
    assert again is not None
    assert again.status is RunStatus.IN_PROGRESS
    assert all(verdict.holds for verdict in (await carry(source, target)).values())
    watch = await target.store.watches.find_watch(JOB)
    assert watch is not None
    assert watch.active_run_id == "again"
    runs, _ = await target.store.runs.runs(RunFilter(watch_id=JOB), limit=9)
    assert [each.run_id for each in runs][:2] == ["again", "running"]


@ACROSS
async def test_only_what_is_not_sent_is_told_again(
    source: Whole, target: Whole, clock: FakeClock
) -> None:
    await furnish(source, clock)
    await carry(source, target)
    due = await target.store.notifications.due(clock.now(), limit=9)
    assert {(each.notification_id, each.attempts) for each in due} == {
        ("notice open", 0),
        ("notice tried", 1),
    }
    await target.store.notifications.note_sent([each.notification_id for each in due], clock.now())
    verdict = (await carry(source, target))["notices"]
    assert (verdict.newer, verdict.holds) == (2, True)
    assert await target.store.notifications.due(clock.now(), limit=9) == []


@ACROSS
async def test_what_was_not_told_is_told_by_the_target(
    source: Whole, target: Whole, clock: FakeClock
) -> None:
    """Also what a run in progress was to tell, and what was being told."""
    await furnish(source, clock)
    more = replace(event("c2", job_id=JOB, url=url("a"), is_change=True), run_id="running")
    await source.store.pages.store_event(replace(more, alerts=["b"]))
    assert await source.store.pages.gather_alerts(JOB, "ended", "batch") == ["batch"]
    await carry(source, target)
    pages = target.store.pages
    assert {each.run_id for each in await pages.late_alerts(limit=9)} == {"ended", "running"}
    assert await pages.gather_alerts(JOB, "ended", "other") == ["batch"]
    assert await pages.gather_alerts(JOB, "running", "new") == ["new"]
    await source.store.pages.note_told("batch")
    assert (await carry(source, target))["change_logs"].holds
    assert await pages.gather_alerts(JOB, "ended", "other") == []
    assert await pages.gather_alerts(JOB, "running", "other") == ["new"]


@ACROSS
async def test_what_has_gone_on_in_the_target_stays(
    source: Whole, target: Whole, clock: FakeClock
) -> None:
    await furnish(source, clock)
    await carry(source, target)
    clock.advance(60)
    await target.store.pages.store_event(event("next", ts=TS + 8, price="8", is_change=True))
    edited = replace(ODD, name="edited")
    await target.store.watches.edit_watch("odd", edited, next_run_at=None)
    state = await state_of(target.store.pages)
    verdicts = await carry(source, target)
    assert all(verdict.holds for verdict in verdicts.values())
    assert (verdicts["watches"].newer, verdicts["pages"].newer) == (2, 1)
    assert await state_of(target.store.pages) == state
    watch = await target.store.watches.find_watch("odd")
    assert watch is not None
    assert watch.config.name == "edited"


@ACROSS
async def test_what_has_gone_on_in_the_source_is_carried_too(
    source: Whole, target: Whole, clock: FakeClock
) -> None:
    await furnish(source, clock)
    await carry(source, target)
    clock.advance(60)
    for each in (
        event("next", ts=TS + 8, price="8", is_change=True),
        event("between", ts=TS + 4, version=5, is_change=True),
        event("bare", ts=TS + 7),
    ):
        await source.store.pages.store_event(each)
    await source.store.pages.note_checked(
        Checked(job_id=JOB, url=url("a"), run_id="none", at=clock.now(), outcome=Outcome.UNCHANGED)
    )
    verdicts = await carry(source, target)
    assert [name for name, each in verdicts.items() if not each.holds or each.newer] == []
    assert await state_of(target.store.pages) == await state_of(source.store.pages)


def version(number: int, expires_at: datetime | None) -> WholeVersion:
    made = event(f"text {number}", ts=TS + number)
    return WholeVersion(
        key=made.snapshot_key,
        job_id=made.job_id,
        url=made.url,
        number=number,
        place=made.place,
        content=canonical(made.parsed),
        expires_at=expires_at,
    )


async def test_many_versions_are_packed_by_the_target(target: Whole, clock: FakeClock) -> None:
    """In batches; and all of them can be read."""
    day = clock.now() + timedelta(days=1)
    superseded = [version(number, day + timedelta(seconds=number)) for number in range(129, 0, -1)]
    made = [version(130, None), *superseded]
    archive = target.archives["snapshots"]
    for start in range(0, len(made), 70):
        await archive.write(made[start : start + 70])
    assert await everything(archive, 40) == sorted(made, key=repr)
    assert await archive.same_as(made) == made
    assert await target.store.pages.parsed(made[-1].job_id, URL, 1) == parsed("text 1")
    listed = await target.store.pages.versions(made[-1].job_id, URL, limit=200)
    assert [each.version for each in listed] == list(range(130, 0, -1))
    assert not listed[0].is_delta
    assert 3 <= sum(not each.is_delta for each in listed) <= 5  # two batches, and chains end


async def test_a_version_never_depends_on_one_that_goes_before_it(
    target: Whole, clock: FakeClock
) -> None:
    days = [clock.now() + timedelta(days=days) for days in (3, 2, 4)]
    made = [version(number, day) for number, day in zip((3, 2, 1), days, strict=True)]
    await target.archives["snapshots"].write([version(4, None), *made])
    listed = await target.store.pages.versions(made[0].job_id, URL, limit=9)
    assert [each.is_delta for each in listed] == [False, True, True, False]


@ACROSS
async def test_a_copy_goes_on_from_its_position(
    source: Whole, target: Whole, clock: FakeClock
) -> None:
    await furnish(source, clock)
    for name, archive in source.archives.items():
        there = target.archives[name]
        part = await archive.read(None, 1)
        written = await there.write(part.items)
        assert part.position is not None
        place = f"{written.items} {written.hash:x} 1 {part.position}"
        await there.note_copied("source", place)
        assert await there.copied_until("source") == place
        assert (await carry_one(source, target, name)).equal == COUNTS[name]
        assert await there.copied_until("source") is None
    assert await state_of(target.store.pages) == await state_of(source.store.pages)


async def test_a_change_outlives_its_version(target: Whole, clock: FakeClock) -> None:
    gone = version(7, None)
    log = WholeLog(
        key=gone.key,
        job_id=gone.job_id,
        url=gone.url,
        number=7,
        place=gone.place,
        run_id=None,
        changes=b'{"textChanged":true}',
        alerts=[],
        expires_at=clock.now() + timedelta(days=1),
    )
    for _ in range(2):
        await target.archives["change_logs"].write([log])
    assert await target.archives["change_logs"].same_as([log]) == [log]
    assert await target.archives["snapshots"].count() == 0
    [told], _ = await target.store.pages.change_logs(ChangeFilter(job_id=log.job_id), limit=9)
    assert (told.previous, told.current, told.timestamp) == (6, 7, gone.place.ts)


async def test_what_is_about_to_expire_is_left_behind(target: Whole, clock: FakeClock) -> None:
    archive = target.archives["snapshots"]
    stays = version(2, clock.now() + timedelta(minutes=90))
    await archive.write([stays, version(1, clock.now() + timedelta(minutes=30))])
    assert await everything(archive) == [stays]
    assert await archive.count() == 1


async def test_a_fingerprint_tells_one_item_from_another(target: Whole, clock: FakeClock) -> None:
    await furnish(target, clock)
    changes: dict[str, dict[str, Any]] = {
        "watches": {"failures": 77},
        "job_runs": {"expires_at": clock.now()},
        "snapshots": {"content": b'{"title":"otherwise"}'},
        "price_history": {"currency": "XXX"},
        "pages": {"error": "otherwise"},
        "change_logs": {"changes": b"{}"},
        "notices": {"attempts": 77},
    }
    for name, archive in target.archives.items():
        [item, *_] = await everything(archive)
        whole = await archive.write([item])
        assert await archive.write([item]) == whole
        assert await archive.write([replace(item, **changes[name])]) != whole
