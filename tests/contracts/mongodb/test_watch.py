"""What only MongoDB is asked of the watch pipeline: writes that are cut off, its own limits."""

from __future__ import annotations

import asyncio
import copy
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from bson.decimal128 import Decimal128
from bson.int64 import Int64
from pymongo.write_concern import WriteConcern

from contracts.adapters import Place
from contracts.mongodb_backend import open_mongodb_at
from contracts.page_samples import (
    JOB,
    TS,
    URL,
    event,
    expected,
    logs,
    numbers,
    page,
    parsed,
    state_of,
)
from fakes.clock import FakeClock
from servers.mongod import MongoServer
from webloom.adapters.mongodb import watch_metrics
from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.page_codec import place_at
from webloom.adapters.mongodb.page_storage import MongoPageStorage
from webloom.adapters.mongodb.pages import mongodb_pages
from webloom.adapters.mongodb.upgrade import (
    count_earlier_runs,
    mark_pending_alerts,
)
from webloom.adapters.mongodb.watch_codec import METRICS
from webloom.adapters.mongodb.watch_runs import MongoWatchRuns
from webloom.adapters.mongodb.watches import MongoWatches
from webloom.bootstrap.mongodb import open_mongodb_stores
from webloom.domain.errors import EventRefused, StorageFull
from webloom.domain.pipeline import Pipeline
from webloom.domain.reason import PageReason
from webloom.domain.retention import Retention
from webloom.domain.schedule import Schedule
from webloom.domain.storage_event import StorageEvent
from webloom.domain.watch import Metrics, RunStatus, WatchConfig
from webloom.domain.watch_run import NewRun, NextRun
from webloom.ports.page_history import ChangeFilter
from webloom.ports.page_stores import PageStores
from webloom.settings import load_settings

pytestmark = pytest.mark.usefixtures("patient")

COLLECTIONS = (
    "pages",
    "snapshots",
    "price_history",
    "change_logs",
    "job_runs",
    "watch_ledger",
    "watches",
)
WRITES = (
    "insert_one",
    "insert_many",
    "update_one",
    "update_many",
    "bulk_write",
    "find_one_and_update",
)
MOST_AT_ONCE = 8  # writes of an event among which are those that are made at the same time
TIMES = (
    *("expireAt", "startedAt", "createdAt", "updatedAt", "lastRunAt", "runDuration", "made"),
    "writeId",
)


class Died(Exception):
    pass


class Dying:
    """A collection of a process that is killed: some of its writes are made, and some are not."""

    def __init__(self, collection: Any, is_made: Callable[[], bool]) -> None:
        self._collection = collection
        self._is_made = is_made

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._collection, name)
        if name not in WRITES:
            return attribute

        async def write(*arguments: Any, **options: Any) -> Any:
            if not self._is_made():
                raise Died
            return await attribute(*arguments, **options)

        return write


@pytest.fixture
async def database(
    mongod: MongoServer, clock: FakeClock, tmp_path: Any
) -> AsyncIterator[MongoDatabase]:
    place = Place(folder=tmp_path, name=str(tmp_path), server=mongod)
    async with open_mongodb_at(place, clock) as opened:
        # The order of writes is asked for here, and not the disk.
        quick = WriteConcern(w=1, j=False)
        for name in COLLECTIONS:
            setattr(opened, name, getattr(opened, name).with_options(write_concern=quick))
        yield opened


def store_on(database: MongoDatabase, budget: int = 1 << 40) -> PageStores:
    return mongodb_pages(database, retention=Retention(), budget=budget)


def dying(database: MongoDatabase, is_made: Callable[[int], bool]) -> PageStores:
    return store_on(dying_database(database, is_made))


def dying_database(database: MongoDatabase, is_made: Callable[[int], bool]) -> MongoDatabase:
    """`is_made` is asked with the number of each write."""
    started = 0

    def next_one() -> bool:
        nonlocal started
        started += 1
        return is_made(started - 1)

    other = copy.copy(database)
    for name in COLLECTIONS:
        setattr(other, name, Dying(getattr(database, name), next_one))
    return other


Dump = dict[str, list[dict[str, Any]]]


