"""The contract of WatchRuns, and how the pages of a run are counted."""

from __future__ import annotations

import asyncio
import itertools
from datetime import timedelta

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
    url,
    watch_now,
)
from webloom.domain.errors import BadCursor
from webloom.domain.listing import Count
from webloom.domain.watch import MOST_FAILURES, PageFailure, RunStatus, Tally, WatchRun
from webloom.domain.watch_run import NextRun
from webloom.ports.pages import Stored
from webloom.ports.watch_run_listing import RunFilter
from webloom.ports.watch_runs import ActiveRun

# One active run for each watch.


async def test_a_run_is_started_as_it_was_asked_for(watching: Watching) -> None:
    watch = await add_watch(watching)
    run = await started(watching, new=new_run("some run", trigger="manual"))
    assert run == WatchRun(
        run_id="some run",
        watch_id=watch.watch_id,
        status=RunStatus.IN_PROGRESS,
        trigger="manual",
        started_at=run.started_at,
        updated_at=run.started_at,
        pages_total=3,
    )
    assert await watching.runs.find_run("some run") == run
    assert await watching.runs.find_run("other run") is None
    assert (await watch_now(watching)).active_run_id == "some run"
    assert await watching.runs.start_run("unknown id", new_run()) is None


async def test_of_many_who_start_a_run_at_once_one_does(watchings: Processes[Watching]) -> None:
    async with watchings.open() as one, watchings.open() as two:
        for name in ("shop", "other"):
            await add_watch(one, name)
        for _ in range(3):
            runs = await asyncio.gather(
                *(started((one, two)[n % 2], "shop", new_run()) for n in range(20)),
                started(one, "other"),
            )
            assert len({run.run_id for run in runs[:-1]}) == 1
            assert runs[-1].run_id != runs[0].run_id
            assert (await watch_now(two)).active_run_id == runs[0].run_id
            assert len(await two.runs.active_runs(limit=10)) == 2
            for run in (runs[0], runs[-1]):
                await end(one, run)


async def test_the_same_start_again_returns_its_run_even_when_that_has_ended(
    watching: Watching,
) -> None:
    await add_watch(watching)
    new = new_run()
    run = await started(watching, new=new)
    assert await started(watching, new=new) == run
    ended = await end(watching, run)
    assert await started(watching, new=new) == ended
    assert (await watch_now(watching)).active_run_id is None
    assert (await started(watching)).run_id != run.run_id


async def test_a_watch_that_is_no_longer_due_is_not_started(watching: Watching) -> None:
    """Another scheduler, which saw the same list, was quicker and is done already."""
    await add_watch(watching, due=MAY)
    first = await started(watching, new=new_run(due=MAY))
    await end(watching, first, next_run_at=MAY + HOUR)
    assert await watching.runs.start_run("id of shop", new_run(due=MAY)) is None
    assert await watching.runs.start_run("id of shop", new_run(due=MAY + HOUR)) is not None
    await add_watch(watching, "paused")
    assert await watching.runs.start_run("id of paused", new_run(due=MAY)) is None


@pytest.mark.parametrize("what", ["ended", "missing"])
async def test_a_watch_whose_active_run_is_none_is_set_free(
    watchings: WatchProcesses, what: str
) -> None:
    async with watchings.open() as store:
        run = await begin(store)
        await end(store, run, next_run_at=MAY)
        await watchings.tie_watch("id of shop", run.run_id if what == "ended" else "nowhere")
        assert await store.watches.due_watches(MAY, limit=10) == []
        assert await store.runs.active_runs(limit=10) == []
        assert (await watch_now(store)).active_run_id is None
        assert len(await store.watches.due_watches(MAY, limit=10)) == 1


async def test_a_run_that_is_no_longer_the_active_one_leaves_its_watch_alone(
    watchings: WatchProcesses,
) -> None:
    async with watchings.open() as store:
        lost = await begin(store)
        await watchings.tie_watch("id of shop", "nowhere")
        await store.runs.active_runs(limit=10)
        run = await started(store)
        assert run.run_id != lost.run_id
        watch = await watch_now(store)
        assert (await end(store, lost, next_run_at=MAY)).status is RunStatus.FAILED
        assert await watch_now(store) == watch


async def test_why_runs_failed_is_found_for_many_at_once(watching: Watching) -> None:
    ids = {}
    for name, of_a, of_b in (
        ("shop", "no \U0001f4a1", "no answer"),
        ("partly", None, "it is too large"),
        ("good", None, None),
        ("active", "not over yet", None),
    ):
        run = await begin(watching, name, pages="ab")
        await check(watching, run, "a", of_a)
        await check(watching, run, "b", of_b)
        if name != "active":
            await end(watching, run)
        ids[name] = run.run_id
    assert await watching.runs.first_failures([*ids.values(), "unknown", "\0"]) == {
        ids["shop"]: "no \U0001f4a1",
        ids["partly"]: "it is too large",
    }
    assert await watching.runs.first_failures([]) == {}


