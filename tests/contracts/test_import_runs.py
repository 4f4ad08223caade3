"""The ImportStore's contract: runs, how they end, and how they are counted and listed."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from contracts.adapters import ImportProcesses
from contracts.import_samples import (
    LEASE,
    SOURCE,
    add_feed,
    all_read,
    apply,
    begin,
    claimed,
    end,
    failure,
    feed_now,
    new_run,
    postings,
    reading,
    run_now,
    source,
    started,
)
from contracts.search_examples import ACCENTED, EXAMPLES, OF_ACCENTED, TEXT, results
from webloom.domain.import_run import (
    MOST_FAILURES,
    MOST_REASONS,
    OTHER_REASONS,
    Counts,
    ImportRun,
    Mark,
    Phase,
    RunStatus,
)
from webloom.domain.import_transitions import Ending
from webloom.ports.import_runs import RunFilter
from webloom.ports.imports import Imports


def is_balanced(run: ImportRun) -> bool:
    return run.reading.fetched == run.counts.total


# One active run for each feed.


async def test_a_run_is_started_as_it_was_asked_for(import_store: Imports) -> None:
    feed = await add_feed(import_store)
    new = new_run("some run", trigger="retry", batch_size=7, concurrency=5, retry_of="another")
    run = await started(import_store, new=new)
    assert run == ImportRun(
        run_id="some run",
        feed_id=feed.feed_id,
        source_url=feed.config.url,
        source_name=feed.config.name,
        status=RunStatus.RUNNING,
        trigger="retry",
        started_at=run.started_at,
        updated_at=run.updated_at,
        batch_size=7,
        concurrency=5,
        reading=reading(Phase.WAITING),
        counts=Counts(),
        retry_of="another",
    )
    assert await import_store.listed_runs.find("some run") == run
    assert await import_store.listed_runs.find("other run") is None


async def test_of_many_who_start_a_run_at_once_one_does(imports: ImportProcesses) -> None:
    async with imports.open() as one, imports.open() as two:
        for name in ("feed", "other"):
            await add_feed(one, name)
        for _ in range(3):
            runs = await asyncio.gather(
                *(started((one, two)[n % 2], "feed", new_run()) for n in range(20)),
                started(one, "other"),
            )
            assert len({run.run_id for run in runs[:-1]}) == 1
            assert runs[-1].run_id != runs[0].run_id
            assert (await feed_now(two)).active_run_id == runs[0].run_id
            for run in (runs[0], runs[-1]):
                await end(one, await claimed(one, run_id=run.run_id), all_read(0, 0))


async def test_the_same_start_again_returns_its_run_even_when_that_has_ended(
    import_store: Imports,
) -> None:
    await add_feed(import_store)
    new = new_run(owner="producer", lease=LEASE)
    run = await started(import_store, new=new)
    assert await started(import_store, new=new) == run
    ended = await end(import_store, await claimed(import_store), all_read(0, 0))
    assert await started(import_store, new=new) == ended
    assert (await feed_now(import_store)).active_run_id is None
    assert (await started(import_store)).run_id != run.run_id


async def test_a_run_can_be_taken_as_it_is_started(imports: ImportProcesses) -> None:
    async with imports.open() as one, imports.open() as two:
        await add_feed(one)
        new = new_run(owner="producer", lease=LEASE)
        run = await started(one, new=new)
        assert await two.runs.claim("other", lease=LEASE) is None
        claim = await claimed(one, run_id=run.run_id)
        assert (claim.run, claim.feed) == (run, await feed_now(one))
        await imports.pass_time(LEASE + 1)
        assert (await claimed(two, "other")).token > claim.token


@pytest.mark.parametrize("what", ["ended", "missing"])
async def test_a_feed_whose_active_run_is_none_is_set_right(
    imports: ImportProcesses, what: str
) -> None:
    async with imports.open() as store:
        claim = await begin(store)
        await end(store, claim, all_read(0, 0), next_run_at=claim.run.started_at)
        run_id = claim.run.run_id if what == "ended" else "a run that is not there"
        await imports.tie_feed(claim.feed.feed_id, run_id)
        await store.runs.claim("producer", lease=LEASE)
        assert (await feed_now(store)).active_run_id is None
        assert len(await store.feeds.due(claim.run.started_at, limit=1)) == 1
        assert (await started(store)).status is RunStatus.RUNNING


# What the producer notes.


async def test_what_the_producer_notes_is_shown_with_the_ledger(import_store: Imports) -> None:
    claim = await begin(import_store)
    await apply(
        import_store, claim, 1, postings("a", "b"), duplicates=1, failures=[failure("no id")]
    )
    noted = reading(
        fetched=9,
        duplicates=2,
        failed=1,
        failures=[failure("no title", "<item>ä</item>", 4)],
        failure_reasons={"no title": 1},
        repairs={"bare ampersand": 3, "a.b $c": 1},
        published=2,
        bytes_read=1000,
        bytes_total=1 << 40,
        format="rss",
        content_hash="ab",
    )
    run = await import_store.runs.note_reading(claim, noted)
    assert run is not None
    assert run.reading == noted
    assert run.counts == Counts(new=2, duplicate=3, failed=2)
    assert (run.processed_batches, run.total_batches) == (1, None)
    assert run.failures == [*noted.failures, failure("no id")]
    assert run.failure_reasons == {"no title": 1, "no id": 1}
    assert run.status is RunStatus.RUNNING
    assert await run_now(import_store, claim.run.run_id) == run
    run = await import_store.runs.note_reading(claim, replace(noted, all_published=True))
    assert run is not None
    assert run.total_batches == 2


async def test_updated_at_moves_when_a_reader_can_see_a_difference(
    imports: ImportProcesses,
) -> None:
    async with imports.open() as store:
        claim = await begin(store)
        moments = [claim.run.updated_at]

        async def note(**changes: int) -> bool:
            """Whether it moved."""
            await imports.pass_time(1)
            run = await store.runs.note_reading(claim, reading(Phase.READING, **changes))
            assert run is not None
            assert await run_now(store, claim.run.run_id) == run
            moments.append(run.updated_at)
            return moments[-1] > moments[-2]

        assert await note(fetched=3)
        assert not await note(fetched=3)
        await apply(store, claim, 0, postings("a"))
        assert await note(fetched=3)
        assert not await note(fetched=3)
        assert await note(fetched=3, bytes_read=5)
        await store.postings.fail_batch(Mark(claim.run.run_id, 1), [failure()], failed=1)
        assert await note(fetched=3, bytes_read=5)


async def test_a_run_can_be_asked_to_end(imports: ImportProcesses) -> None:
    async with imports.open() as store:
        assert await store.runs.cancel("unknown") is None
        claim = await begin(store)
        await imports.pass_time(1)
        run = await store.runs.cancel(claim.run.run_id)
        assert run is not None
        assert (run.status, run.cancel_requested) == (RunStatus.RUNNING, True)
        assert run.updated_at > claim.run.updated_at
        noted = await store.runs.note_reading(claim, reading(fetched=1))
        assert noted is not None
        assert noted.cancel_requested
        ended = await end(store, claim, all_read(1, 0), error="cancelled")
        assert (ended.status, ended.cancel_requested) == (RunStatus.FAILED, True)
        await imports.pass_time(1)
        assert await store.runs.cancel(claim.run.run_id) == ended


async def test_a_run_that_has_ended_is_not_asked_to(import_store: Imports) -> None:
    claim = await begin(import_store)
    ended = await end(import_store, claim, all_read(0, 0))
    assert await import_store.runs.cancel(claim.run.run_id) == ended


# How a run ends.


async def test_an_empty_run_is_completed(imports: ImportProcesses) -> None:
    async with imports.open() as store:
        claim = await begin(store)
        await imports.pass_time(2.5)
        run = await end(store, claim, all_read(0, 0, content_hash="cd", format="atom"))
        assert (run.status, run.reading.phase) == (RunStatus.COMPLETED, Phase.FINISHED)
        assert (run.counts, run.total_batches, run.error) == (Counts(), 0, None)
        assert run.finished_at is not None
        assert run.duration_ms == 2500
        assert run.reading.content_hash == "cd"
        assert await run_now(store, claim.run.run_id) == run


async def test_a_run_that_lost_nothing_is_completed(import_store: Imports) -> None:
    claim = await begin(import_store)
    await apply(import_store, claim, 0, postings("a", "b"), duplicates=1)
    await apply(import_store, claim, 1, postings("b", "c"))
    run = await end(import_store, claim, all_read(6, 2, duplicates=1))
    assert run.status is RunStatus.COMPLETED
    assert run.counts == Counts(new=3, duplicate=3)
    assert (run.processed_batches, run.failures, run.failure_reasons) == (2, [], {})
    assert is_balanced(run)


async def test_batches_that_were_never_stored_count_as_failed(import_store: Imports) -> None:
    claim = await begin(import_store)
    await apply(import_store, claim, 0, postings("a", "b"))
    run = await end(import_store, claim, all_read(7, 3))
    assert run.counts == Counts(new=2, failed=5)
    assert run.status is RunStatus.PARTIAL
    assert run.processed_batches == 1
    assert sum(run.failure_reasons.values()) == 5
    assert is_balanced(run)
    assert await run_now(import_store, claim.run.run_id) == run


async def test_a_run_of_which_nothing_was_stored_has_failed(import_store: Imports) -> None:
    claim = await begin(import_store)
    run = await end(import_store, claim, all_read(3, 1))
    assert (run.status, run.counts) == (RunStatus.FAILED, Counts(failed=3))
    assert is_balanced(run)
    [reason] = run.failure_reasons
    assert run.error == f"no record could be used: {reason}"
    assert (await feed_now(import_store)).last_error == run.error


@pytest.mark.parametrize(
    ("names", "status"), [("", RunStatus.FAILED), ("ab", RunStatus.PARTIAL)], ids=["none", "some"]
)
async def test_a_run_that_ends_with_an_error_says_so(
    import_store: Imports, names: str, status: RunStatus
) -> None:
    claim = await begin(import_store)
    if names:
        await apply(import_store, claim, 0, postings(*names))
    run = await end(import_store, claim, reading(fetched=6, published=2), error="it broke off")
    assert (run.status, run.error) == (status, "it broke off")
    assert run.counts.failed == 6 - len(names)
    assert is_balanced(run)


async def test_a_batch_that_failed_counts_as_its_records(import_store: Imports) -> None:
    claim = await begin(import_store)
    await apply(import_store, claim, 0, postings("a"))
    for _ in range(2):
        await import_store.postings.fail_batch(
            Mark(claim.run.run_id, 1), [failure("unreadable")], failed=3
        )
    await import_store.postings.fail_batch(
        Mark(claim.run.run_id, 0), [failure("unreadable")], failed=1
    )
    assert await import_store.postings.missing_batches(claim.run.run_id, published=3) == [2]
    run = await end(import_store, claim, all_read(4, 2))
    assert run.counts == Counts(new=1, failed=3)
    assert "unreadable" in run.failure_reasons
    assert [each.reason for each in run.failures] == ["unreadable"]
    assert run.status is RunStatus.PARTIAL
    assert is_balanced(run)
    await import_store.postings.fail_batch(Mark(claim.run.run_id, 2), [failure()], failed=3)
    assert await run_now(import_store, claim.run.run_id) == run


async def test_to_end_a_run_again_changes_nothing(imports: ImportProcesses) -> None:
    async with imports.open() as store:
        claim = await begin(store)
        await apply(store, claim, 0, postings("a"))
        run = await end(store, claim, all_read(1, 1))
        feed = await feed_now(store)
        await imports.pass_time(1)
        ending = Ending(error="another", next_run_at=run.started_at)
        assert await store.runs.finish(claim, all_read(9, 1), ending) == run
        assert await store.runs.note_reading(claim, reading(fetched=4)) in (None, run)
        assert await run_now(store, run.run_id) == run
        assert await feed_now(store) == feed
        next_run = await started(store)
        assert await store.runs.finish(claim, all_read(9, 1), ending) == run
        assert (await feed_now(store)).active_run_id == next_run.run_id


async def test_failures_are_shown_up_to_a_number_and_all_counted(
    import_store: Imports,
) -> None:
    claim = await begin(import_store)
    for index in range(4):
        failures = [failure(f"reason {n % 5}", f"{index} {n}", n) for n in range(40)]
        await apply(import_store, claim, index, [], failures=failures)
    read = all_read(
        170,
        4,
        failed=10,
        failures=[failure("reason 0", f"item {n}") for n in range(10)],
        failure_reasons={"reason 0": 10},
    )
    run = await end(import_store, claim, read)
    assert run.counts == Counts(failed=170)
    assert len(run.failures) == MOST_FAILURES
    assert run.failures[:10] == read.failures
    assert len({each.sample for each in run.failures}) == MOST_FAILURES
    assert run.failure_reasons == {f"reason {n}": 32 + 10 * (n == 0) for n in range(5)}


async def test_reasons_beyond_a_number_are_counted_together(import_store: Imports) -> None:
    claim = await begin(import_store)
    for index in range(3):
        failures = [failure(f"reason {index} {n}") for n in range(30)]
        await apply(import_store, claim, index, [], failures=failures)
    run = await end(import_store, claim, all_read(90, 3))
    assert len(run.failure_reasons) <= MOST_REASONS + 1
    assert sum(run.failure_reasons.values()) == 90


async def test_the_most_frequent_reasons_are_named(import_store: Imports) -> None:
    claim = await begin(import_store)
    for index in range(3):
        failures = [failure(f"reason {index} {n}") for n in range(30)]
        await apply(import_store, claim, index, [], failures=failures)
    often = 4 * [failure("often")]
    await apply(import_store, claim, 3, [], failures=often)
    run = await end(import_store, claim, all_read(94, 4))
    assert run.failure_reasons["often"] == 4
    assert run.failure_reasons[OTHER_REASONS] == 94 - 4 - (MOST_REASONS - 1)


# Lists of runs.


async def history(imports: ImportProcesses, store: Imports) -> list[ImportRun]:
    """Seven runs, a minute after each other, the latest first."""
    runs: list[ImportRun] = []
    for n in range(7):
        name = ("feed", "Über", "100%_b")[n % 3]
        if await store.feeds.at_url(source(name)) is None:
            await add_feed(store, name)
        run = await started(store, name)
        if n < 6:
            claim = await claimed(store, run_id=run.run_id)
            run = await end(store, claim, all_read(0, 0), error="no" if n % 2 else None)
        runs.insert(0, run)
        await imports.pass_time(60)
    return runs


async def test_the_beginnings_of_words_find_a_run(import_store: Imports) -> None:
    for name, url in ((TEXT, "http://a/"), ("by URL", f"http://b/{TEXT}"), (ACCENTED, "http://c/")):
        await add_feed(import_store, name, url=url)
        await started(import_store, name)

    async def found(query: str) -> set[str]:
        page = await import_store.listed_runs.page(RunFilter(text=query), offset=0, limit=10)
        assert page.total == len(page.runs)
        return {run.source_name for run in page.runs}

    async def is_found(query: str) -> bool:
        if names := await found(query):
            assert {TEXT, "by URL"} <= names
        return bool(names)

    async def is_accent_found(query: str) -> bool:
        return await found(query) == {ACCENTED}

    assert await results(EXAMPLES, is_found) == EXAMPLES
    assert await results(OF_ACCENTED, is_accent_found) == OF_ACCENTED


async def test_runs_are_listed_the_latest_first(imports: ImportProcesses) -> None:
    async with imports.open() as store:
        runs = await history(imports, store)
        page = await store.listed_runs.page(RunFilter(), offset=0, limit=50)
        assert (page.runs, page.total) == (runs, 7)
        page = await store.listed_runs.page(RunFilter(), offset=2, limit=3)
        assert (page.runs, page.total) == (runs[2:5], 7)
        page = await store.listed_runs.page(RunFilter(), offset=7, limit=3)
        assert (page.runs, page.total) == ([], 7)
        page = await store.listed_runs.page(RunFilter(), offset=2, limit=3, oldest_first=True)
        assert (page.runs, page.total) == (runs[::-1][2:5], 7)


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8])
async def test_a_scan_returns_each_run_once_whatever_starts_meanwhile(
    imports: ImportProcesses, limit: int
) -> None:
    """Runs that started together can't be told apart by their time."""
    async with imports.open() as store:
        runs = await history(imports, store)
        for name in ("a", "b", "c", "d"):
            await add_feed(store, name)
            runs.insert(0, await started(store, name))
        seen: list[ImportRun] = []
        some, place = await store.listed_runs.scan(RunFilter(), None, limit=limit)
        await imports.pass_time(60)
        await add_feed(store, "late")
        await started(store, "late")
        seen += some
        while place is not None:
            some, place = await store.listed_runs.scan(RunFilter(), place, limit=limit)
            seen += some
        assert [run.started_at for run in seen] == [run.started_at for run in runs]
        assert sorted(run.run_id for run in seen) == sorted(run.run_id for run in runs)