async def dump(database: MongoDatabase) -> Dump:
    found = [getattr(database, name).find({}, sort=[("_id", 1)]).to_list() for name in COLLECTIONS]
    return dict(zip(COLLECTIONS, await asyncio.gather(*found), strict=True))


async def put_back(database: MongoDatabase, documents: Dump) -> None:
    async def put(name: str) -> None:
        await getattr(database, name).delete_many({})
        if documents[name]:
            await getattr(database, name).insert_many(documents[name])

    await asyncio.gather(*(put(name) for name in COLLECTIONS))


def without_times(documents: Dump) -> Dump:
    """And without the ids of runs, which hold a time, and of writes."""
    kept = {
        name: [{key: each[key] for key in each if key not in TIMES} for each in rows]
        for name, rows in documents.items()
    }
    for watch in kept["watches"]:
        watch["openCounts"] = list(watch["openCounts"].values())
    return kept


def whole(text: str, version: int, ts: int, **more: Any) -> StorageEvent:
    return event(
        text, version=version, ts=ts, price=f"{version}9.5", previous="1", is_change=True, **more
    )


SCENARIOS: dict[str, tuple[list[StorageEvent], StorageEvent]] = {
    "the first": ([], whole("a", 1, 1000)),
    "the next": ([whole("a", 1, 1000), whole("b", 2, 2000)], whole("c", 3, 3000)),
    "one in between that moves all numbers": (
        [whole("a", 0, 1000), whole("b", 0, 3000), whole("c", 0, 4000)],
        whole("d", 0, 2000),
    ),
    "one that was there, from earlier": (
        [whole("a", 1, 1000), whole("b", 2, 2000), whole("c", 3, 3000), whole("d", 0, 4000)],
        whole("c", 3, 500),
    ),
    "the newest, from earlier than all": (
        [whole("a", 0, 1000), whole("b", 0, 2000), whole("c", 4, 3000)],
        whole("c", 4, 500),
    ),
    "one whose change came before its content": (
        [whole("a", 1, 1000), whole("b", 2, 2000, has_content=False)],
        whole("b", 2, 2000),
    ),
    "one that opens its run": ([], whole("a", 1, 1000, run_id="theirs")),
    "one that closes its run": (
        [whole("a", 1, 1000, run_id="theirs"), whole("z", 1, 9000)],
        whole("b", 2, 2000, run_id="theirs", closes_run=RunStatus.PARTIAL),
    ),
    "a number that is taken": ([whole("a", 1, 1000), whole("b", 3, 3000)], whole("c", 3, 2000)),
}


@pytest.mark.parametrize("name", SCENARIOS)
async def test_an_event_cut_off_between_any_two_writes_is_completed_by_its_redelivery(
    database: MongoDatabase, name: str
) -> None:
    earlier, last = SCENARIOS[name]
    for each in earlier:
        await store_on(database).pages.store_event(each)
    start = await dump(database)
    made: list[int] = []

    def count(number: int) -> bool:
        made.append(number)
        return True

    await dying(database, count).pages.store_event(last)
    undisturbed = without_times(await dump(database))
    assert await state_of(store_on(database)) == expected([*earlier, last])
    assert all(log["numbered"] for log in undisturbed["change_logs"])
    # Up to a write; and some of those that are on their way at the same time.
    plans: Sequence[Callable[[int], bool]] = [
        *(lambda number, n=n: number < n for n in range(len(made))),
        *(lambda number, n=n: number != n for n in range(min(len(made), MOST_AT_ONCE))),
    ]
    for plan in plans:
        await put_back(database, start)
        with pytest.raises(Died):
            await dying(database, plan).pages.store_event(last)
        await store_on(database).pages.store_event(last)
        assert without_times(await dump(database)) == undisturbed


