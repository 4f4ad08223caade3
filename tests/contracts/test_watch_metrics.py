"""The stores' contract: what watches have counted, and runs and watches that events make."""

from __future__ import annotations

import asyncio
import random

import pytest

from contracts.adapters import Processes, Watching, WatchProcesses
from contracts.watch_samples import (
    HOUR,
    MAY,
    add_watch,
    begin,
    check,
    config,
    end,
    event,
    new_run,
    price,
    run_now,
    started,
    watch_now,
)
from webloom.domain.storage_event import StorageEvent
from webloom.domain.watch import Metrics, RunStatus, Tally
from webloom.ports.watch_run_listing import RunFilter

# Watches that Webloom checks


async def test_metrics_add_up_the_runs_that_have_ended(watching: Watching) -> None:
    run = await begin(watching)
    await check(watching, run, "a")
    await check(watching, run, "b", "it is away")
    changed = event("c", is_change=True, price=price(5, 4), run_id=run.run_id)
    await watching.pages.store_event(changed)
    assert (await watch_now(watching)).metrics == Metrics()
    await end(watching, run)
    first = Metrics(pages_processed=3, changes=1, price_changes=1)
    assert (await watch_now(watching)).metrics == first
    again = await started(watching)
    await check(watching, again, "a")
    await end(watching, again)  # pages without an outcome have failed, and count
    assert (await watch_now(watching)).metrics == Metrics(
        pages_processed=6, changes=1, price_changes=1
    )


async def test_a_run_that_is_ended_by_many_is_added_once(watchings: Processes[Watching]) -> None:
    async with watchings.open() as one, watchings.open() as two:
        run = await begin(one)
        await check(one, run, "a")
        await asyncio.gather(*(end((one, two)[n % 2], run) for n in range(10)))
        assert (await watch_now(two)).metrics == Metrics(pages_processed=3)
        await one.pages.store_event(event("b", run_id=run.run_id, is_change=True))
        assert (await watch_now(two)).metrics == Metrics(pages_processed=3)


async def test_an_edit_leaves_the_metrics(watching: Watching) -> None:
    await end(watching, await begin(watching))
    edited = await watching.watches.edit_watch("id of shop", config(pages="a"), next_run_at=None)
    assert edited is not None
    assert edited.metrics == Metrics(pages_processed=3)


# Other programs' jobs


async def test_the_first_event_of_a_job_makes_an_external_watch(watching: Watching) -> None:
    await watching.pages.store_event(event("a", is_change=True, price=price(5, 4)))
    watch = await watch_now(watching)
    assert watch.is_external
    assert (watch.config.name, watch.config.urls, watch.config.enabled) == ("id of shop", [], False)
    assert (watch.next_run_at, watch.active_run_id, watch.failures) == (None, None, 0)
    assert watch.metrics == Metrics(pages_processed=1, changes=1, price_changes=1)
    assert (watch.last_run_id, watch.last_status) == ("id of shop:2026-05-01", RunStatus.COMPLETED)
    assert watch.last_run_at == MAY
    found, _ = await watching.watches.watches(limit=10)
    assert found == [watch]


async def test_an_external_watch_is_never_started(watching: Watching) -> None:
    await watching.pages.store_event(event("a"))
    assert await watching.watches.due_watches(MAY + 1000 * HOUR, limit=10) == []
    assert await watching.runs.start_run("id of shop", new_run()) is None
    assert await watching.runs.active_runs(limit=10) == []
    counts = await watching.watches.count_watches()
    assert (counts.all, counts.enabled, counts.checking, counts.failing) == (1, 0, 0, 0)


async def test_events_of_a_watch_of_ours_leave_its_schedule_and_count(watching: Watching) -> None:
    before = await add_watch(watching, due=MAY)
    await watching.pages.store_event(event("a"))
    after = await watch_now(watching)
    assert not after.is_external
    assert after.metrics == Metrics(pages_processed=1)
    assert (after.config, after.next_run_at) == (before.config, MAY)
    assert (after.last_run_id, after.last_run_at) == (None, None)