async def test_a_run_whose_watch_is_gone_ends(watchings: WatchProcesses) -> None:
    """As when a process dies while it removes the watch."""
    async with watchings.open() as store:
        run = await begin(store)
        other = await begin(store, "other")
        await check(store, run, "a")
        await watchings.lose_watch("id of shop")
        assert [each.run.run_id for each in await store.runs.active_runs(limit=10)] == [
            other.run_id
        ]
        ended = await run_now(store, run.run_id)
        assert (ended.status, ended.tally) == (RunStatus.PARTIAL, Tally(processed=3, failed=2))
        assert not await store.runs.is_open(run.run_id, url("b"))


async def test_runs_in_progress_are_attended_the_oldest_first(
    watchings: WatchProcesses,
) -> None:
    async with watchings.open() as store:
        runs = []
        for name in ("one", "two", "three"):
            runs.append(await begin(store, name))
            await watchings.pass_time(1)
        await end(store, runs[1])
        await check(store, runs[2], "a")
        await store.runs.note_published(runs[2].run_id, MAY)
        await store.runs.note_published(runs[2].run_id, MAY + HOUR)
        await store.runs.note_published("unknown", MAY)
        await store.pages.store_event(event("a", watch_id="another program's"))
        found = await store.runs.active_runs(limit=10)
        assert found == [
            ActiveRun(run=runs[0], watch=await watch_now(store, "one"), published_at=None),
            ActiveRun(
                run=await run_now(store, runs[2].run_id),
                watch=await watch_now(store, "three"),
                published_at=MAY + HOUR,
            ),
        ]
        assert found[1].run.tally == Tally(processed=1)
        assert await store.runs.active_runs(limit=1) == found[:1]


# Each page once.


async def test_a_page_is_open_until_something_is_known_of_it(watching: Watching) -> None:
    run = await begin(watching, pages="abcd")
    other = await begin(watching, "other")
    await check(watching, run, "a")
    await check(watching, run, "b", "no answer")
    await watching.pages.store_event(event("c", run_id=run.run_id))
    await watching.pages.store_event(event("d"))
    assert await watching.runs.unchecked(run.run_id) == [url("d")]
    assert sorted(await watching.runs.unchecked(other.run_id)) == [url(p) for p in "abc"]
    assert await watching.runs.unchecked("unknown") == []
    for page in "abcd":
        assert await watching.runs.is_open(run.run_id, url(page)) is (page == "d")
        assert await watching.runs.is_open(other.run_id, url(page)) or page == "d"
    assert not await watching.runs.is_open("unknown", url("a"))
    await end(watching, run)
    assert not await watching.runs.is_open(run.run_id, url("d"))


async def test_each_page_counts_once_however_often_it_comes(
    watchings: Processes[Watching],
) -> None:
    async with watchings.open() as one, watchings.open() as two:
        run = await begin(one, pages="abcd")
        first = event("c", run_id=run.run_id)
        change = event(
            "d",
            run_id=run.run_id,
            is_change=True,
            price=price(9, 10),
            changes={"textChanged": True},
        )
        for _ in range(2):
            await asyncio.gather(
                *(
                    each
                    for store in (one, two)
                    for each in (
                        check(store, run, "a"),
                        check(store, run, "b", "no answer"),
                        store.pages.store_event(first),
                        store.pages.store_event(change),
                    )
                )
            )
        now = await run_now(two, run.run_id)
        assert now.tally == Tally(processed=4, failed=1, changes=1, price_changes=1)
        assert now.failures == [PageFailure(url=url("b"), reason="no answer")]
        assert now.status is RunStatus.IN_PROGRESS
        ended = await end(two, run)
        assert (ended.status, ended.tally) == (RunStatus.PARTIAL, now.tally)
        assert await run_now(one, run.run_id) == ended


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
async def test_of_several_outcomes_of_a_page_the_best_counts(
    watching: Watching, order: tuple[int, ...]
) -> None:
    run = await begin(watching, pages="a")
    change = event("a", run_id=run.run_id, is_change=True, price=price(9, 10))
    outcomes = (
        lambda: check(watching, run, "a", "no answer"),
        lambda: check(watching, run, "a"),
        lambda: watching.pages.store_event(change),
    )
    for index in order:
        await outcomes[index]()
    now = await run_now(watching, run.run_id)
    assert now.tally == Tally(processed=1, changes=1, price_changes=1)
    assert now.failures == []
    assert (await end(watching, run)).status is RunStatus.COMPLETED