async def test_documents_are_as_other_programs_know_them(database: MongoDatabase) -> None:
    given = event("b", version=3, price="79999", previous="82000", is_change=True)
    given = replace(given, classification={"type": "product", "confidence": 0.92})
    await store_on(database).pages.store_event(event("a", version=2, ts=TS - 1, price="0.30"))
    await store_on(database).pages.store_event(given)
    stored = await database.pages.find_one({"jobId": JOB, "url": URL})
    assert stored is not None
    assert stored["title"] == "iPhone b"
    assert stored["text"] == parsed("b")["text"]
    assert stored["metadata"] == parsed("b")["metadata"]
    assert (stored["version"], stored["lastUpdated"]) == (3, TS)
    assert (stored["price"], type(stored["price"])) == (79999, Int64)
    snapshots = await database.snapshots.find(
        {"jobId": JOB, "url": URL}, sort=[("version", 1)]
    ).to_list()
    assert [(each["snapshotHash"], each["version"]) for each in snapshots] == [("a", 2), ("b", 3)]
    assert [each["createdAt"] for each in snapshots] == [TS - 1, TS]
    assert ["expireAt" in each for each in snapshots] == [True, False]
    records = await database.price_history.find(
        {"jobId": JOB, "url": URL}, sort=[("version", 1)]
    ).to_list()
    assert [each["price"] for each in records] == [Decimal128("0.30"), 79999]
    assert [each["version"] for each in records] == [2, 3]
    assert ["expireAt" in each for each in records] == [True, False]
    [log] = await database.change_logs.find({"jobId": JOB, "url": URL}).to_list()
    assert log["version"] == {"previous": 2, "current": 3}
    assert (log["changes"], log["timestamp"]) == ({"textChanged": True, "to": "b"}, TS)
    [run] = await database.job_runs.find({"jobId": JOB}).to_list()
    assert (run["pagesProcessed"], run["changesDetected"], run["priceChangesDetected"]) == (2, 1, 1)
    assert (run["status"], run["runId"]) == ("completed", f"{JOB}:2024-04-05")
    watch = await database.watches.find_one({"jobId": JOB})
    assert watch is not None
    assert [watch[name] for name in METRICS] == [2, 1, 1]
    assert (watch["external"], watch["nextRunAt"], watch["lastStatus"]) == (True, None, "completed")


async def test_what_is_superseded_expires_by_itself(database: MongoDatabase) -> None:
    for collection in (
        database.snapshots,
        database.change_logs,
        database.price_history,
        database.job_runs,
        database.watch_ledger,
        database.notices,
    ):
        found = (await collection.index_information())["expireAt_1"]
        assert found["expireAfterSeconds"] == 0
    assert (await database.pages.index_information())["jobId_1_url_1"]["unique"]
    names = await database.change_logs.index_information()
    assert names["jobId_1_url_1_version.current_-1"]["unique"]


ODD: dict[str, Any] = {
    "a.b": {"c.d": 1, "$set": {"$inc": 2}},
    "$where": "$title",
    "": None,
    "nul\0": "te\0xt",
    "half \ud800": "a \udfff",
    "$ref": "x",
    "$id": 1,
    "large": 1 << 70,
    "beyond floats": -(10**4000),
    "small": -(1 << 63),
    "list": [1, 2.5, True, None, {"x": [[]]}],
}


@pytest.mark.parametrize("name", [*ODD, "all"])
async def test_odd_names_and_values_come_back(database: MongoDatabase, name: str) -> None:
    metadata = ODD if name == "all" else {name: ODD[name], "$ref": "y", "$id": 2}
    store = store_on(database)
    content = parsed("odd") | {"metadata": metadata, "title": "t \ud800", "more": metadata}
    given = event("odd", version=1, content=content, is_change=True)
    given = replace(given, changes=metadata, classification=metadata)
    await store.pages.store_event(event("before", ts=1))
    await store.pages.store_event(given)
    await store.pages.store_event(event("after", ts=TS + 1))
    assert await store.history.parsed(JOB, URL, 2) == content
    [log] = await logs(store)
    assert log.changes == metadata
    assert (await page(store)).classification == metadata
    other = store_on(database)
    await other.pages.store_event(replace(given, url="https://example.com/other"))
    stored = await page(other, JOB, "https://example.com/other")
    assert (stored.metadata, stored.title) == (metadata, "t \ud800")


