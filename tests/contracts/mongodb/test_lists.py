"""Lists are read along indexes: nothing is sorted, and the server counts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from bson.objectid import ObjectId

from contracts.import_samples import (
    SOURCE,
    add_feed,
    apply,
    begin,
    import_all,
    key_of,
    posting,
    postings,
)
from contracts.import_samples import started as started_import
from contracts.inventory_samples import complete
from contracts.mongodb_backend import NAMES, empty, measured_once, stores_on
from contracts.watch_samples import config, new_run
from fakes.clock import FakeClock
from servers.mongod import MongoServer
from webloom.adapters.mongodb.database import MongoDatabase, open_mongodb
from webloom.adapters.mongodb.sorted_list import keys_of, with_value, without_value
from webloom.domain.inventory import RecordFilter, Status
from webloom.domain.listing import Count, Order, SortField
from webloom.domain.tags import TagCount
from webloom.domain.watch import RunStatus
from webloom.ports import watch_run_listing
from webloom.ports.import_runs import RunFilter
from webloom.ports.postings import PostingFilter


@pytest.fixture
async def database(
    mongod: MongoServer, clock: FakeClock, patient: None
) -> AsyncIterator[MongoDatabase]:
    async with open_mongodb(mongod.url, clock, database="lists", names=NAMES) as opened:
        measured_once(opened)
        await empty(opened)
        yield opened


def stages(plan: dict[str, Any]) -> list[str]:
    inner = [plan["inputStage"]] if "inputStage" in plan else plan.get("inputStages", [])
    return [plan["stage"], *(each for one in inner for each in stages(one))]


async def test_an_index_serves_every_order(database: MongoDatabase) -> None:
    for collection in (database.watches, database.feeds):
        for field in SortField:
            for is_descending in (False, True):
                order = Order(field, is_descending)
                for wanted in (
                    with_value(order, None),
                    with_value(order, ("a", "b")),
                    without_value(order, None),
                    without_value(order, "b"),
                ):
                    found = collection.find({"$and": [wanted, {}]}, sort=keys_of(order))
                    explained = await found.explain()
                    used = stages(explained["queryPlanner"]["winningPlan"])
                    assert "IXSCAN" in used, (order, wanted, used)
                    assert not {"SORT", "COLLSCAN"} & {*used}, (order, wanted, used)


@pytest.mark.parametrize("watch_id", [None, "w"])
@pytest.mark.parametrize("status", [None, RunStatus.FAILED])
async def test_an_index_serves_runs_of_watches_from_either_end(
    database: MongoDatabase, watch_id: str | None, status: RunStatus | None
) -> None:
    stores = stores_on(database)
    await stores.watches.add_watch("w", config("w"), next_run_at=None)
    await stores.watch_runs.start_run("w", new_run())
    known = await database.job_runs.find_one_and_delete({})
    assert known is not None
    alike = known | {"status": RunStatus.FAILED.value}
    await database.job_runs.insert_many(
        [alike | {"_id": f"{n}", "made": ObjectId()} for n in range(9)]
    )
    listing = stores.watch_run_listing
    chosen = watch_run_listing.RunFilter(watch_id=watch_id, status=status)
    async with profiled(database, op="query") as seen:
        for oldest_first in (False, True):
            page, cursor = await listing.runs(chosen, limit=2, oldest_first=oldest_first)
            more, _ = await listing.runs(chosen, limit=2, cursor=cursor, oldest_first=oldest_first)
            assert len({each.run_id for each in (*page, *more)}) == 4
    async with profiled(database) as counted:
        assert (await listing.count_chosen(chosen, most=100)).number == 9
    looked = [each for each in (*seen, *counted) if each["ns"] == database.job_runs.full_name]
    assert len(looked) >= 5
    for each in looked:
        assert "COLLSCAN" not in each["planSummary"], each["command"]
        assert not each.get("hasSortStage"), each["command"]
    assert all(each["docsExamined"] <= 9 for each in seen)


async def test_indexes_alone_count_postings(database: MongoDatabase) -> None:
    """While the rows are read."""
    imports = stores_on(database).imports
    claim = await begin(imports)
    undated = [posting(f"u{n}", published_at=None) for n in range(5)]
    await apply(imports, claim, 0, [*postings(*"abcdef"), *undated])
    await imports.postings.close(claim, [key_of("a"), key_of("b"), key_of("u1")])
    for chosen, number in (
        (PostingFilter(), 11),
        (PostingFilter(is_open=False), 3),
        (PostingFilter(source_url=SOURCE), 11),
    ):
        async with profiled(database) as seen:
            page = await imports.postings.page(chosen, limit=2, most_counted=100)
        assert page.total == Count(number)
        counts = [each for each in seen if "count" in each["command"]]
        assert counts
        assert all(each["docsExamined"] == 0 for each in counts), chosen
        assert counts[0]["planSummary"].startswith("COUNT_SCAN"), chosen


async def test_what_another_program_has_added_is_not_counted_before_it_is_listed(
    database: MongoDatabase,
) -> None:
    imports = stores_on(database).imports
    await import_all(imports, postings("a", "b", "c"))
    known = await database.jobs.find_one({"dedupeKey": key_of("a")}, {"_id": False, "place": False})
    assert known is not None
    await database.jobs.insert_one(known | {"_id": "theirs", "dedupeKey": "theirs"})
    of_source = PostingFilter(source_url=SOURCE)
    assert (await imports.postings.page(of_source, limit=2, most_counted=100)).total == Count(3)
    assert await imports.postings.count_chosen(of_source, most=100) == Count(3)


async def test_one_stretch_of_an_index_after_the_other_is_counted(
    database: MongoDatabase, clock: FakeClock
) -> None:
    """Several at once would take the server three times as long."""
    stores = stores_on(database)
    for number in range(5):
        await complete(stores.store, f"http://a.example/page/{number}")
        clock.advance(1)
    moment = (await stores.records.page_of_records(RecordFilter(), limit=9)).records[2].created_at
    for chosen, number in (
        (RecordFilter(), 5),
        (RecordFilter(created_from=moment), 3),
        (RecordFilter(host="a.example"), 5),
        (RecordFilter(status=Status.COMPLETED), 5),
        (RecordFilter(text='"page"'), 5),
    ):
        async with profiled(database) as seen:
            page = await stores.records.page_of_records(chosen, limit=2, most_counted=100)
        assert page.total == Count(number), chosen
        counts = [each for each in seen if "count" in each["command"]]
        assert counts
        assert all(each["planSummary"].startswith("COUNT_SCAN") for each in counts), chosen


@asynccontextmanager
async def profiled(
    database: MongoDatabase, op: str = "command"
) -> AsyncIterator[list[dict[str, Any]]]:
    """What the server did meanwhile, as it sees it."""
    there = database.watches.database
    seen: list[dict[str, Any]] = []
    await there.command("profile", 2)
    try:
        yield seen
    finally:
        await there.command("profile", 0)
        without_plans = {"execStats": False}  # whose dates can be later than Python's
        seen += await there["system.profile"].find({"op": op}, without_plans).to_list()
        await there["system.profile"].drop()


async def test_the_server_counts_tags(database: MongoDatabase) -> None:
    """However many watches have one, it answers with each tag once."""
    stores = stores_on(database)
    for number in range(30):
        tag = "Red" if number % 3 else "red"
        made = config(f"{number}", tags=[tag, f"odd {number % 2}"])
        await stores.watches.add_watch(f"{number}", made, next_run_at=None)
    async with profiled(database) as seen:
        assert await stores.watches.tags() == [
            TagCount(tag="odd 0", count=15),
            TagCount(tag="odd 1", count=15),
            TagCount(tag="Red", count=30),
        ]
    assert [each["nreturned"] for each in seen if "aggregate" in each["command"]] == [3]


async def test_a_text_is_looked_for_in_each_name_once(database: MongoDatabase) -> None:
    """However many runs have it."""
    stores = stores_on(database)
    await add_feed(stores.imports, "a feed")
    run = await started_import(stores.imports, "a feed")
    known = await database.import_logs.find_one({"_id": run.run_id})
    assert known is not None
    copies = [known | {"_id": f"{n}", "runId": f"{n}"} for n in range(30)]
    await database.import_logs.insert_many(copies)
    async with profiled(database) as seen:
        found = await stores.imports.listed_runs.page(RunFilter(text="feed"), offset=0, limit=9)
    assert found.total == 31
    looked = [each for each in seen if "aggregate" in each["command"]]
    assert [each["nreturned"] for each in looked] == [1, 1]
    assert all(each["planSummary"].startswith("DISTINCT_SCAN") for each in looked)