async def test_runs_are_found_by_every_filter(imports: ImportProcesses) -> None:
    async with imports.open() as store:
        runs = await history(imports, store)

        async def scanned(*, oldest_first: bool, **chosen: object) -> list[ImportRun]:
            wanted = RunFilter(**chosen)  # type: ignore[arg-type]
            found, place = await store.listed_runs.scan(
                wanted, None, limit=2, oldest_first=oldest_first
            )
            while place is not None:
                some, place = await store.listed_runs.scan(
                    wanted, place, limit=2, oldest_first=oldest_first
                )
                found += some
            return found

        async def found(**chosen: object) -> list[ImportRun]:
            page = await store.listed_runs.page(RunFilter(**chosen), offset=0, limit=50)  # type: ignore[arg-type]
            assert page.total == len(page.runs)
            turned = await store.listed_runs.page(
                RunFilter(**chosen),  # type: ignore[arg-type]
                offset=0,
                limit=50,
                oldest_first=True,
            )
            assert turned.runs == page.runs[::-1]
            for listed, oldest_first in ((page, False), (turned, True)):
                assert await scanned(oldest_first=oldest_first, **chosen) == listed.runs
            return page.runs

        def those(names: str) -> list[ImportRun]:
            return [run for run in runs if run.source_name in names.split()]

        for status in RunStatus:
            assert await found(status=status) == [run for run in runs if run.status is status]
        assert await found(source_url=SOURCE) == those("feed")
        assert await found(source_url="http://unknown.example/") == []
        for text, names in (
            ("feed", "feed Über 100%_b"),  # in every URL
            ("FEED.XML", "feed Über 100%_b"),
            ("jobs.ex", "feed"),
            ("über", "Über"),
            ("100%_B", "100%_b"),
            ("f.ed", ""),
            ("xml über", "Über"),
            ("%", ""),
            ("(", ""),
            ("\\", ""),
            ("\0", ""),
        ):
            assert await found(text=text) == those(names), text
        since, until = runs[4].started_at, runs[2].started_at
        assert await found(since=since) == runs[:5]
        assert await found(until=until) == runs[2:]
        assert await found(since=since, until=until) == runs[2:5]
        both = await found(since=since, status=RunStatus.COMPLETED, text="feed")
        assert both == [run for run in runs[:5] if run.status is RunStatus.COMPLETED]