def nested(levels: int) -> Any:
    value: Any = "deep"
    for _ in range(levels):
        value = {"x": [value]}
    return value


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (parsed("x") | {"text": "x" * 17_000_000}, "bytes"),
        (parsed("x") | {"metadata": {"list": [1] * 3_000_000}}, "bytes"),
        (parsed("x") | {"metadata": nested(60)}, "nested"),
        (parsed("x") | {"more": nested(5000)}, "nested"),
    ],
    ids=["text", "numbers", "depth", "great depth"],
)
async def test_what_mongodb_can_not_hold_is_refused_and_leaves_nothing(
    database: MongoDatabase, content: dict[str, Any], reason: str
) -> None:
    store = store_on(database)
    with pytest.raises(EventRefused, match=reason):
        await store.pages.store_event(event("x", content=content))
    assert not any((await dump(database)).values())


async def test_a_text_of_many_megabytes_is_stored(database: MongoDatabase) -> None:
    store = store_on(database)
    contents = [parsed("x") | {"text": f"{n}" + "wörd " * 1_300_000} for n in range(2)]
    for n, content in enumerate(contents):
        await store.pages.store_event(event(f"{n}", ts=n, content=content))
    assert await store.history.parsed(JOB, URL, 1) == contents[0]
    assert (await page(store)).text == contents[1]["text"]


async def test_indexes_take_room_too(database: MongoDatabase) -> None:
    store = store_on(database)
    await store.pages.store_event(event("0", version=1, ts=0))
    [pages] = [each for each in await store.storage.usage() if each.collection == "pages"]
    stats = await database.pages.database.command("collStats", "pages")
    assert pages.bytes > stats["size"] > 0


@pytest.mark.usefixtures("steady_sizes")
async def test_over_the_budget_the_oldest_superseded_goes_first(database: MongoDatabase) -> None:
    store = store_on(database)
    for n in range(8):
        content = parsed(f"{n}") | {"more": random.Random(n).randbytes(100_000).hex()}
        await store.pages.store_event(
            event(f"{n}", version=n + 1, ts=n, content=content, is_change=True)
        )
    used = sum(each.bytes for each in await store.storage.usage())
    freed = {each.collection: each.superseded_bytes for each in await store.storage.usage()}
    assert freed["snapshots"] > 0
    assert freed["pages"] == 0
    tight = store_on(database, used - 100)
    assert await tight.storage.prune(expired_only=True) == 0
    assert await tight.storage.prune() > 0
    assert not await tight.storage.is_full()
    kept = await numbers(tight)
    assert kept == [(n + 1, f"{n}") for n in range(8)][-len(kept) :]
    assert len(kept) < 8
    assert (await page(tight)).text == parsed("7")["text"]
    none = store_on(database, 10)
    assert await none.storage.is_full()
    assert await numbers(none) == [(8, "7")]
    with pytest.raises(StorageFull, match="raise the budget"):
        await none.pages.store_event(event("more", version=9, ts=9))
    assert await numbers(none) == [(8, "7")]


@pytest.mark.usefixtures("steady_sizes")
async def test_pending_notifications_are_pruned_last(database: MongoDatabase) -> None:
    store = store_on(database)
    large = random.Random(1).randbytes(200_000).hex()
    for n in range(6):
        reported = event(
            f"{n}", version=n + 1, ts=n, is_change=True, alerts=["x"] if n in (1, 3) else []
        )
        await store.pages.store_event(replace(reported, changes={"textChanged": f"{large}{n}"}))
    used = sum(each.bytes for each in await store.storage.usage())
    size = len(large)
    for budget in (used - 100, used - 3 * size, used - 4 * size + 20_000):
        await store_on(database, budget).storage.prune()
        assert {2, 4} <= {each.current for each in await logs(store)}
    assert [each.current for each in await logs(store)] == [2, 4]
    # They alone have no room: the oldest goes, and no more than must.
    await store_on(database, used - 5 * size + 20_000).storage.prune()
    assert [each.current for each in await logs(store)] == [4]
    [batch] = await store.alerts.assign_batch(JOB, None, "batch")
    await store.alerts.note_notified(batch)
    await store_on(database, 10).storage.prune()
    assert await logs(store) == []


