"""What the scheduler does for watches, look by look, over fakes of the store and the broker."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from contracts.fake_clock import FakeClock
from webloom.application.watch.run_watches import (
    ATTENDED_AT_ONCE,
    FORGOTTEN,
    LONGEST_SILENCE,
    PUBLISHED_AT_ONCE,
    REST_AFTER_LONG_LOOK,
    RunWatches,
    StartRun,
)
from webloom.domain.errors import StoreUnavailable
from webloom.domain.page import CHECK_QUEUE
from webloom.domain.schedule import Schedule
from webloom.domain.watch import RunStatus, Tally, Watch, WatchConfig, WatchRun, status_at_end
from webloom.ports.broker import Message
from webloom.ports.watch_store import Attended, NewRun


class World:
    """A WatchStore and a Broker, as far as runs go; and who is told of their ends."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.watches: dict[str, Watch] = {}
        self.runs: dict[str, WatchRun] = {}
        self.published_at: dict[str, datetime | None] = {}
        self.known: dict[str, set[str]] = {}  # URLs of a run that have an outcome
        self.messages: list[dict[str, Any]] = []
        self.room = 1_000_000
        self.told: list[str] = []
        self.asked: list[int] = []
        self.broken: set[str] = set()  # watches of which nobody can be told
        self.long_look = 0.0  # seconds that it takes to find more runs than usual
        run_watches: Any = RunWatches
        self.run_watches = run_watches(
            store=self, broker=self, clock=self.clock, after_run=self.after_run
        )

    async def look(self) -> int:
        result: int = await self.run_watches()
        return result

    async def after_run(self, watch: Watch, run: WatchRun) -> None:
        assert self.runs[run.run_id].status is RunStatus.IN_PROGRESS, "told first, then closed"
        if watch.watch_id in self.broken:
            raise StoreUnavailable(watch.watch_id)
        for _ in range(10):  # as one that takes longer than to fail
            await asyncio.sleep(0)
        self.told.append(watch.watch_id)

    def add(self, watch_id: str, *, pages: int = 2, due: bool = True) -> None:
        config = WatchConfig(
            name=watch_id,
            urls=[f"https://{watch_id}.test/{page}" for page in range(pages)],
            schedule=Schedule(every_minutes=60),
        )
        now = self.clock.now()
        self.watches[watch_id] = Watch(
            watch_id=watch_id,
            config=config,
            created_at=now,
            updated_at=now,
            next_run_at=now if due else None,
        )

    def check(self, watch_id: str, *, failed: int = 0) -> None:
        """All its pages have an outcome."""
        watch = self.watches[watch_id]
        assert watch.active_run_id is not None
        run = self.runs[watch.active_run_id]
        self.known[run.run_id] = set(watch.config.urls)
        tally = Tally(processed=len(watch.config.urls), failed=failed)
        self.runs[run.run_id] = replace(run, tally=tally)

    def only_run(self) -> WatchRun:
        [run] = self.runs.values()
        return run

    # The store.

    async def due_watches(self, now: datetime, *, limit: int) -> list[Watch]:
        due = [
            watch
            for watch in self.watches.values()
            if watch.next_run_at and watch.next_run_at <= now and not watch.active_run_id
        ]
        return due[:limit]

    async def start_run(self, watch_id: str, new: NewRun) -> WatchRun | None:
        watch = self.watches.get(watch_id)
        if watch is None:
            return None
        if watch.active_run_id:
            return self.runs[watch.active_run_id]
        now = self.clock.now()
        run = WatchRun(
            run_id=new.run_id,
            watch_id=watch_id,
            status=RunStatus.IN_PROGRESS,
            trigger=new.trigger,
            started_at=now,
            updated_at=now,
            pages_total=len(watch.config.urls),
        )
        self.runs[run.run_id] = run
        self.published_at[run.run_id] = None
        self.watches[watch_id] = replace(watch, active_run_id=run.run_id)
        return run

    async def attended(self, *, limit: int) -> list[Attended]:
        self.asked.append(limit)
        if limit > ATTENDED_AT_ONCE[0]:
            self.clock.advance(self.long_look)
        active = [run for run in self.runs.values() if run.status is RunStatus.IN_PROGRESS]
        return [
            Attended(
                run=run,
                watch=self.watches[run.watch_id],
                published_at=self.published_at[run.run_id],
            )
            for run in active[:limit]
        ]

    async def unchecked(self, run_id: str) -> list[str]:
        urls = self.watches[self.runs[run_id].watch_id].config.urls
        return [url for url in urls if url not in self.known.get(run_id, set())]

    async def note_published(self, run_id: str, at: datetime) -> None:
        self.published_at[run_id] = at

    async def finish_run(
        self, run_id: str, *, next_run_at: datetime | None, instead_of: datetime | None
    ) -> WatchRun:
        run = self.runs[run_id]
        missing = len(await self.unchecked(run_id))
        tally = replace(
            run.tally,
            processed=run.tally.processed + missing,
            failed=run.tally.failed + missing,
        )
        run = replace(run, tally=tally, status=status_at_end(tally), finished_at=self.clock.now())
        self.runs[run_id] = run
        watch = self.watches[run.watch_id]
        failures = watch.failures + 1 if run.status is RunStatus.FAILED else 0
        if watch.next_run_at != instead_of:
            next_run_at = watch.next_run_at
        self.watches[run.watch_id] = replace(
            watch, active_run_id=None, next_run_at=next_run_at, failures=failures
        )
        return run

    # The broker.

    async def publish_many(self, queue: str, messages: Sequence[Message]) -> list[str | None]:
        assert queue == CHECK_QUEUE
        fitting = messages[: max(0, self.room - len(self.messages))]
        self.messages += [msgspec.json.decode(each.body) for each in fitting]
        assert len({each.key for each in messages}) == len(messages)
        return [each.id for each in fitting] + [None] * (len(messages) - len(fitting))


