"""The ImportStore's contract: batches, however often and by how many they are applied."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import msgspec
import pytest

from contracts.adapters import ImportProcesses
from contracts.import_samples import (
    MAY,
    SOURCE,
    all_read,
    apply,
    batch,
    begin,
    end,
    failure,
    import_all,
    key_of,
    posting,
    postings,
    run_now,
    stored,
)
from webloom.domain.import_run import LONGEST_SAMPLE, Counts, Mark, RunStatus
from webloom.parsing.job_posting import JobPosting, Salary
from webloom.ports.imports import Imports
from webloom.ports.postings import Batch, StoredPosting


async def test_a_posting_is_stored_as_it_came(import_store: Imports) -> None:
    whole = posting(
        "whole",
        job_url="http://jobs.example/1?ä=%00",
        company="Ä & Söhne <b>",
        location="Köln, NRW 😀",
        city="Köln",
        region="NRW",
        country="DE",
        remote=False,
        job_type="full-time",
        salary=Salary(min=1, max=2.5, currency="EUR", period="hour", text="1 bis 2,50 €"),
        categories=["$a.b", "", "c"],
        description="<p>" + "x" * 5000,
        published_at=MAY,
        expires_at=datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC),
    )
    early = posting("early", published_at=datetime(1, 1, 2, tzinfo=UTC), remote=True)
    claim = await begin(import_store)
    assert await apply(import_store, claim, 3, [whole, early]) == Counts(new=2)
    mark = Mark(claim.run.run_id, 3)
    for each in (whole, early):
        found = await import_store.postings.find(each.dedupe_key)
        assert found is not None
        assert found == StoredPosting(
            posting=each,
            created_at=found.created_at,
            updated_at=found.created_at,
            created_by=mark,
            changed_by=mark,
        )
    assert await import_store.postings.find(key_of("other")) is None
    for odd in ("", "no key", "é" * 40, "0" * 41):
        assert await import_store.postings.find(odd) is None


async def test_records_are_new_then_unchanged_then_updated(imports: ImportProcesses) -> None:
    async with imports.open() as store:
        first = await import_all(store, postings("a", "b", "c"))
        assert first.counts == Counts(new=3)
        before = await stored(store, "a")
        await imports.pass_time(60)
        second = await import_all(store, postings("a", "b", "c"))
        assert second.counts == Counts(unchanged=3)
        assert await stored(store, "a") == before
        await imports.pass_time(60)
        changed = [posting("a", "changed", title="New title", published_at=MAY)]
        third = await import_all(store, [*changed, *postings("b", "d")])
        assert third.counts == Counts(new=1, updated=1, unchanged=1)
        after = await stored(store, "a")
        assert after.posting == changed[0]
        assert (after.created_at, after.created_by) == (before.created_at, before.created_by)
        assert after.updated_at > before.updated_at
        assert after.changed_by == Mark(third.run_id, 0)
        await imports.pass_time(60)
        fourth = await import_all(store, postings("a", "b", "c", "d"))
        assert fourth.counts == Counts(updated=1, unchanged=3)


async def test_the_same_batch_again_changes_nothing(imports: ImportProcesses) -> None:
    async with imports.open() as store:
        await import_all(store, postings("old", "same"))
        claim = await begin(store)
        jobs = [posting("old", "changed"), *postings("same", "new")]
        failures = [failure("no title")]
        counts = await apply(store, claim, 0, jobs, duplicates=2, failures=failures)
        assert counts == Counts(new=1, updated=1, unchanged=1, duplicate=2, failed=1)
        before = [await stored(store, name) for name in ("old", "same", "new")]
        await imports.pass_time(5)
        for _ in range(2):
            again = await apply(store, claim, 0, jobs, duplicates=2, failures=failures)
            assert again == counts
        assert [await stored(store, name) for name in ("old", "same", "new")] == before
        run = await end(store, claim, all_read(6, 1))
        assert (run.counts, run.processed_batches) == (counts, 1)
        assert run.failure_reasons == {"no title": 1}


async def test_a_batch_applied_by_many_at_once_counts_once(imports: ImportProcesses) -> None:
    async with imports.open() as one, imports.open() as two:
        await import_all(one, postings(*(f"old {n}" for n in range(20))))
        claim = await begin(one)
        jobs = [
            *(posting(f"old {n}", "changed" if n < 5 else "as it was") for n in range(20)),
            *(posting(f"new {n}") for n in range(20)),
        ]
        answers = await asyncio.gather(
            *(apply((one, two)[n % 2], claim, 0, jobs, duplicates=1) for n in range(12))
        )
        assert set(answers) == {Counts(new=20, updated=5, unchanged=15, duplicate=1)}
        run = await end(two, claim, all_read(41, 1))
        assert (run.status, run.counts) == (RunStatus.COMPLETED, answers[0])


async def test_batches_of_a_run_applied_at_once_by_many_add_up(imports: ImportProcesses) -> None:
    """Every batch twice, in any order, and each shares a record with the next."""
    async with imports.open() as one, imports.open() as two:
        claim = await begin(one)
        parts = [postings(*(f"{n}" for n in range(4 * i, 4 * i + 5))) for i in range(15)]
        order = [*range(15), *reversed(range(15))]
        await asyncio.gather(
            *(apply((one, two)[n % 2], claim, index, parts[index]) for n, index in enumerate(order))
        )
        run = await end(one, claim, all_read(75, 15))
        assert run.counts == Counts(new=61, duplicate=14)
        assert run.processed_batches == 15


async def test_a_batch_that_was_cut_off_half_way_is_counted_whole(
    imports: ImportProcesses,
) -> None:
    """Its worker died after some of the writes, before the ledger's row."""
    async with imports.open() as store:
        await import_all(store, postings("old", "old too", "same"))
        claim = await begin(store)
        part = [posting("old", "changed"), posting("new")]
        assert await apply(store, claim, 0, part) == Counts(new=1, updated=1)
        before = [await stored(store, name) for name in ("old", "new")]
        await imports.lose_row(Mark(claim.run.run_id, 0))
        assert await store.postings.missing_batches(claim.run.run_id, published=1) == [0]
        await imports.pass_time(5)
        whole = [*part, posting("old too", "changed"), posting("new too"), posting("same")]
        counts = Counts(new=2, updated=2, unchanged=1, duplicate=1)
        assert await apply(store, claim, 0, whole, duplicates=1) == counts
        assert [await stored(store, name) for name in ("old", "new")] == before
        run = await end(store, claim, all_read(6, 1))
        assert run.counts == counts