async def test_change_logs_of_an_earlier_version_get_a_key_where_they_share_a_time(
    database: MongoDatabase, mongod: MongoServer, clock: FakeClock
) -> None:
    """When the stores are opened."""
    store, name = store_on(database), database.change_logs.database.name
    settings = load_settings({"WEBLOOM_MONGODB_DATABASE": name})
    times = {"a": TS, "b": TS, "c": TS, "d": TS + 1}
    for n, (text, ts) in enumerate(times.items()):
        await store.pages.store_event(event(text, version=n + 2, ts=ts, is_change=True))
    await database.change_logs.update_many({}, {"$unset": {"keyed": True}})
    for _ in range(2):
        async with open_mongodb_stores(mongod.url, settings, clock, tuple(Pipeline)):
            pass
        found, _ = await store.history.change_logs(ChangeFilter(), limit=9)
        keys = {each.changes["to"]: each.key for each in found}
        assert (keys["a"], keys["d"]) == (None, None)
        assert len({keys["a"], keys["b"], keys["c"]}) == 3
    await store.pages.store_event(event("e", version=9, ts=TS, is_change=True))
    found, _ = await store.history.change_logs(ChangeFilter(), limit=9)
    assert len({(each.timestamp, each.key) for each in found}) == 5


async def test_a_change_that_the_previous_version_rewrites_has_no_reasons(
    database: MongoDatabase,
) -> None:
    """It writes what it knows of an earlier event, and leaves other fields as they are."""
    store, later = store_on(database), event("a", version=2, ts=TS, is_change=True)
    await store.pages.store_event(replace(later, reasons=[PageReason()], alerts=["it changed"]))
    [document] = await database.change_logs.find().to_list()
    assert (document["alerts"], document["reasons"]) == (["it changed"], [{"kind": "page"}])
    earlier = {"place": place_at(TS - 1, 2, "a", document["_id"]), "timestamp": Int64(TS - 1)}
    rewritten = earlier | {"alerts": ["the price fell"], "runId": None, "untold": True}
    await database.change_logs.update_one({"_id": document["_id"]}, {"$set": rewritten})
    [log] = await logs(store)
    assert (log.reasons, log.sentences) == ([], ["the price fell"])


async def test_what_an_earlier_version_left_pending_is_notified_once(
    database: MongoDatabase,
) -> None:
    store = store_on(database)
    for n, run in enumerate(("in progress", "noticed", "over")):
        await store.pages.store_event(
            replace(event(f"{n}", version=n + 1, ts=n, is_change=True, alerts=["x"]), run_id=run)
        )
    await database.change_logs.update_many({}, {"$unset": {"untold": True}})
    await database.job_runs.delete_many({})
    for run, status in (
        ("in progress", "in_progress"),
        ("noticed", "in_progress"),
        ("over", "completed"),
    ):
        await database.job_runs.insert_one({"_id": run, "jobId": JOB, "status": status})
    await database.notices.insert_one(
        {"_id": "n", "watchId": JOB, "runId": "noticed", "isOpen": True, "dueAt": 1}
    )
    for _ in range(2):
        await mark_pending_alerts(database.change_logs, database.job_runs, database.notices)
    assert await store.alerts.assign_batch(JOB, "in progress", "one") == ["one"]
    assert await store.alerts.assign_batch(JOB, "noticed", "two") == []
    assert await store.alerts.assign_batch(JOB, "over", "three") == []
    [noticed], _ = await store.history.change_logs(ChangeFilter(batch="noticed"), limit=9)
    assert noticed.run_id == "noticed"