async def test_what_comes_after_the_end_of_a_run_is_stored_and_counts_for_nothing(
    watching: Watching,
) -> None:
    run = await begin(watching)
    ended = await end(watching, run)
    stored = await watching.pages.store_event(event("a", run_id=run.run_id))
    assert stored == Stored(version=1, is_new=True)
    await check(watching, run, "c")
    assert await run_now(watching, run.run_id) == ended
    assert await watching.pages.find_page(run.watch_id, url("c")) is not None


async def test_events_that_name_no_run_count_for_one_a_day(
    watchings: Processes[Watching],
) -> None:
    async with watchings.open() as one, watchings.open() as two:
        day = MAY.replace(hour=0)
        events = [
            event("a", at=day, text="1"),
            event("a", at=day + HOUR, text="2", is_change=True),
            event("a", at=day + 2 * HOUR, text="3", is_change=True, price=price(5, 4)),
            event("b", at=day, text="1"),
            event("a", at=day + 24 * HOUR, text="4", is_change=True),
            event("a", at=day, text="1", watch_id="another"),
        ]
        for _ in range(2):
            await asyncio.gather(
                *(store.pages.store_event(each) for each in events for store in (one, two))
            )
        found, _ = await one.runs.runs(RunFilter(watch_id="id of shop"), limit=10)
        tallies = {run.run_id: run.tally for run in found}
        assert tallies == {
            events[0].counting_run: Tally(processed=4, changes=2, price_changes=1),
            events[4].counting_run: Tally(processed=1, changes=1),
        }
        for run in found:
            assert (run.status, run.trigger) == (RunStatus.COMPLETED, "events")
            assert run.pages_total is None
            is_first = run.run_id == events[0].counting_run
            start = day if is_first else day + 24 * HOUR
            ended = day + 2 * HOUR if is_first else start
            assert (run.started_at, run.finished_at) == (start, ended)
            assert await two.runs.find_run(run.run_id) == run
        assert await one.runs.active_runs(limit=10) == []


# How a run ends.


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [
        ("ok ok ok", RunStatus.COMPLETED),
        ("ok bad ok", RunStatus.PARTIAL),
        ("ok - ok", RunStatus.PARTIAL),
        ("bad - bad", RunStatus.FAILED),
        ("- - -", RunStatus.FAILED),
    ],
)
async def test_a_run_ends_as_its_pages_did(
    watchings: Processes[Watching], outcomes: str, status: RunStatus
) -> None:
    async with watchings.open() as store:
        run = await begin(store)
        for page, outcome in zip("abc", outcomes.split(), strict=True):
            if outcome != "-":
                await check(store, run, page, "it failed" if outcome == "bad" else None)
        await watchings.pass_time(2.5)
        ended = await end(store, run, next_run_at=MAY)
        assert ended.status is status
        failed = outcomes.split().count("bad") + outcomes.split().count("-")
        assert ended.tally == Tally(processed=3, failed=failed)
        wanted = [
            url(page)
            for page, outcome in zip("abc", outcomes.split(), strict=True)
            if outcome != "ok"
        ]
        assert sorted(each.url for each in ended.failures) == wanted
        assert all(each.reason for each in ended.failures)
        assert ended.duration == timedelta(seconds=2.5)
        assert await run_now(store, run.run_id) == ended
        watch = await watch_now(store)
        assert (watch.active_run_id, watch.last_run_id) == (None, run.run_id)
        assert (watch.last_status, watch.next_run_at) == (status, MAY)
        assert watch.last_run_at is not None
        assert watch.failures == (1 if status is RunStatus.FAILED else 0)


async def test_a_run_without_pages_is_completed(watching: Watching) -> None:
    run = await begin(watching, pages="")
    assert await watching.runs.unchecked(run.run_id) == []
    assert (await end(watching, run)).status is RunStatus.COMPLETED


async def test_failed_runs_in_a_row_are_counted(watching: Watching) -> None:
    await add_watch(watching, pages="a")
    for error, failures in (("no", 1), ("no", 2), (None, 0), ("no", 1)):
        run = await started(watching)
        await check(watching, run, "a", error)
        await end(watching, run)
        assert (await watch_now(watching)).failures == failures


async def test_to_end_a_run_again_changes_nothing(watchings: Processes[Watching]) -> None:
    async with watchings.open() as store:
        run = await begin(store)
        ended = await end(store, run, next_run_at=MAY)
        watch = await watch_now(store)
        await watchings.pass_time(1)
        assert await end(store, run, next_run_at=MAY + HOUR) == ended
        assert await watch_now(store) == watch
        following = await started(store)
        assert await end(store, run, next_run_at=MAY + HOUR) == ended
        assert (await watch_now(store)).active_run_id == following.run_id
        unknown = store.runs.finish_run("unknown", NextRun(None, None))
        assert await unknown is None


