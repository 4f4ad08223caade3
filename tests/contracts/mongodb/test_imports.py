"""Imports on MongoDB: what its readers see, what a process that dies between two writes leaves,
batches that come too late, and what the server refuses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest
from pymongo.errors import AutoReconnect

from contracts.dying import Killed
from contracts.import_samples import (
    MAY,
    SOURCE,
    add_feed,
    all_read,
    apply,
    batch,
    begin,
    claimed,
    config,
    end,
    failure,
    feed_now,
    import_all,
    key_of,
    names_listed,
    new_run,
    posting,
    postings,
    reading,
    run_now,
    source,
    started,
    stored,
)
from contracts.mongodb_backend import postings_of, runs_of
from fakes.clock import FakeClock
from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.imports import mongodb_imports
from webloom.adapters.mongodb.posting_words import list_of
from webloom.domain.errors import StoreUnavailable
from webloom.domain.feed import LastFetch
from webloom.domain.import_run import Counts, Mark, RunStatus
from webloom.domain.import_transitions import Ending
from webloom.ports.import_runs import RunFilter
from webloom.ports.imports import Imports
from webloom.ports.postings import Batch, PostingFilter

Call = Callable[..., Coroutine[Any, Any, Any]]


@pytest.fixture
def store(mongodb: MongoDatabase) -> Imports:
    return mongodb_imports(mongodb)


def dies_at(
    monkeypatch: pytest.MonkeyPatch, owner: object, name: str, *, after: bool, error: type
) -> None:
    """The next call of that verb is the last thing that the process does."""
    real: Call = getattr(owner, name)

    async def call(*values: Any, **options: Any) -> Any:
        monkeypatch.setattr(owner, name, real)
        if after:
            await real(*values, **options)
        raise error("it died")

    monkeypatch.setattr(owner, name, call)


# What readers of the database see.


async def test_a_posting_has_the_names_that_its_readers_know(
    store: Imports, mongodb: MongoDatabase
) -> None:
    run = await import_all(store, [posting("a", company="ACME", published_at=MAY)])
    [document] = await mongodb.jobs.find({"dedupeKey": key_of("a")}).to_list()
    assert {name: document[name] for name in ("title", "company", "sourceUrl", "publishedAt")} == {
        "title": "Title of a", "company": "ACME", "sourceUrl": SOURCE, "publishedAt": MAY,
    }  # fmt: skip
    assert (document["createdBy"], "changedBy" in document) == (f"{run.run_id}/0", False)
    assert "closedAt" not in document


async def test_a_run_has_the_names_that_its_readers_know(
    store: Imports, mongodb: MongoDatabase
) -> None:
    await import_all(store, [posting("old"), posting("same")])
    claim = await begin(store)
    jobs = [posting("old", "changed"), *postings("same", "new")]
    await apply(store, claim, 0, jobs, duplicates=1, failures=[failure("no title", "x", 4)])
    run = await end(store, claim, all_read(5, 1, repairs={"a.b": 2, "$c": 1}, bytes_read=1 << 40))
    assert type(run.reading.bytes_read) is int
    document = await mongodb.import_logs.find_one({"runId": claim.run.run_id})
    assert document is not None
    counted = (
        "totalFetched", "totalImported", "newJobs", "updatedJobs", "unchangedJobs",
        "duplicateJobs", "failedJobs", "closedJobs", "repaired",
    )  # fmt: skip
    assert [document[name] for name in counted] == [5, 2, 1, 1, 1, 1, 1, 0, 3]
    assert document["failures"] == [{"index": 4, "reason": "no title", "sample": "x"}]
    meta = document["meta"]
    assert (meta["totalBatches"], meta["processedBatches"], meta["phase"]) == (1, 1, "finished")
    assert (document["status"], document["sourceUrl"]) == ("partial", SOURCE)


async def test_the_indexes_of_the_seed_are_there(mongodb: MongoDatabase) -> None:
    jobs = await mongodb.jobs.index_information()
    assert jobs["dedupeKey_1"]["unique"]
    assert "sourceUrl_1_publishedAt_-1_place_-1" in jobs  # which serves what the seed's would
    logs = await mongodb.import_logs.index_information()
    assert logs["runId_1"]["unique"]
    assert {"sourceUrl_1_startedAt_-1", "status_1_startedAt_-1", "startedAt_-1"} <= set(logs)
    ledger = await mongodb.import_batches.index_information()
    assert ledger["runId_1_batchIndex_1"]["unique"]
    assert ledger["at_1"]["expireAfterSeconds"] == 7 * 24 * 3600


async def test_a_feed_that_has_not_moved_is_stored_as_before(
    mongodb: MongoDatabase, store: Imports
) -> None:
    """So that documents of the version before need no upgrade, and it can read ours."""
    feed = await add_feed(store)
    for moved_to in ("http://new.example/", None):
        wanted = replace(feed.config, moved_to=moved_to)
        await store.feeds.edit(feed.feed_id, wanted, next_run_at=None)
        document = await mongodb.feeds.find_one({"_id": feed.feed_id})
        assert document is not None
        assert document.get("movedTo", "nowhere") == (moved_to or "nowhere")
        assert await store.feeds.find(feed.feed_id) == await store.feeds.at_url(wanted.fetch_url)
    wanted_at = {"$or": [{"url": "http://x.example/"}, {"movedTo": "http://x.example/"}]}
    plan = await mongodb.feeds.find(wanted_at).explain()
    assert "COLLSCAN" not in str(plan["queryPlanner"]["winningPlan"])


async def test_what_looks_like_an_expression_is_text(store: Imports) -> None:
    for text in ("$title", "$$ROOT", "$$given.new", '{"$gt": ""}'):
        odd = posting("odd", text, title=text, company=text, location=text, categories=[text])
        claim = await begin(store)
        await apply(store, claim, 0, [odd])
        fetch = LastFetch(etag=text, last_modified=text, content_hash=text)
        run = await end(
            store, claim, all_read(2, 1, failure_reasons={text: 1}, failed=1), error=text,
            last_fetch=fetch,
        )  # fmt: skip
        assert (await stored(store, "odd")).posting == odd
        assert (run.error, run.failure_reasons) == (text, {text: 1})
        feed = await feed_now(store)
        assert (feed.last_error, feed.last_fetch) == (text, fetch)
    run = await started(store, new=new_run("$$NOW", trigger="$x", owner="$y", lease=9))
    assert (run.run_id, run.trigger) == ("$$NOW", "$x")
    claim = await claimed(store, "$y", run_id="$$NOW")
    await store.postings.close(claim, [key_of("odd")])
    assert (await stored(store, "odd")).closed_by == "$$NOW"


# A process that dies between two writes.

WRITES = [
    ("job_words", "insert_one", "the words are listed"),
    ("jobs", "update_many", "what differs is changed"),
    ("import_batches", "insert_many", "the ledger has its row"),
]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("collection", "verb", "what"), WRITES, ids=[row[2] for row in WRITES])
async def test_a_batch_whose_worker_died_is_counted_the_same(
    store: Imports,
    mongodb: MongoDatabase,
    monkeypatch: pytest.MonkeyPatch,
    collection: str,
    verb: str,
    what: str,
    after: bool,
) -> None:
    await import_all(store, [posting("old"), posting("same")])
    claim = await begin(store)
    jobs = [posting("old", "changed"), *postings("same", "new", "newer")]
    dies_at(monkeypatch, getattr(mongodb, collection), verb, after=after, error=AutoReconnect)
    with pytest.raises(StoreUnavailable):
        await apply(store, claim, 0, jobs)
    counts = Counts(new=2, updated=1, unchanged=1)
    assert await apply(store, claim, 0, jobs) == counts
    run = await end(store, claim, all_read(4, 1))
    assert (run.counts, run.status) == (counts, RunStatus.COMPLETED)
    assert sorted(await names_listed(store)) == ["new", "newer", "old", "same"]
    assert await names_listed(store, PostingFilter(text="newer")) == ["newer"]


async def test_postings_without_a_row_are_counted_by_the_next_delivery(
    store: Imports, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = await begin(store)
    dies_at(monkeypatch, postings_of(store)._writes, "_insert", after=True, error=Killed)
    with pytest.raises(Killed):
        await apply(store, claim, 0, postings("a", "b"))
    assert await store.postings.missing_batches(claim.run.run_id, published=1) == [0]
    assert await apply(store, claim, 0, postings("a", "b")) == Counts(new=2)


async def test_a_run_whose_starter_died_is_made_by_the_next(
    store: Imports, mongodb: MongoDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add_feed(store)
    new = new_run(owner="producer", lease=5)
    for others in ("start", "claim"):
        dies_at(monkeypatch, runs_of(store)._starting._second, "write", after=False, error=Killed)
        with pytest.raises(Killed):
            await store.runs.start("id of feed", new)
        assert (await feed_now(store)).active_run_id == new.run_id
        assert await store.listed_runs.find(new.run_id) is None
        if others == "start":
            run = await started(store)
            assert (run.run_id, run.trigger, run.batch_size) == (new.run_id, "manual", 3)
        claim = await claimed(store, run_id=new.run_id)
        assert claim.run.run_id == new.run_id
        await end(store, claim, all_read(0, 0))
        new = new_run(owner="producer", lease=5)


async def test_a_feed_whose_run_has_ended_unknown_to_it_is_set_free(
    store: Imports, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch = LastFetch(etag="e")
    for others in ("claim", "start", "finish"):
        claim = await begin(store)
        dies_at(monkeypatch, runs_of(store)._ending._second, "write", after=False, error=Killed)
        ending = Ending(error="broken off", next_run_at=MAY, last_fetch=fetch)
        with pytest.raises(Killed):
            await store.runs.finish(claim, all_read(0, 0), ending)
        assert (await feed_now(store)).active_run_id == claim.run.run_id
        if others == "claim":
            assert await store.runs.claim("another", lease=5) is None
        elif others == "finish":
            assert await store.runs.finish(claim, all_read(0, 0), ending) is not None
        else:
            run = await started(store)
            assert run.run_id != claim.run.run_id
            await end(store, await claimed(store), all_read(0, 0), next_run_at=MAY)
            continue
        feed = await feed_now(store)
        assert (feed.active_run_id, feed.last_run_id) == (None, claim.run.run_id)
        assert (feed.last_status, feed.last_error) == (RunStatus.FAILED, "broken off")
        assert (feed.next_run_at, feed.last_fetch) == (MAY, fetch)


# Batches that come when their run has ended.


async def test_a_batch_that_outlives_its_run_is_still_counted(
    store: Imports, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    """The run is cancelled while a worker has written the postings, and not yet the row."""
    claim = await begin(store)
    await apply(store, claim, 0, postings("a"))
    at_the_row, go_on = asyncio.Event(), asyncio.Event()
    real = postings_of(store)._writing_rows.ask

    async def ask(entry: Any) -> Any:
        at_the_row.set()
        await go_on.wait()
        return await real(entry)

    monkeypatch.setattr(postings_of(store)._writing_rows, "ask", ask)
    late = asyncio.create_task(apply(store, claim, 1, postings("b", "c")))
    await at_the_row.wait()
    run = await end(store, claim, all_read(5, 3), error="cancelled")
    assert run.counts == Counts(new=1, failed=4)
    clock.advance(1)
    go_on.set()
    assert await late == Counts(new=2)
    after = await run_now(store, run.run_id)
    assert after.counts == Counts(new=3, failed=2)
    assert (after.processed_batches, after.status) == (2, RunStatus.PARTIAL)
    assert sum(after.failure_reasons.values()) == 2
    assert (after.finished_at, after.error) == (run.finished_at, "cancelled")
    assert after.updated_at > run.updated_at


async def test_rows_that_come_late_one_after_the_other_are_all_counted(
    store: Imports, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has counted fewer rows does not overwrite who has counted more."""
    claim = await begin(store)
    ledger = runs_of(store)._ledger
    seen = [
        await postings_of(store)._looking_up.ask(Mark(claim.run.run_id, index))
        for index in range(2)
    ]
    await apply(store, claim, 2, postings("e"))
    await end(store, claim, all_read(6, 4), error="cancelled")
    real_look_up, real_sums = postings_of(store)._looking_up.ask, ledger.sums

    async def look_up(mark: Mark) -> Any:
        return seen[mark.batch_index]

    async def sums(run_id: str) -> Any:
        monkeypatch.setattr(ledger, "sums", real_sums)
        result = await real_sums(run_id)
        await apply(store, claim, 1, postings("c", "d"))
        return result

    monkeypatch.setattr(postings_of(store)._looking_up, "ask", look_up)
    monkeypatch.setattr(ledger, "sums", sums)
    await apply(store, claim, 0, postings("a", "b"))
    monkeypatch.setattr(postings_of(store)._looking_up, "ask", real_look_up)
    run = await run_now(store, claim.run.run_id)
    assert (run.counts, run.processed_batches) == (Counts(new=5, failed=1), 3)