async def test_a_record_that_another_batch_of_the_run_brought_is_a_duplicate(
    import_store: Imports,
) -> None:
    await import_all(import_store, postings("old", "same"))
    claim = await begin(import_store)
    first = [posting("new"), posting("old", "changed"), posting("same")]
    assert await apply(import_store, claim, 0, first) == Counts(new=1, updated=1, unchanged=1)
    again = [posting("new", "otherwise"), posting("old", "otherwise"), posting("same")]
    assert await apply(import_store, claim, 1, again) == Counts(duplicate=2, unchanged=1)
    assert (await stored(import_store, "new")).posting == first[0]
    assert (await stored(import_store, "old")).posting == first[1]


async def test_the_run_before_and_the_next_count_apart(import_store: Imports) -> None:
    """What was new in one run is unchanged in the next, batch for batch."""
    for expected in (Counts(new=2), Counts(unchanged=2), Counts(unchanged=2)):
        claim = await begin(import_store)
        assert await apply(import_store, claim, 0, postings("a", "b")) == expected
        assert await apply(import_store, claim, 0, postings("a", "b")) == expected
        await end(import_store, claim, all_read(2, 1))


async def test_an_empty_batch_leaves_its_row(import_store: Imports) -> None:
    claim = await begin(import_store)
    assert await apply(import_store, claim, 0, []) == Counts()
    assert await import_store.postings.missing_batches(claim.run.run_id, published=1) == []