@pytest.fixture
def world() -> World:
    return World()


def wait_of(world: World, watch_id: str) -> timedelta:
    due = world.watches[watch_id].next_run_at
    assert due is not None
    return due - world.clock.now()


async def test_a_watch_that_is_due_gets_a_run_and_a_check_for_each_page(world: World) -> None:
    world.add("shop")
    world.add("idle", due=False)
    assert await world.look() == 1
    run = world.only_run()
    assert (run.watch_id, run.trigger) == ("shop", "schedule")
    urls = world.watches["shop"].config.urls
    assert [(each["runId"], each["jobId"], each["url"]) for each in world.messages] == [
        (run.run_id, "shop", url) for url in urls
    ]
    await world.look()
    assert len(world.messages) == 2, "they are on the queue already"
    assert world.told == []


async def test_a_run_whose_pages_are_all_known_is_closed_and_told_of(world: World) -> None:
    world.add("shop")
    await world.look()
    world.check("shop", failed=1)
    await world.look()
    assert (world.only_run().status, world.told) == (RunStatus.PARTIAL, ["shop"])
    assert timedelta(minutes=60) <= wait_of(world, "shop") <= timedelta(minutes=66)
    assert await world.look() == 0


async def test_the_wait_doubles_while_every_page_fails(world: World) -> None:
    world.add("shop")
    for longer in (2, 4, 8):
        await world.look()
        world.check("shop", failed=2)
        await world.look()
        wait = timedelta(minutes=60 * longer)
        assert wait <= wait_of(world, "shop") <= wait + timedelta(minutes=6)
        world.clock.advance(wait_of(world, "shop").total_seconds())


async def test_a_run_that_nothing_is_heard_of_ends_and_counts_as_failed(world: World) -> None:
    world.add("shop")
    await world.look()
    world.clock.advance(LONGEST_SILENCE.total_seconds() + 1)
    await world.look()
    assert world.only_run().status is RunStatus.FAILED
    assert wait_of(world, "shop") >= timedelta(minutes=120), "as after any failed run"


async def test_checks_that_nothing_is_heard_of_are_asked_for_again(world: World) -> None:
    world.add("shop", pages=3)
    await world.look()
    run = world.only_run()
    first, *others = world.watches["shop"].config.urls
    world.known[run.run_id] = {first}
    world.clock.advance(FORGOTTEN.total_seconds() + 1)
    await world.look()
    assert Counter(each["url"] for each in world.messages) == {first: 1} | dict.fromkeys(others, 2)
    await world.look()
    assert len(world.messages) == 5


