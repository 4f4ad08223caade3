"""Imports on MongoDB that workers of other programs take part in: what they write is counted,
listed and compared as ours is."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from pymongo import UpdateOne

from contracts.import_samples import (
    MAY,
    SOURCE,
    all_read,
    apply,
    begin,
    claimed,
    end,
    failure,
    feed_now,
    import_all,
    key_of,
    later,
    names_listed,
    new_run,
    posting,
    reading,
    run_now,
    started,
    stored,
)
from fakes.clock import FakeClock
from webloom.adapters.mongodb.adopted_postings import AdoptedPostings
from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.imports import mongodb_imports
from webloom.domain.import_run import Counts, Failure, ImportRun, Mark, RunStatus, Tally
from webloom.domain.import_transitions import Ending
from webloom.parsing.content_hash import content_hash_of
from webloom.parsing.job_posting import JobPosting
from webloom.ports.import_runs import Claim
from webloom.ports.imports import Imports
from webloom.ports.postings import PostingFilter


@pytest.fixture
def store(mongodb: MongoDatabase) -> Imports:
    return mongodb_imports(mongodb)


def read(name: str, text: str = "as it was", **changes: Any) -> JobPosting:
    """As a feed's reader makes it, with the hash of its content."""
    made = posting(name, text, published_at=MAY, **changes)
    return msgspec.structs.replace(made, content_hash=content_hash_of(made) or "")


class Others:
    """A worker of another program."""

    def __init__(self, mongodb: MongoDatabase) -> None:
        self._db = mongodb

    async def upsert(self, *postings: JobPosting, without: tuple[str, ...] = ()) -> None:
        now = self._db.wall()
        upserts = []
        for each in postings:
            job = msgspec.json.decode(msgspec.json.encode(each))
            for name in without:
                job.pop(name, None)
            change = {"$set": job | {"updatedAt": now}, "$setOnInsert": {"createdAt": now}}
            upserts.append(UpdateOne({"dedupeKey": each.dedupe_key}, change, upsert=True))
        await self._db.jobs.bulk_write(upserts, ordered=False)

    async def count(self, run_id: str, *, batches: int = 1, **counters: int) -> None:
        imported = counters.get("newJobs", 0) + counters.get("updatedJobs", 0)
        added = counters | {"totalImported": imported, "meta.processedBatches": batches}
        await self._db.import_logs.update_one({"runId": run_id}, {"$inc": added})

    async def finish(self, run_id: str, status: str = "completed", **fields: object) -> None:
        changed = {"status": status, "finishedAt": MAY, "meta.durationMs": 1234} | fields
        await self._db.import_logs.update_one({"runId": run_id}, {"$set": changed})


@pytest.fixture
def others(mongodb: MongoDatabase) -> Others:
    return Others(mongodb)


async def noted(store: Imports, claim: Claim, **changes: Any) -> ImportRun:
    run = await store.runs.note_reading(claim, all_read(6, 3, **changes))
    assert run is not None
    return run


# Counters.


async def test_what_others_count_is_added_to_what_our_workers_count(
    store: Imports, others: Others
) -> None:
    claim = await begin(store)
    await noted(store, claim, failed=1, duplicates=1)
    run_id = claim.run.run_id
    await others.count(run_id, newJobs=2)
    run = await noted(store, claim, failed=1, duplicates=1)
    assert (run.counts, run.processed_batches) == (Counts(new=2, duplicate=1, failed=1), 1)
    assert run.third_party == Tally(Counts(new=2), 1)
    await apply(store, claim, 1, [posting("a")])
    await others.count(run_id, updatedJobs=1)
    run = await noted(store, claim, failed=1, duplicates=1)
    assert run.counts == Counts(new=3, updated=1, duplicate=1, failed=1)
    assert (run.processed_batches, run.third_party.batches) == (3, 2)
    assert await noted(store, claim, failed=1, duplicates=1) == run
    assert await run_now(store, run_id) == run


async def test_a_reader_of_changes_hears_of_what_others_count(
    store: Imports, others: Others, clock: FakeClock
) -> None:
    claim = await begin(store)
    before = await noted(store, claim)
    await others.count(claim.run.run_id, newJobs=2)
    clock.advance(5)
    run = await noted(store, claim)
    assert run.updated_at > before.updated_at
    assert run in await store.listed_runs.changed(run.updated_at, limit=10)