REFUSED = [
    (posting("bad", title="\ud800"), "a lone surrogate"),
    (posting("bad", title="a\0b", company="\0"), "a NUL"),
    (posting("bad", description="x" * 17_000_000), "larger than a document may be"),
    (posting("bad", dedupe_key="no hash"), "a key that is none"),
    (posting("bad", salary=Salary(min=1 << 80)), "a number that is too large"),
]


@pytest.mark.parametrize(("bad", "reason"), REFUSED, ids=[row[1] for row in REFUSED])
async def test_a_record_that_the_store_refuses_costs_no_other(
    import_store: Imports, bad: JobPosting, reason: str
) -> None:
    """Stores differ in what they refuse; the counts must tell."""
    claim = await begin(import_store)
    jobs = [posting("a"), bad, posting("b")]
    counts = await apply(import_store, claim, 0, jobs, duplicates=1)
    found = await import_store.postings.find(bad.dedupe_key)
    refused = found is None
    assert counts == Counts(new=3 - refused, duplicate=1, failed=int(refused))
    assert await apply(import_store, claim, 0, jobs, duplicates=1) == counts
    assert (await stored(import_store, "a")).posting == jobs[0]
    assert (await stored(import_store, "b")).posting == jobs[2]
    run = await end(import_store, claim, all_read(4, 1))
    assert run.counts == counts
    assert len(run.failures) == sum(run.failure_reasons.values()) == int(refused)
    assert all(0 < len(each.sample) <= LONGEST_SAMPLE for each in run.failures)


async def test_a_lone_surrogate_is_refused(import_store: Imports) -> None:
    claim = await begin(import_store)
    assert await apply(import_store, claim, 0, [REFUSED[0][0]]) == Counts(failed=1)


async def test_an_update_that_the_store_refuses_leaves_what_was_there(
    import_store: Imports,
) -> None:
    await import_all(import_store, postings("bad", "good"))
    claim = await begin(import_store)
    jobs = [REFUSED[0][0], posting("good", "changed")]
    assert await apply(import_store, claim, 0, jobs) == Counts(updated=1, failed=1)
    assert (await stored(import_store, "bad")).posting == posting("bad")


@pytest.mark.parametrize("what", ["unknown", "ended"])
async def test_a_batch_of_a_run_that_is_over_writes_nothing(
    import_store: Imports, what: str
) -> None:
    claim = await begin(import_store)
    await apply(import_store, claim, 0, postings("a"))
    ended = await end(import_store, claim, all_read(2, 2))
    run_id = claim.run.run_id if what == "ended" else "unknown"
    for index, jobs in enumerate((postings("a"), postings("b"))):
        assert await import_store.postings.apply_batch(batch(run_id, index, jobs)) is None
    assert await import_store.postings.find(key_of("b")) is None
    await import_store.postings.fail_batch(Mark(run_id, 1), [failure()], failed=1)
    assert await run_now(import_store, claim.run.run_id) == ended


async def test_missing_batches_are_those_without_a_row(import_store: Imports) -> None:
    claim = await begin(import_store)
    run_id = claim.run.run_id
    for index in (1, 3, 4, 9):
        await apply(import_store, claim, index, postings(f"{index}"))
    await import_store.postings.fail_batch(Mark(run_id, 6), [], failed=3)
    assert await import_store.postings.missing_batches(run_id, published=8) == [0, 2, 5, 7]
    assert await import_store.postings.missing_batches(run_id, published=0) == []
    assert await import_store.postings.missing_batches("unknown", published=2) == [0, 1]


async def test_a_batch_that_failed_is_not_applied_later(import_store: Imports) -> None:
    """It has its row: its records are counted."""
    claim = await begin(import_store)
    await import_store.postings.fail_batch(Mark(claim.run.run_id, 0), [failure()], failed=2)
    assert await apply(import_store, claim, 0, postings("a", "b")) == Counts(failed=2)
    assert await import_store.postings.find(key_of("a")) is None
    run = await end(import_store, claim, all_read(2, 1))
    assert run.counts == Counts(failed=2)