async def test_each_event_counts_once_no_matter_who_stores_it_and_when(
    watchings: Processes[Watching],
) -> None:
    async with watchings.open() as one, watchings.open() as two:
        events = [
            event("a", at=MAY + 24 * HOUR * day, text=str(part), is_change=part == 0)
            for day in range(9)
            for part in range(3)
        ]
        events += [event(page, run_id="their run", is_change=True) for page in "abcd"]
        expected = Metrics(pages_processed=31, changes=13)
        order = random.Random(5)
        for _ in range(3):
            order.shuffle(events)
            await asyncio.gather(
                *(
                    (one, two)[number % 2].pages.store_event(each)
                    for number, each in enumerate(events)
                )
            )
            assert (await watch_now(one)).metrics == expected
        await two.pages.store_event(event("z", at=MAY, text="new"))
        watch = await watch_now(one)
        assert watch.metrics == Metrics(pages_processed=32, changes=13)
        assert watch.last_run_at == MAY + 24 * HOUR * 8


async def test_a_removed_job_comes_back_with_what_is_kept_of_its_runs(watching: Watching) -> None:
    for page in "abc":
        await watching.pages.store_event(event(page))
    await watching.pages.store_event(event("a", at=MAY - 48 * HOUR))
    assert await watching.watches.remove_watch("id of shop")
    assert await watching.watches.find_watch("id of shop") is None
    await watching.pages.store_event(event("d"))
    watch = await watch_now(watching)
    assert (watch.is_external, watch.metrics) == (True, Metrics(pages_processed=5))


async def test_a_removed_watch_does_not_come_back_by_what_its_run_left(
    watching: Watching,
) -> None:
    run = await begin(watching)
    late = event("a", run_id=run.run_id, is_change=True)
    await watching.watches.remove_watch("id of shop")
    await watching.pages.store_event(late)
    assert await watching.watches.find_watch("id of shop") is None


# Runs that events open


async def test_an_event_opens_a_run_that_is_not_known(watching: Watching) -> None:
    await watching.pages.store_event(event("a", run_id="their run", is_change=True))
    await watching.pages.store_event(event("b", run_id="their run", at=MAY + HOUR))
    await watching.pages.store_event(event("b", run_id="their run", at=MAY - HOUR, text="more"))
    run = await run_now(watching, "their run")
    assert (run.status, run.trigger) == (RunStatus.IN_PROGRESS, "events")
    assert (run.started_at, run.finished_at) == (MAY - HOUR, None)
    assert (run.watch_id, run.pages_total) == ("id of shop", None)
    assert run.tally == Tally(processed=2, changes=1)
    watch = await watch_now(watching)
    assert (watch.last_run_id, watch.last_status) == ("their run", RunStatus.IN_PROGRESS)
    assert watch.metrics == Metrics(pages_processed=2, changes=1)
    in_progress = RunFilter(status=RunStatus.IN_PROGRESS)
    assert (await watching.runs.runs(in_progress, limit=10))[0] == [run]


@pytest.mark.parametrize("status", [RunStatus.COMPLETED, RunStatus.PARTIAL, RunStatus.FAILED])
async def test_an_event_closes_its_run(watching: Watching, status: RunStatus) -> None:
    await watching.pages.store_event(event("a", run_id="their run"))
    last = event("b", run_id="their run", at=MAY + HOUR, closes_run=status)
    for _ in range(2):
        await watching.pages.store_event(last)
        run = await run_now(watching, "their run")
        assert (run.status, run.finished_at) == (status, MAY + HOUR)
        assert run.tally == Tally(processed=2)
    watch = await watch_now(watching)
    assert (watch.last_status, watch.last_run_at) == (status, MAY + HOUR)