async def test_metrics_are_exact_whatever_is_settled(
    database: MongoDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes count more runs than stay open, again and again."""
    monkeypatch.setattr(watch_metrics, "MOST_OPEN", 3)
    stores = [store_on(database), store_on(database)]
    day = 24 * 3600 * 1000
    events = [
        event(text, ts=TS + day * n + part) for n in range(8) for part, text in enumerate("ab")
    ]
    for part in range(4):
        again = enumerate(events[part:] + events)
        await asyncio.gather(*(stores[n % 2].pages.store_event(each) for n, each in again))
    watch = await database.watches.find_one({"_id": JOB})
    assert watch is not None
    assert watch["settlements"] > 0
    assert len(watch["openCounts"]) <= 4
    assert [watch[name] for name in METRICS] == [len(events), 0, 0]


async def test_an_idle_run_whose_closing_is_cut_off_is_closed_by_the_next_look(
    database: MongoDatabase,
) -> None:
    watches = MongoWatches(database, retention=Retention())
    runs = MongoWatchRuns(database, retention=Retention())
    now = database.wall()
    for writes in range(5):
        job, run = f"job {writes}", f"run {writes}"
        await store_on(database).pages.store_event(replace(event("a"), watch_id=job, run_id=run))
        mortal = dying_database(database, partial(int.__gt__, writes))
        with suppress(Died):
            await MongoWatchRuns(mortal, retention=Retention()).close_idle_runs(now, limit=9)
        await runs.close_idle_runs(now, limit=9)
        closed = await runs.find_run(run)
        watch = await watches.find_watch(job)
        assert closed is not None
        assert watch is not None
        assert (closed.status, watch.last_status) == (RunStatus.COMPLETED, RunStatus.COMPLETED)
        assert watch.metrics == Metrics(pages_processed=1)


async def test_watches_of_an_earlier_version_get_the_metrics_of_what_is_kept(
    database: MongoDatabase,
) -> None:
    watches = MongoWatches(database, retention=Retention())
    runs = MongoWatchRuns(database, retention=Retention())
    for watch_id in ("ours", "busy"):
        config = WatchConfig(name=watch_id, urls=[URL], schedule=Schedule(every_minutes=60))
        await watches.add_watch(watch_id, config, next_run_at=None)
        await runs.start_run(watch_id, NewRun(run_id=f"first of {watch_id}", trigger="manual"))
        await runs.finish_run(f"first of {watch_id}", NextRun(None, None))
    await runs.start_run("busy", NewRun(run_id="second", trigger="manual"))
    store = store_on(database)
    for ts in (TS, TS + 1, TS + 24 * 3600 * 1000):
        await store.pages.store_event(event("a", ts=ts, is_change=True))
    await store.pages.store_event(replace(event("b", ts=TS), watch_id="ours"))
    unset = dict.fromkeys([*METRICS, "openCounts", "settlements", "acceptsEvents"], True)
    await database.watches.update_many({}, {"$unset": unset})
    await database.job_runs.update_many({}, {"$unset": {"lastEventAt": True}})
    await database.watches.delete_one({"_id": JOB})
    for _ in range(2):
        await count_earlier_runs(database)
        found, _ = await watches.watches(limit=9)
        counted = {each.watch_id: each.metrics for each in found}
        assert counted == {
            "ours": Metrics(pages_processed=2),
            "busy": Metrics(pages_processed=1),
            JOB: Metrics(pages_processed=3, changes=3),
        }
    await runs.finish_run("second", NextRun(None, None))
    busy = await watches.find_watch("busy")
    assert busy is not None
    assert busy.metrics == Metrics(pages_processed=2)
    await watches.remove_watch(JOB)
    await count_earlier_runs(database)
    assert await watches.find_watch(JOB) is None, "who was removed does not come back by a restart"


@pytest.mark.usefixtures("steady_sizes")
async def test_room_is_made_while_events_are_stored(
    database: MongoDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MongoPageStorage, "_is_fresh", lambda self: False)
    store = store_on(database)
    await store.pages.store_event(event("0", version=1, ts=0))
    used = sum(each.bytes for each in await store.storage.usage())
    tight = store_on(database, used + 20_000)
    for n in range(1, 25):
        content = parsed(f"{n}") | {"more": random.Random(n).randbytes(3000).hex()}
        await tight.pages.store_event(event(f"{n}", version=n + 1, ts=n, content=content))
    assert (await page(tight)).version == 25
    assert sum(each.bytes for each in await store.storage.usage()) < used + 30_000


async def test_numbers_stay_when_versions_before_them_have_expired(
    database: MongoDatabase,
) -> None:
    store = store_on(database)
    events = [event(f"{n}", ts=n * 10, is_change=True) for n in range(1, 6)]
    for each in events:
        await store.pages.store_event(each)
    for gone in (["1", "2"], ["4"]):
        await database.snapshots.delete_many({"snapshotHash": {"$in": gone}})
    for each in events[2::2]:
        await store.pages.store_event(each)
    assert await numbers(store) == [(3, "3"), (5, "5")]
    assert (await store.pages.store_event(event("late", ts=5, is_change=True))).version == 1
    assert await numbers(store) == [(1, "late"), (3, "3"), (5, "5")]
    assert await store.history.parsed(JOB, URL, 5) == parsed("5")