async def test_all_who_end_a_run_at_once_get_the_same_result(
    watchings: Processes[Watching],
) -> None:
    async with watchings.open() as one, watchings.open() as two:
        run = await begin(one, pages="a")
        ended = await asyncio.gather(*(end((one, two)[n % 2], run) for n in range(10)))
        assert [each for each in ended if each != ended[0]] == []
        assert (await watch_now(two)).failures == 1


async def test_failures_are_shown_up_to_a_number_and_all_counted(watching: Watching) -> None:
    pages = [url(f"{number}") for number in range(MOST_FAILURES + 20)]
    await watching.watches.add_watch("id of shop", config(urls=pages), next_run_at=None)
    run = await started(watching)
    for number in range(30):
        await check(watching, run, f"{number}", f"reason {number}")
    now = await run_now(watching, run.run_id)
    assert {each.reason for each in now.failures} == {f"reason {number}" for number in range(30)}
    ended = await end(watching, run)
    assert ended.tally == Tally(processed=len(pages), failed=len(pages))
    assert len(ended.failures) == MOST_FAILURES
    assert len({each.url for each in ended.failures}) == MOST_FAILURES


# Lists of runs.


async def history(watchings: Processes[Watching], store: Watching) -> list[WatchRun]:
    """Seven runs of three watches, a minute after each other, the latest first."""
    runs: list[WatchRun] = []
    for name in ("one", "two", "three"):
        await add_watch(store, name, pages="a")
    for number in range(7):
        name = ("one", "two", "three")[number % 3]
        run = await started(store, name)
        if number < 6:
            await check(store, run, "a", "no" if number % 2 else None)
            run = await end(store, run)
        runs.insert(0, run)
        await watchings.pass_time(60)
    return runs


@pytest.mark.parametrize(
    "chosen",
    [
        RunFilter(),
        RunFilter(watch_id="id of one"),
        RunFilter(watch_id="unknown id"),
        RunFilter(status=RunStatus.FAILED),
        RunFilter(status=RunStatus.IN_PROGRESS),
        RunFilter(watch_id="id of one", status=RunStatus.COMPLETED),
    ],
    ids=str,
)
async def test_runs_are_listed_from_either_end_and_counted(
    watchings: Processes[Watching], chosen: RunFilter
) -> None:
    async with watchings.open() as store:
        expected = [
            run
            for run in await history(watchings, store)
            if chosen.watch_id in (None, run.watch_id) and chosen.status in (None, run.status)
        ]
        for limit, oldest_first in itertools.product((1, 3, 100), (False, True)):
            found: list[WatchRun] = []
            cursor: str | None = None
            while True:
                page, cursor = await store.runs.runs(
                    chosen, limit=limit, cursor=cursor, oldest_first=oldest_first
                )
                assert len(page) <= limit
                found += page
                if cursor is None:
                    break
            assert found == (expected[::-1] if oldest_first else expected)
        assert await store.runs.count_chosen(chosen, most=7) == Count(len(expected))
        if len(expected) > 1 and None in (chosen.watch_id, chosen.status):
            counted = await store.runs.count_chosen(chosen, most=1)
            assert counted == Count(1, is_exact=False)


async def test_of_runs_with_one_start_the_last_added_is_the_latest(
    watchings: Processes[Watching],
) -> None:
    async with watchings.open() as store:
        for name in ("one", "two", "three"):
            await add_watch(store, name, pages="a")
        added = [await started(store, name) for name in ("one", "two", "three")]
        for oldest_first, expected in ((True, added), (False, added[::-1])):
            page, cursor = await store.runs.runs(RunFilter(), limit=2, oldest_first=oldest_first)
            rest, _ = await store.runs.runs(
                RunFilter(), limit=2, cursor=cursor, oldest_first=oldest_first
            )
            assert [*page, *rest] == expected


async def test_a_run_that_comes_while_a_list_is_read_moves_nothing(
    watchings: Processes[Watching],
) -> None:
    async with watchings.open() as store:
        runs = await history(watchings, store)
        page, cursor = await store.runs.runs(RunFilter(), limit=3)
        assert page == runs[:3]
        await begin(store, "late")
        page, _ = await store.runs.runs(RunFilter(), limit=3, cursor=cursor)
        assert page == runs[3:6]
        for bad, oldest_first in (("none", False), (cursor, True)):
            with pytest.raises(BadCursor):
                await store.runs.runs(RunFilter(), limit=3, cursor=bad, oldest_first=oldest_first)