async def test_an_event_that_comes_after_the_closing_one_counts(watching: Watching) -> None:
    closing = event("b", run_id="their run", closes_run=RunStatus.COMPLETED)
    await watching.pages.store_event(closing)
    await watching.pages.store_event(event("a", run_id="their run", at=MAY + HOUR))
    run = await run_now(watching, "their run")
    assert (run.status, run.finished_at) == (RunStatus.COMPLETED, MAY + HOUR)
    assert run.tally == Tally(processed=2)
    assert (await watch_now(watching)).metrics == Metrics(pages_processed=2)


async def test_an_event_that_names_the_run_of_another_job_counts_for_its_day(
    watching: Watching,
) -> None:
    await watching.pages.store_event(event("a", run_id="their run"))
    other = event("b", watch_id="other", run_id="their run", closes_run=RunStatus.FAILED)
    await watching.pages.store_event(other)
    run = await run_now(watching, "their run")
    assert (run.status, run.tally) == (RunStatus.IN_PROGRESS, Tally(processed=1))
    watch = await watching.watches.find_watch("other")
    assert watch is not None
    assert (watch.metrics, watch.last_run_id) == (Metrics(pages_processed=1), "other:2026-05-01")


async def test_a_run_of_ours_is_not_closed_by_an_event(watching: Watching) -> None:
    run = await begin(watching)
    closing = event("a", run_id=run.run_id, closes_run=RunStatus.COMPLETED)
    await watching.pages.store_event(closing)
    assert (await run_now(watching, run.run_id)).status is RunStatus.IN_PROGRESS
    assert [each.run.run_id for each in await watching.runs.active_runs(limit=10)] == [run.run_id]


async def test_a_run_of_events_is_closed_when_it_is_idle(watchings: WatchProcesses) -> None:
    async with watchings.open() as store:
        ours = await begin(store)
        old = [event(page, watch_id="job", run_id="old run") for page in "ab"]
        for each in old:
            await store.pages.store_event(each)
        await watchings.pass_time(10)
        await store.pages.store_event(event("a", watch_id="job", run_id="new run"))
        heard = (await run_now(store, "new run")).updated_at
        assert await store.runs.close_idle_runs(heard - HOUR, limit=9) == 0
        idle_since = heard - (heard - (await run_now(store, "old run")).updated_at) / 2
        assert await store.runs.close_idle_runs(idle_since, limit=9) == 1
        assert await store.runs.close_idle_runs(idle_since, limit=9) == 0
        run = await run_now(store, "old run")
        assert (run.status, run.finished_at) == (RunStatus.COMPLETED, MAY)
        assert (await run_now(store, "new run")).status is RunStatus.IN_PROGRESS
        assert (await run_now(store, ours.run_id)).status is RunStatus.IN_PROGRESS


async def test_no_more_idle_runs_are_closed_than_asked_for(watching: Watching) -> None:
    for number in range(3):
        await watching.pages.store_event(event("a", run_id=f"run of theirs {number}"))
    heard = (await run_now(watching, "run of theirs 2")).updated_at
    assert [await watching.runs.close_idle_runs(heard, limit=2) for _ in range(3)] == [2, 1, 0]


async def test_the_watch_follows_when_its_last_run_is_closed(watching: Watching) -> None:
    await watching.pages.store_event(event("a", run_id="their run"))
    heard = (await run_now(watching, "their run")).updated_at
    assert await watching.runs.close_idle_runs(heard, limit=9) == 1
    watch = await watch_now(watching)
    assert (watch.last_status, watch.last_run_at) == (RunStatus.COMPLETED, MAY)
    assert watch.metrics == Metrics(pages_processed=1)


def _of_one_run(pages: str) -> list[StorageEvent]:
    return [event(each, run_id="their run") for each in pages]


async def test_a_run_is_opened_once_by_many_at_once(watchings: Processes[Watching]) -> None:
    async with watchings.open() as one, watchings.open() as two:
        await asyncio.gather(
            *(
                store.pages.store_event(each)
                for each in _of_one_run("abcdefgh")
                for store in (one, two)
            )
        )
        assert (await run_now(one, "their run")).tally == Tally(processed=8)
        assert (await watch_now(two)).metrics == Metrics(pages_processed=8)