async def test_what_does_not_fit_on_the_queue_follows_later(world: World) -> None:
    pages = 3 * PUBLISHED_AT_ONCE
    world.add("shop", pages=pages)
    world.room = PUBLISHED_AT_ONCE + 7
    await world.look()
    run = world.only_run()
    assert (len(world.messages), world.published_at[run.run_id]) == (world.room, None)
    world.room = 10 * pages
    await world.look()
    assert {each["url"] for each in world.messages} == set(world.watches["shop"].config.urls)
    assert world.published_at[run.run_id] is not None


async def test_runs_that_only_wait_do_not_keep_later_ones_from_their_end(world: World) -> None:
    some, more, _ = ATTENDED_AT_ONCE
    for number in range(some + 1):
        world.add(f"shop-{number}", pages=1)
    await world.look()
    await world.look()
    assert len(world.messages) == some + 1
    world.asked.clear()
    world.check(f"shop-{some}")
    await world.look()
    assert world.told == [f"shop-{some}"]
    assert world.asked == [some, more]
    world.asked.clear()
    for number in range(some):
        world.check(f"shop-{number}")
    await world.look()
    assert len(world.told) == some + 1
    assert world.asked == [some]


async def test_what_is_due_waits_while_there_are_as_many_runs_as_are_attended(world: World) -> None:
    some = ATTENDED_AT_ONCE[0]
    for number in range(some + 5):
        world.add(f"shop-{number}", pages=1)
    assert await world.look() == some
    assert len(world.runs) == len(world.messages) == some
    for number in range(some // 2):
        world.check(f"shop-{number}")
    await world.look()
    assert (len(world.told), len(world.runs)) == (some // 2, some), "they were at work"
    await world.look()
    assert len(world.runs) == len(world.messages) == some + 5
    assert {each["jobId"] for each in world.messages} == set(world.watches)


async def test_a_long_look_is_followed_by_short_ones(world: World) -> None:
    some, more, _ = ATTENDED_AT_ONCE
    for number in range(some + 1):
        world.add(f"shop-{number}", pages=1)
    world.long_look = 2.0
    await world.look()
    await world.look()
    world.asked.clear()
    world.clock.advance(2.0 * REST_AFTER_LONG_LOOK - 0.1)
    await world.look()
    assert world.asked == [some]
    world.clock.advance(0.2)
    await world.look()
    assert world.asked == [some, some, more]


async def test_a_run_that_can_not_be_closed_does_not_keep_others_open(world: World) -> None:
    for name in ("bad", "good"):
        world.add(name)
    await world.look()
    for name in ("bad", "good"):
        world.check(name)
    world.broken = {"bad"}
    with pytest.raises(StoreUnavailable, match="bad"):
        await world.look()
    assert world.told == ["good"]
    world.broken = set()
    await world.look()
    assert world.told == ["good", "bad"]


async def test_a_watch_that_is_resumed_while_its_run_ends_is_scheduled(world: World) -> None:
    world.add("shop")
    await world.look()
    world.check("shop")
    read_before = world.watches["shop"]
    world.watches["shop"] = replace(
        read_before, config=replace(read_before.config, enabled=False), next_run_at=None
    )

    due = world.clock.now() + timedelta(hours=1)

    async def resume(watch: Watch, run: WatchRun) -> None:
        paused = world.watches["shop"]
        world.watches["shop"] = replace(paused, config=read_before.config, next_run_at=due)

    run_watches: Any = RunWatches
    await run_watches(store=world, broker=world, clock=world.clock, after_run=resume)()
    assert world.watches["shop"].active_run_id is None
    assert world.watches["shop"].next_run_at == due


async def test_pages_that_are_not_the_runs_do_not_end_it(world: World) -> None:
    world.add("shop")
    await world.look()
    run = world.only_run()
    world.runs[run.run_id] = replace(run, tally=Tally(processed=2))  # of events of other pages
    await world.look()
    assert world.told == []
    world.check("shop")
    await world.look()
    assert world.told == ["shop"]


async def test_a_run_on_demand_is_started_once(world: World) -> None:
    world.add("shop", due=False)
    make: Any = StartRun
    start = make(store=world)
    first = await start("shop", "manual")
    again = await start("shop", "manual")
    assert (first.is_new, again.is_new, again.run) == (True, False, first.run)
    assert await start("nobody", "manual") is None
    await world.look()
    assert len(world.messages) == 2