async def test_numbers_and_failures_may_be_as_another_program_writes_them(
    store: Imports, others: Others, mongodb: MongoDatabase
) -> None:
    claim = await begin(store)
    ours = failure("no title", "x", 0)
    await noted(store, claim, failed=1, failures=[ours], failure_reasons={"no title": 1})
    added = [{"error": "no link", "item": {"title": "W"}}, "bad", {"reason": "r", "index": 2.0}]
    await mongodb.import_logs.update_one(
        {"runId": claim.run.run_id},
        {
            "$inc": {"failedJobs": 3.0, "meta.processedBatches": 1.0},
            "$push": {"failures": {"$each": added}},
        },
    )
    run = await noted(store, claim, failed=1, failures=[ours], failure_reasons={"no title": 1})
    assert run.failures == [
        ours,
        Failure(reason="no link", sample='{"title": "W"}'),
        Failure(reason="bad", sample=""),
        Failure(reason="r", sample="", index=2),
    ]
    assert run.failure_reasons == {"no title": 1, "no link": 1, "bad": 1, "r": 1}
    assert run.counts == Counts(failed=4)
    assert await noted(store, claim, failed=1, failures=[ours], failure_reasons={"no title": 1})


async def test_a_run_that_the_version_before_left_under_way_has_nothing_of_others(
    store: Imports, mongodb: MongoDatabase
) -> None:
    claim = await begin(store)
    await apply(store, claim, 0, [posting("a")])
    await noted(store, claim)
    await mongodb.import_logs.update_one(
        {"runId": claim.run.run_id},
        {"$unset": {"reading.own": "", "reading.thirdParty": "", "reading.batches": ""}},
    )
    run = await noted(store, claim)
    assert (run.counts, run.third_party) == (Counts(new=1), Tally())


# Ends.


async def test_a_run_that_others_end_stays_in_the_hands_of_its_producer(
    store: Imports, others: Others
) -> None:
    claim = await begin(store)
    await noted(store, claim)
    run_id = claim.run.run_id
    await others.count(run_id, batches=3, newJobs=4, updatedJobs=2)
    await others.finish(run_id)
    assert (await noted(store, claim)).status is RunStatus.COMPLETED
    assert await store.runs.renew(claim, lease=15)
    assert await store.runs.claim("another", lease=15) is None
    assert (await feed_now(store)).active_run_id == run_id
    run = await end(store, claim, all_read(6, 3), next_run_at=later(60))
    assert (run.status, run.error) == (RunStatus.COMPLETED, None)
    assert run.counts == Counts(new=4, updated=2)
    assert (run.finished_at, run.duration_ms) == (MAY, 1234)
    feed = await feed_now(store)
    assert (feed.active_run_id, feed.last_run_id) == (None, run_id)
    assert (feed.next_run_at, feed.last_status) == (later(60), RunStatus.COMPLETED)
    assert await store.runs.finish(claim, all_read(6, 3), Ending(next_run_at=later(99))) == run
    assert (await feed_now(store)).next_run_at == later(60)


async def test_a_run_that_ended_after_its_producer_died_is_claimed_by_the_next(
    store: Imports, others: Others, clock: FakeClock
) -> None:
    await begin(store)  # its lease is long
    [run_id] = [(await feed_now(store)).active_run_id]
    assert run_id is not None
    await others.count(run_id, newJobs=6)
    await others.finish(run_id, "partial")
    assert await store.runs.claim("next", lease=15) is None
    clock.advance(2e6)
    claim = await claimed(store, "next")
    assert (claim.run.run_id, claim.run.status) == (run_id, RunStatus.PARTIAL)
    run = await end(store, claim, all_read(6, 3), next_run_at=later(60))
    assert (run.status, run.counts) == (RunStatus.PARTIAL, Counts(new=6))
    feed = await feed_now(store)
    assert (feed.active_run_id, feed.next_run_at) == (None, later(60))
    assert await store.runs.claim("next", lease=15) is None


async def test_a_run_can_be_started_though_nobody_has_accepted_the_end_of_the_last(
    store: Imports, others: Others
) -> None:
    claim = await begin(store)
    await others.finish(claim.run.run_id, "what they call it")
    new = await started(store, new=new_run())
    assert new.run_id != claim.run.run_id
    assert (await feed_now(store)).last_status is RunStatus.PARTIAL
    await end(store, claim, all_read(6, 3), next_run_at=later(60))
    feed = await feed_now(store)
    assert (feed.active_run_id, feed.last_run_id) == (new.run_id, claim.run.run_id)
    assert (await run_now(store, new.run_id)).status is RunStatus.RUNNING


async def test_what_has_left_the_feed_is_closed_though_others_have_ended_the_run(
    store: Imports, others: Others
) -> None:
    await import_all(store, [read("a"), read("gone")])
    claim = await begin(store)
    await others.upsert(read("a"))
    await others.count(claim.run.run_id, updatedJobs=1)
    await others.finish(claim.run.run_id)
    await store.postings.close(claim, [key_of("gone")])
    run = await end(store, claim, all_read(1, 1))
    assert run.closed_jobs == 1
    assert (await stored(store, "gone")).closed_by == claim.run.run_id


# Postings.