async def test_runs_that_changed_are_listed_with_the_oldest_change_first(
    imports: ImportProcesses,
) -> None:
    async with imports.open() as store:
        for name in ("a", "b", "c"):
            await add_feed(store, name)
        one, two, three = [await started(store, name) for name in ("a", "b", "c")]
        await imports.pass_time(1)
        claim = await claimed(store, run_id=two.run_id)
        await store.runs.note_reading(claim, reading(fetched=1))
        await imports.pass_time(1)
        await end(store, await claimed(store, run_id=one.run_id), all_read(0, 0))

        async def changed(since: datetime | None, limit: int = 10) -> list[str]:
            return [run.run_id for run in await store.listed_runs.changed(since, limit=limit)]

        assert set(await changed(None)) == {two.run_id, three.run_id}
        last = (await run_now(store, one.run_id)).updated_at
        middle = (await run_now(store, two.run_id)).updated_at
        first = (await run_now(store, three.run_id)).updated_at
        assert await changed(first) == [three.run_id, two.run_id, one.run_id]
        assert await changed(first, limit=2) == [three.run_id, two.run_id]
        assert await changed(middle) == [two.run_id, one.run_id]
        assert await changed(last) == [one.run_id]


async def test_a_run_that_a_person_ended_is_no_failure_of_its_feed(
    import_store: Imports,
) -> None:
    claim = await begin(import_store)
    await end(import_store, claim, reading(), error="no answer")
    assert (await feed_now(import_store)).failures == 1
    claim = await begin(import_store)
    await import_store.runs.cancel(claim.run.run_id)
    run = await end(import_store, claim, reading(), error="cancelled")
    assert run.status is RunStatus.FAILED
    assert (await feed_now(import_store)).failures == 1
    await end(import_store, await begin(import_store), reading())
    assert (await feed_now(import_store)).failures == 0


async def test_a_feed_that_is_no_longer_due_is_not_started(import_store: Imports) -> None:
    """Another scheduler, which saw the same list, was quicker and is done already."""
    now = datetime(2026, 5, 1, 12, tzinfo=UTC)
    await add_feed(import_store, due=now)
    first = await started(import_store, new=new_run(due=now))
    claim = await claimed(import_store, run_id=first.run_id)
    await end(import_store, claim, reading(), next_run_at=now + timedelta(hours=1))
    assert await import_store.runs.start("id of feed", new_run(due=now)) is None
    later = now + timedelta(hours=2)
    assert await import_store.runs.start("id of feed", new_run(due=later)) is not None


@pytest.mark.parametrize("error", [None, "cancelled"])
async def test_the_identity_holds_though_the_producer_died_before_it_reported_what_it_read(
    import_store: Imports, error: str | None
) -> None:
    claim = await begin(import_store)
    await apply(import_store, claim, 0, postings("a", "b", "c"))
    run = await end(import_store, claim, reading(), error=error)
    assert (run.counts, run.reading.fetched) == (Counts(new=3), 3)