# Races.


async def test_of_two_rows_for_a_batch_the_first_stands(
    store: Imports, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = await begin(store)
    mark = Mark(claim.run.run_id, 0)
    real = postings_of(store)._writes.apply

    async def given_up_meanwhile(*values: Any) -> Any:
        result = await real(*values)
        await store.postings.fail_batch(mark, [failure()], failed=2)
        return result

    monkeypatch.setattr(postings_of(store)._writes, "apply", given_up_meanwhile)
    assert await apply(store, claim, 0, postings("a", "b")) == Counts(failed=2)
    run = await end(store, claim, all_read(2, 1))
    assert run.counts == Counts(failed=2)


async def test_a_posting_that_changes_after_it_was_read_is_judged_again(
    store: Imports, monkeypatch: pytest.MonkeyPatch
) -> None:
    await import_all(store, [posting("a"), posting("b")])
    claim = await begin(store)
    real = postings_of(store)._writes._change
    rounds = 0

    async def change(*values: Any) -> Any:
        nonlocal rounds
        rounds += 1
        if rounds == 1:
            other = Batch(
                mark=Mark(claim.run.run_id, 1), source_url=SOURCE, postings=[posting("a", "theirs")]
            )
            assert await store.postings.apply_batch(other) == Counts(updated=1)
        return await real(*values)

    monkeypatch.setattr(postings_of(store)._writes, "_change", change)
    mine = [posting("a", "mine"), posting("b", "mine")]
    assert await apply(store, claim, 0, mine) == Counts(updated=1, duplicate=1)
    assert (await stored(store, "a")).posting == posting("a", "theirs")
    assert (await stored(store, "b")).changed_by == Mark(claim.run.run_id, 0)


async def test_after_a_batch_that_is_new_one_that_is_not_counts_the_same(
    store: Imports,
) -> None:
    await import_all(store, postings("a", "b", "c"))
    claim = await begin(store)
    assert await apply(store, claim, 0, postings("x", "y")) == Counts(new=2)
    mixed = [posting("a"), posting("b", "changed"), posting("x"), posting("z")]
    expected = Counts(new=1, updated=1, unchanged=1, duplicate=1)
    assert await apply(store, claim, 1, mixed) == expected
    assert (await stored(store, "b")).posting == posting("b", "changed")
    assert (await stored(store, "x")).created_by == Mark(claim.run.run_id, 0)
    assert await apply(store, claim, 2, postings("v", "w")) == Counts(new=2)


# What the server will not have.


@pytest.fixture
async def choosy(mongodb: MongoDatabase) -> AsyncIterator[MongoDatabase]:
    """An operator's rule for the collection."""
    jobs = mongodb.jobs
    rule = {"title": {"$ne": "forbidden"}}
    await jobs.database.command("collMod", jobs.name, validator=rule)
    yield mongodb
    await jobs.database.command("collMod", jobs.name, validator={})


async def test_a_posting_against_an_operators_rule_costs_no_other(
    choosy: MongoDatabase, store: Imports
) -> None:
    await import_all(store, postings("a", "b", "c"))
    claim = await begin(store)
    jobs = [
        posting("a", title="forbidden"),
        posting("b", "changed"),
        posting("new", title="forbidden"),
        posting("newer"),
    ]
    assert await apply(store, claim, 0, jobs) == Counts(new=1, updated=1, failed=2)
    run = await end(store, claim, all_read(4, 1))
    assert run.status is RunStatus.PARTIAL
    assert all("does not take the posting" in each.reason for each in run.failures)
    assert (await stored(store, "a")).posting == posting("a")
    assert await store.postings.find(key_of("new")) is None


async def test_batches_that_share_an_insert_are_distinguished(
    choosy: MongoDatabase, store: Imports
) -> None:
    claim = await begin(store)
    assert await apply(store, claim, 0, postings("first")) == Counts(new=1)
    answers = await asyncio.gather(
        *(
            apply(
                store,
                claim,
                index,
                [
                    posting(f"forbidden {index}", title="forbidden"),
                    posting("in all"),
                    posting(f"own {index}"),
                ],
            )
            for index in range(1, 9)
        )
    )
    first, *others = sorted(answers, reverse=True)
    assert first == Counts(new=2, failed=1)
    assert others == [Counts(new=1, duplicate=1, failed=1)] * 7
    run = await end(store, claim, all_read(25, 9))
    assert run.counts == Counts(new=10, duplicate=7, failed=8)
    for index in range(1, 9):
        assert (await stored(store, f"own {index}")).created_by == Mark(claim.run.run_id, index)
        assert await store.postings.find(key_of(f"forbidden {index}")) is None


# The search.


def test_a_list_has_each_word_once_with_the_postings_that_have_it() -> None:
    jobs = {
        "1": posting("a", title="Cook, cook at ACME", company="Acme", location="Leeds"),
        "2": posting("b", title="Nurse", company="Acme", location="Leeds"),
        "3": posting("c", title=f"Leeds {'long ' * 20}", company="Acme"),
        "4": posting("d", title="G\u00e4rtner"),
    }
    made = list_of(jobs.items())
    assert len(set(made["words"])) == len(made["words"])
    hits = zip(made["words"], made["hits"], strict=True)
    found = {word: [made["ids"][at] for at in places] for word, places in hits}
    assert found == {
        "cook": ["1"],
        "at": ["1"],
        "acme": ["1", "2", "3"],
        "leeds": ["1", "2", "3"],
        "nurse": ["2"],
        "long": ["3"],
        "gartner": ["4"],
    }


async def test_an_update_that_leaves_the_words_alone_lists_none(
    store: Imports, mongodb: MongoDatabase
) -> None:
    await import_all(store, postings("a", "b"))
    before = await mongodb.job_words.count_documents({})
    await import_all(store, [posting("a", "changed"), posting("b")])
    assert await mongodb.job_words.count_documents({}) == before
    await import_all(store, [posting("a", title="other words"), posting("b")])
    assert await mongodb.job_words.count_documents({}) == before + 1
    assert await names_listed(store, PostingFilter(text="other")) == ["a"]


async def test_a_word_of_too_many_postings_is_met_on_the_way(
    store: Imports, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in ("MOST_IDS", "MOST_LISTS"):
        monkeypatch.setattr(f"webloom.adapters.mongodb.posting_words.{limit}", 2)
    names = [f"p{n}" for n in range(9)]
    await import_all(store, [posting(name, title=f"Nurse {name}") for name in names], size=2)
    assert sorted(await names_listed(store, PostingFilter(text="nurse"))) == names
    assert sorted(await names_listed(store, PostingFilter(text="nur*"))) == names
    assert await names_listed(store, PostingFilter(text="p3")) == ["p3"]


async def test_a_beginning_of_too_many_words_is_met_on_the_way(store: Imports) -> None:
    names = [f"p{n:02}" for n in range(60)]
    await import_all(store, postings(*names))
    assert sorted(await names_listed(store, PostingFilter(text="p*"), limit=50)) == names
    assert sorted(await names_listed(store, PostingFilter(text="p1*"))) == names[10:20]


async def test_a_title_out_of_proportion_is_stored_and_found(store: Imports) -> None:
    long = posting("a", title=" ".join(f"word{n}" for n in range(5000)) + " " + "x" * 100_000)
    await import_all(store, [long])
    assert (await stored(store, "a")).posting == long
    for text in ("word7", "word6 word7", "word8 wor*"):
        assert await names_listed(store, PostingFilter(text=text)) == ["a"]


# Odds and ends.


async def test_an_edit_while_a_run_is_started_is_not_lost(store: Imports) -> None:
    feed = await add_feed(store)
    edits = [
        store.feeds.edit(feed.feed_id, config(interval_minutes=n + 1.0), next_run_at=None)
        for n in range(10)
    ]
    runs = await asyncio.gather(*edits, *(store.runs.start(feed.feed_id, new_run()) for _ in "ab"))
    assert runs[-1] == runs[-2]
    now = await feed_now(store)
    assert now.active_run_id is not None
    assert now.config in [replace(config(), interval_minutes=n + 1.0) for n in range(10)]


async def test_batches_of_many_runs_are_looked_up_together(store: Imports) -> None:
    claims = [await begin(store, name) for name in ("a", "b", "c")]
    answers = await asyncio.gather(
        *(
            store.postings.apply_batch(
                batch(claim.run.run_id, index, [posting(f"{number} {index}")], duplicates=index)
            )
            for number, claim in enumerate(claims)
            for index in range(5)
        ),
        store.postings.apply_batch(batch("unknown", 0, postings("x"))),
    )
    assert answers[-1] is None
    assert answers[:-1] == [Counts(new=1, duplicate=index) for _ in claims for index in range(5)]
    for claim in claims:
        noted = await store.runs.note_reading(claim, reading())
        assert noted is not None
        assert noted.counts == Counts(new=5, duplicate=10)


async def test_every_page_of_runs_is_read_along_an_index(
    store: Imports, mongodb: MongoDatabase
) -> None:
    """The server neither sorts them nor looks at those that came before."""
    for name in "abcdefgh":
        await begin(store, name)
    database = mongodb.import_logs.database
    await database.command("profile", 2)
    try:
        for chosen in (
            RunFilter(),
            RunFilter(text="feed"),
            RunFilter(text="feed", status=RunStatus.RUNNING),
            RunFilter(status=RunStatus.RUNNING),
            RunFilter(source_url=source("a")),
        ):
            _, place = await store.listed_runs.scan(chosen, None, limit=1)
            assert place is not None
            await store.listed_runs.scan(chosen, place, limit=1)
    finally:
        await database.command("profile", 0)
    profile = database["system.profile"]
    seen = await profile.find({"ns": mongodb.import_logs.full_name, "op": "query"}).to_list()
    await profile.drop()
    assert len(seen) == 10
    for query in seen:
        assert "COLLSCAN" not in query["planSummary"], query["command"]
        assert not query.get("hasSortStage"), query["command"]