async def test_a_posting_of_others_is_readable_before_it_is_adopted(
    store: Imports, others: Others
) -> None:
    await import_all(store, [read("ours")])
    await others.upsert(read("new", company="ACME"), read("ours", "changed"))
    found = await stored(store, "new")
    assert found.posting == read("new", company="ACME")
    assert (found.created_by.run_id, found.changed_by.run_id) == ("", "")
    assert (await stored(store, "ours")).posting == read("ours", "changed")
    assert await names_listed(store) == ["ours"]


async def test_adopted_postings_are_listed_and_found_as_ours_are(
    store: Imports, others: Others, mongodb: MongoDatabase
) -> None:
    await import_all(store, [read("ours", title="Weaver"), read("same", title="Fuller")])
    claim = await begin(store)
    await others.upsert(
        read("ours", title="Dyer"), read("same", title="Fuller"), read("new", company="ACME")
    )
    await others.count(claim.run.run_id, newJobs=1, updatedJobs=2)
    assert await store.postings.adopt(claim, is_shared=True) == 3
    assert await store.postings.adopt(claim, is_shared=True) == 0
    assert sorted(await names_listed(store)) == ["new", "ours", "same"]
    for chosen, names in (
        (PostingFilter(source_url=SOURCE), ["new", "ours", "same"]),
        (PostingFilter(text="dyer"), ["ours"]),
        (PostingFilter(text="weaver"), []),
        (PostingFilter(text="fuller"), ["same"]),
        (PostingFilter(company="acme"), ["new"]),
        (PostingFilter(since=MAY, until=MAY), ["new", "ours", "same"]),
    ):
        assert sorted(await names_listed(store, chosen)) == names, chosen
    assert (await stored(store, "new")).created_by.run_id == claim.run.run_id
    assert (await stored(store, "ours")).changed_by.run_id == claim.run.run_id
    assert sorted(await store.postings.open_keys(SOURCE, after="", limit=9)) == sorted(
        key_of(name) for name in ("new", "ours", "same")
    )
    for document in await mongodb.jobs.find().to_list():
        assert isinstance(document["_id"], str)
        assert document["publishedAt"] == MAY
    lists = await mongodb.job_words.count_documents({})
    await others.upsert(read("ours", title="Dyer"), read("same", title="Fuller"))
    assert await store.postings.adopt(claim, is_shared=True) == 2  # their dates are texts again
    assert await mongodb.job_words.count_documents({}) == lists  # nothing is listed twice


@pytest.mark.parametrize("is_adopted", [True, False])
@pytest.mark.parametrize("without", [(), ("contentHash",)])
async def test_an_import_of_our_own_counts_nothing_twice(
    store: Imports, others: Others, is_adopted: bool, without: tuple[str, ...]
) -> None:
    jobs = [read("a"), read("b")]
    claim = await begin(store)
    await others.upsert(*jobs, without=without)
    await others.count(claim.run.run_id, newJobs=2)
    if is_adopted:
        await store.postings.adopt(claim, is_shared=True)
    await end(store, claim, all_read(2, 1))
    run = await import_all(store, jobs)
    assert run.counts == Counts(unchanged=2)
    run = await import_all(store, [read("a", "new"), *jobs[1:], read("c")])
    assert run.counts == Counts(new=1, updated=1, unchanged=1)
    assert sorted(await names_listed(store, PostingFilter(source_url=SOURCE))) == ["a", "b", "c"]


async def test_what_others_left_out_is_completed_by_one_update(
    store: Imports, others: Others
) -> None:
    jobs = [read("a"), read("b")]
    claim = await begin(store)
    await others.upsert(*jobs, without=("contentHash", "description", "externalId"))
    await store.postings.adopt(claim, is_shared=True)
    await others.count(claim.run.run_id, newJobs=2)
    await end(store, claim, all_read(2, 1))
    assert (await import_all(store, jobs)).counts == Counts(updated=2)
    assert (await import_all(store, jobs)).counts == Counts(unchanged=2)
    assert (await stored(store, "a")).posting == read("a")


async def test_a_stale_hash_does_not_hide_what_others_have_changed(
    store: Imports, others: Others
) -> None:
    """They change the text and leave our hash as it is; then the feed has the old text again."""
    await import_all(store, [read("a")])
    claim = await begin(store)
    await others.upsert(read("a", "changed"), without=("contentHash",))
    await others.count(claim.run.run_id, updatedJobs=1)
    await store.postings.adopt(claim, is_shared=True)
    await end(store, claim, all_read(1, 1))
    assert (await import_all(store, [read("a")])).counts == Counts(updated=1)
    assert (await stored(store, "a")).posting == read("a")


async def test_fields_that_are_not_ours_stay(
    store: Imports, others: Others, mongodb: MongoDatabase
) -> None:
    claim = await begin(store)
    await others.upsert(read("a"))
    await mongodb.jobs.update_many({}, {"$set": {"__v": 3, "score": 0.5}})
    await store.postings.adopt(claim, is_shared=True)
    [document] = await mongodb.jobs.find().to_list()
    assert (document["__v"], document["score"]) == (3, 0.5)
    assert "movingSince" not in document