async def test_two_feeds_do_not_mix(import_store: Imports) -> None:
    theirs = "http://other.example/feed.xml"
    await import_all(import_store, postings("a", "b"))
    other = [posting("a", source_url=theirs), posting("c", source_url=theirs)]
    run = await import_all(import_store, other, "other")
    assert run.counts == Counts(new=2)
    assert (await stored(import_store, "a", theirs)).posting.source_url == theirs
    assert (await stored(import_store, "a")).posting.source_url == SOURCE


def known(*names: str) -> list[tuple[str, str]]:
    return [(each.dedupe_key, each.content_hash) for each in postings(*names)]


async def test_a_key_that_another_source_has_taken_does_not_stop_the_batch(
    import_store: Imports,
) -> None:
    """Only a foreign producer sends such a thing. A store may let the later one have it."""
    mine = posting("one")
    claim = await begin(import_store)
    await apply(import_store, claim, 0, [mine])
    foreign = msgspec.structs.replace(mine, source_url="http://other.example/", title="Other")
    counts = await apply(import_store, claim, 1, [foreign, posting("two")])
    assert counts is not None
    assert counts.total == 2


async def test_postings_that_are_known_count_as_unchanged(import_store: Imports) -> None:
    await import_all(import_store, postings("a", "b", "c"))
    before = await stored(import_store, "a")
    claim = await begin(import_store)
    light = Batch(
        mark=Mark(claim.run.run_id, 0),
        source_url=SOURCE,
        postings=[posting("c", "changed", title="Other"), *postings("d")],
        known=known("a", "b"),
    )
    for _ in range(2):
        assert await import_store.postings.apply_batch(light) == Counts(
            new=1, updated=1, unchanged=2
        )
    assert await stored(import_store, "a") == before


@pytest.mark.parametrize("stale", ["not stored", "closed", "of another content", "of no key"])
async def test_a_batch_with_a_posting_that_is_not_as_known_is_left_alone(
    import_store: Imports, stale: str
) -> None:
    """Its producer misses its row, and sends all of it."""
    await import_all(import_store, postings("a", "b"))
    claim = await begin(import_store)
    keys = known("a", "b")
    if stale == "not stored":
        keys += known("c")
    elif stale == "closed":
        await import_store.postings.close(claim, [keys[1][0]])
    elif stale == "of no key":
        keys.append(("0" * 40, keys[0][1]))
    else:
        keys[1] = (keys[1][0], "0" * 32)
    mark = Mark(claim.run.run_id, 0)
    light = Batch(mark=mark, source_url=SOURCE, postings=postings("d"), known=keys)
    assert await import_store.postings.apply_batch(light) is None
    assert await import_store.postings.find(key_of("d")) is None
    assert await import_store.postings.missing_batches(claim.run.run_id, published=1) == [0]
    whole = Batch(mark=mark, source_url=SOURCE, postings=postings("d", "a", "b"))
    counts = await import_store.postings.apply_batch(whole)
    assert counts is not None
    assert (counts.new, counts.total) == (1, 3)
    assert await import_store.postings.apply_batch(light) == counts, "the row stands"


async def test_a_known_posting_that_the_batch_itself_has_written_counts_as_then(
    imports: ImportProcesses,
) -> None:
    """The whole batch was cut off before its row was written, and its light twin comes late."""
    async with imports.open() as store:
        await import_all(store, postings("a"))
        claim = await begin(store)
        mark = Mark(claim.run.run_id, 0)
        whole = Batch(mark=mark, source_url=SOURCE, postings=postings("a", "b"))
        counts = await store.postings.apply_batch(whole)
        await imports.lose_row(mark)
        light = Batch(mark=mark, source_url=SOURCE, postings=[], known=known("a", "b"))
        assert await store.postings.apply_batch(light) == counts == Counts(new=1, unchanged=1)