async def test_a_posting_that_others_replace_keeps_its_key_and_comes_into_form(
    store: Imports, mongodb: MongoDatabase
) -> None:
    await import_all(store, [read("a", title="Weaver")])
    job = msgspec.json.decode(msgspec.json.encode(read("a", title="Dyer")))
    await mongodb.jobs.replace_one({"dedupeKey": key_of("a")}, job)
    assert (await stored(store, "a")).posting.title == "Dyer"
    claim = await begin(store)
    assert await store.postings.adopt(claim, is_shared=True) == 1
    assert await names_listed(store, PostingFilter(text="dyer")) == ["a"]
    await end(store, claim, all_read(0, 0))
    assert (await import_all(store, [read("a", title="Dyer")])).counts == Counts(unchanged=1)


async def test_a_closed_posting_that_others_import_again_is_open_again(
    store: Imports, others: Others, clock: FakeClock
) -> None:
    await import_all(store, [read("a"), read("b")])
    claim = await begin(store)
    await store.postings.close(claim, [key_of("a"), key_of("b")])
    await end(store, claim, all_read(0, 0))
    clock.advance(60)
    claim = await begin(store)
    await others.upsert(read("a"))
    await others.count(claim.run.run_id, updatedJobs=1)
    await store.postings.adopt(claim, is_shared=True)
    assert (await stored(store, "a")).closed_at is None
    assert (await stored(store, "b")).closed_at is not None


async def test_what_is_no_posting_stays_and_hides_nothing(
    store: Imports, others: Others, mongodb: MongoDatabase
) -> None:
    claim = await begin(store)
    await mongodb.jobs.insert_one({"dedupeKey": "junk", "sourceUrl": SOURCE})
    await others.upsert(read("a"))
    assert await store.postings.adopt(claim, is_shared=True) == 1
    assert await names_listed(store) == ["a"]
    assert await store.postings.find("junk") is None
    assert await mongodb.jobs.count_documents({"dedupeKey": "junk"}) == 1


@pytest.mark.parametrize("original_is_there", [True, False])
async def test_what_a_process_that_died_has_half_moved_is_finished_or_dropped(
    store: Imports,
    others: Others,
    mongodb: MongoDatabase,
    clock: FakeClock,
    original_is_there: bool,
) -> None:
    claim = await begin(store)
    await others.upsert(read("a"), read("b"))
    adopting = AdoptedPostings(mongodb)
    documents = await mongodb.jobs.find().to_list()
    forms = adopting._in_form(documents, Mark(claim.run.run_id, -1))
    assert len(await adopting._insert_copies(forms, "moving/x/")) == 2
    if not original_is_there:
        await mongodb.jobs.delete_many({"_id": {"$in": [each["_id"] for each in documents]}})
    assert await store.postings.adopt(claim, is_shared=True) == 0  # it may be at it
    clock.advance(timedelta(minutes=2).total_seconds())
    await store.postings.adopt(claim, is_shared=True)
    assert sorted(await names_listed(store)) == ["a", "b"]
    assert await mongodb.jobs.count_documents({}) == 2
    await end(store, claim, all_read(0, 0))
    assert (await import_all(store, [read("a"), read("b")])).counts == Counts(unchanged=2)


async def test_what_somebody_changes_while_it_is_moved_is_not_lost(
    store: Imports,
    others: Others,
    mongodb: MongoDatabase,
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    claim = await begin(store)
    await others.upsert(read("a", title="Weaver"))
    real = AdoptedPostings._insert_copies

    async def slow(*values: Any) -> Any:
        monkeypatch.setattr(AdoptedPostings, "_insert_copies", real)
        copies = await real(*values)
        clock.advance(1)
        await others.upsert(read("a", title="Dyer"))
        return copies

    monkeypatch.setattr(AdoptedPostings, "_insert_copies", slow)
    await store.postings.adopt(claim, is_shared=True)
    assert await mongodb.jobs.count_documents({}) == 1
    assert (await stored(store, "a")).posting.title == "Dyer"
    assert await names_listed(store, PostingFilter(text="dyer")) == ["a"]


async def test_progress_is_noted_as_it_was_counted_before_the_first_batch(
    store: Imports, mongodb: MongoDatabase
) -> None:
    claim = await begin(store)
    await store.runs.note_reading(claim, reading(fetched=6, batches=3))
    document = await mongodb.import_logs.find_one({"runId": claim.run.run_id})
    assert document is not None
    assert (document["totalFetched"], document["meta"]["totalBatches"]) == (6, 3)
    assert (await run_now(store, claim.run.run_id)).total_batches == 3
