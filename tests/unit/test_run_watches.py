"""What the scheduler does for watches, look by look, over the embedded backend."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from fakes.clock import FakeClock
from unit.deliveries import LEASE
from webloom.adapters.cron import next_match
from webloom.adapters.sqlite.broker import SqliteBroker
from webloom.adapters.sqlite.database import Database
from webloom.adapters.sqlite.pages import SqlitePages
from webloom.adapters.sqlite.watch_runs import SqliteWatchRuns
from webloom.adapters.sqlite.watches import SqliteWatches
from webloom.application.watch import run_watches
from webloom.application.watch.run_watches import (
    FORGOTTEN,
    IDLE_POLL_SECONDS,
    LONG_POLL_PAUSE,
    LONGEST_IDLE,
    LONGEST_SILENCE,
    RunWatches,
    StartRun,
)
from webloom.domain.errors import StoreUnavailable, WatchRefused
from webloom.domain.page import CHECK_QUEUE
from webloom.domain.page_check import Checked
from webloom.domain.retention import Retention
from webloom.domain.schedule import Schedule
from webloom.domain.storage_event import StorageEvent
from webloom.domain.watch import Outcome, RunStatus, Watch, WatchConfig, WatchRun
from webloom.ports.watch_run_listing import RunFilter
from webloom.ports.watch_runs import ActiveRun

# Smaller than usual, so that few watches are many.
SOME, MORE = 30, 200
PUBLISHED_AT_ONCE = 20


@pytest.fixture(autouse=True)
def small_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_watches, "RUNS_PER_POLL", (SOME, MORE, 1000))
    monkeypatch.setattr(run_watches, "PUBLISHED_AT_ONCE", PUBLISHED_AT_ONCE)


class Runs(SqliteWatchRuns):
    """Notes how many runs it is asked for; it may be slow to find more than usual."""

    def __init__(self, database: Database, clock: FakeClock) -> None:
        super().__init__(database, retention=Retention())
        self.requested: list[int] = []
        self.long_look = 0.0  # seconds
        self._clock = clock

    async def active_runs(self, *, limit: int) -> list[ActiveRun]:
        self.requested.append(limit)
        if limit > SOME:
            self._clock.advance(self.long_look)
        return await super().active_runs(limit=limit)


class World:
    """Watches, their runs, the queue, and the listeners that hear when a run ends."""

    def __init__(self, database: Database, clock: FakeClock, *, room: int = 1000) -> None:
        self.clock = clock
        self.watches = SqliteWatches(database, retention=Retention())
        self.store = Runs(database, clock)
        self.pages = SqlitePages(database, retention=Retention(), budget=1 << 40)
        self.broker = SqliteBroker(database, limits={CHECK_QUEUE: room}, lease=LEASE)
        self.messages: list[dict[str, Any]] = []  # that workers have taken
        self.notified: list[str] = []
        self.restoring = False
        self.broken: set[str] = set()  # watches whose notifications fail
        self.run_watches = RunWatches(
            watches=self.watches,
            runs=self.store,
            broker=self.broker,
            clock=clock,
            cron=next_match,
            after_run=self.after_run,
            is_restoring=self.is_restoring,
        )

    async def poll(self) -> int:
        """Workers take what is on the queue then."""
        attended = await self.run_watches()
        ready = (await self.broker.depth(CHECK_QUEUE)).ready
        async with self.broker.deliveries(CHECK_QUEUE, 1) as deliveries:
            for _ in range(ready):
                delivery = await anext(deliveries)
                self.messages.append(msgspec.json.decode(delivery.body))
                await delivery.ack()
        return attended

    async def is_restoring(self) -> bool:
        return self.restoring

    async def after_run(self, watch: Watch, run: WatchRun) -> None:
        known = await self.store.find_run(run.run_id)
        assert known is not None
        assert known.status is RunStatus.IN_PROGRESS, "notifications first, then the end"
        if watch.watch_id in self.broken:
            raise StoreUnavailable(watch.watch_id)
        for _ in range(10):  # as one that takes longer than to fail
            await asyncio.sleep(0)
        self.notified.append(watch.watch_id)

    async def add(self, *watch_ids: str, pages: int = 2, due: bool = True) -> None:
        next_run_at = self.clock.now() if due else None
        for watch_id in watch_ids:
            config = WatchConfig(
                name=watch_id,
                urls=[f"https://{watch_id}.test/{page}" for page in range(pages)],
                schedule=Schedule(every_minutes=60),
            )
            await self.watches.add_watch(watch_id, config, next_run_at=next_run_at)

    async def watch(self, watch_id: str = "shop") -> Watch:
        watch = await self.watches.find_watch(watch_id)
        assert watch is not None
        return watch

    async def check(self, *watch_ids: str, failed: int = 0) -> None:
        """All their pages have an outcome; some of each have failed."""
        for watch_id in watch_ids:
            watch = await self.watch(watch_id)
            assert watch.active_run_id is not None
            for number, url in enumerate(watch.config.urls):
                await self.note(watch, watch.active_run_id, url, is_failed=number < failed)

    async def note(self, watch: Watch, run_id: str, url: str, *, is_failed: bool = False) -> None:
        await self.pages.note_checked(
            Checked(
                watch_id=watch.watch_id,
                url=url,
                run_id=run_id,
                at=self.clock.now(),
                outcome=Outcome.FAILED if is_failed else Outcome.UNCHANGED,
                error="no" if is_failed else None,
            )
        )

    async def runs(self) -> list[WatchRun]:
        runs, cursor = await self.store.runs(RunFilter(), limit=1000)
        assert cursor is None
        return runs

    async def only_run(self) -> WatchRun:
        [run] = await self.runs()
        return run

    async def wait_of(self, watch_id: str) -> timedelta:
        due = (await self.watch(watch_id)).next_run_at
        assert due is not None
        return due - self.clock.now()


@pytest.fixture
def world(database: Database, clock: FakeClock) -> World:
    return World(database, clock)


def shops(number: int) -> list[str]:
    return [f"shop-{each:03d}" for each in range(number)]


async def test_a_watch_that_is_due_gets_a_run_and_a_check_for_each_page(world: World) -> None:
    await world.add("shop")
    await world.add("idle", due=False)
    assert await world.poll() == 1
    run = await world.only_run()
    assert (run.watch_id, run.trigger) == ("shop", "schedule")
    urls = (await world.watch()).config.urls
    assert [(each["runId"], each["jobId"], each["url"]) for each in world.messages] == [
        (run.run_id, "shop", url) for url in urls
    ]
    await world.poll()
    assert len(world.messages) == 2, "they are on the queue already"
    assert world.notified == []


async def test_no_watch_is_due_while_a_backup_is_restored(world: World) -> None:
    await world.add("shop")
    world.restoring = True
    assert await world.poll() == 0
    assert await world.runs() == []
    world.restoring = False
    assert await world.poll() == 1


async def test_a_run_with_all_outcomes_ends_and_its_notifications_are_created(world: World) -> None:
    await world.add("shop")
    await world.poll()
    await world.check("shop", failed=1)
    await world.poll()
    assert ((await world.only_run()).status, world.notified) == (RunStatus.PARTIAL, ["shop"])
    assert timedelta(minutes=60) <= await world.wait_of("shop") <= timedelta(minutes=66)
    assert await world.poll() == 0


async def test_the_wait_doubles_while_every_page_fails(world: World) -> None:
    await world.add("shop")
    for longer in (2, 4, 8):
        await world.poll()
        await world.check("shop", failed=2)
        await world.poll()
        wait = timedelta(minutes=60 * longer)
        assert wait <= await world.wait_of("shop") <= wait + timedelta(minutes=6)
        world.clock.advance((await world.wait_of("shop")).total_seconds())


async def test_a_silent_run_ends_as_failed(world: World) -> None:
    await world.add("shop")
    await world.poll()
    world.clock.advance(LONGEST_SILENCE.total_seconds() + 1)
    await world.poll()
    assert (await world.only_run()).status is RunStatus.FAILED
    assert await world.wait_of("shop") >= timedelta(minutes=120), "as after any failed run"


async def test_missing_checks_are_published_again(world: World) -> None:
    await world.add("shop", pages=3)
    await world.poll()
    run, watch = await world.only_run(), await world.watch()
    first, *others = watch.config.urls
    await world.note(watch, run.run_id, first)
    world.clock.advance(FORGOTTEN.total_seconds() + 1)
    await world.poll()
    assert Counter(each["url"] for each in world.messages) == {first: 1} | dict.fromkeys(others, 2)
    await world.poll()
    assert len(world.messages) == 5


async def test_what_does_not_fit_on_the_queue_follows_later(
    database: Database, clock: FakeClock
) -> None:
    room = PUBLISHED_AT_ONCE + 7
    world = World(database, clock, room=room)
    await world.add("shop", pages=3 * PUBLISHED_AT_ONCE)
    watch = await world.watch()
    handled = 0
    for most in (room, 2 * room):
        await world.poll()
        assert len(world.messages) == most
        [attended] = await world.store.active_runs(limit=10)
        assert attended.published_at is None
        for each in world.messages[handled:]:
            await world.note(watch, attended.run.run_id, each["url"])
        handled = most
    await world.poll()
    assert Counter(each["url"] for each in world.messages) == Counter(watch.config.urls)
    [attended] = await world.store.active_runs(limit=10)
    assert attended.published_at == world.clock.now()


async def test_runs_that_only_wait_do_not_keep_later_ones_from_their_end(world: World) -> None:
    await world.add(*shops(SOME + 1), pages=1)
    await world.poll()
    await world.poll()
    *waiting, last = [each["jobId"] for each in world.messages]
    assert len(waiting) == SOME
    world.store.requested.clear()
    await world.check(last)
    await world.poll()
    assert world.notified == [last]
    assert world.store.requested == [SOME, MORE]
    world.store.requested.clear()
    await world.check(*waiting)
    await world.poll()
    assert len(world.notified) == SOME + 1
    assert world.store.requested == [SOME]


async def test_what_is_due_waits_while_there_are_as_many_runs_as_are_attended(world: World) -> None:
    everything = shops(SOME + 5)
    await world.add(*everything, pages=1)
    assert await world.poll() == SOME
    assert len(await world.runs()) == len(world.messages) == SOME
    started = [each["jobId"] for each in world.messages]
    await world.check(*started[: SOME // 2])
    await world.poll()
    assert (len(world.notified), len(await world.runs())) == (SOME // 2, SOME), "they were at work"
    await world.poll()
    assert len(await world.runs()) == len(world.messages) == SOME + 5
    assert {each["jobId"] for each in world.messages} == set(everything)


async def test_a_long_look_is_followed_by_short_ones(world: World) -> None:
    await world.add(*shops(SOME + 1), pages=1)
    world.store.long_look = 2.0
    await world.poll()
    await world.poll()
    world.store.requested.clear()
    world.clock.advance(2.0 * LONG_POLL_PAUSE - 0.1)
    await world.poll()
    assert world.store.requested == [SOME]
    world.clock.advance(0.2)
    await world.poll()
    assert world.store.requested == [SOME, SOME, MORE]


async def test_a_run_that_can_not_be_closed_does_not_keep_others_open(world: World) -> None:
    await world.add("bad", "good")
    await world.poll()
    await world.check("bad", "good")
    world.broken = {"bad"}
    with pytest.raises(StoreUnavailable, match="bad"):
        await world.poll()
    assert world.notified == ["good"]
    world.broken = set()
    await world.poll()
    assert world.notified == ["good", "bad"]


async def test_a_watch_that_is_resumed_while_its_run_ends_is_scheduled(world: World) -> None:
    await world.add("shop")
    await world.poll()
    await world.check("shop")
    config = (await world.watch()).config
    await world.watches.edit_watch("shop", replace(config, enabled=False), next_run_at=None)
    due = world.clock.now() + timedelta(hours=1)

    async def resume(watch: Watch, run: WatchRun) -> None:
        await world.watches.edit_watch("shop", config, next_run_at=due)

    await replace(world.run_watches, after_run=resume)()
    watch = await world.watch()
    assert (watch.active_run_id, watch.next_run_at) == (None, due)


async def test_pages_that_are_not_the_runs_do_not_end_it(world: World) -> None:
    await world.add("shop")
    await world.poll()
    run, watch = await world.only_run(), await world.watch()
    for page in ("other", "another"):
        await world.note(watch, run.run_id, f"https://shop.test/{page}")
    assert (await world.only_run()).tally.processed == run.pages_total
    await world.poll()
    assert world.notified == []
    await world.check("shop")
    await world.poll()
    assert world.notified == ["shop"]


async def test_a_run_that_events_opened_is_closed_when_it_is_idle_for_an_hour(
    world: World,
) -> None:
    event = StorageEvent(
        watch_id="theirs", url="https://theirs.test/", snapshot_hash="a", ts=0, run_id="their run"
    )
    await world.pages.store_event(event)
    world.clock.advance(LONGEST_IDLE.total_seconds() - 1)
    await world.poll()
    assert (await world.only_run()).status is RunStatus.IN_PROGRESS
    world.clock.advance(IDLE_POLL_SECONDS)
    assert await world.poll() == 0
    assert (await world.only_run()).status is RunStatus.COMPLETED
    assert (await world.watch("theirs")).last_status is RunStatus.COMPLETED
    assert world.messages == []


async def test_idle_runs_that_one_poll_did_not_close_are_closed_by_the_next(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_watches, "CLOSED_AT_ONCE", 2)
    for number in range(3):
        event = StorageEvent(
            watch_id="theirs",
            url="https://theirs.test/",
            snapshot_hash="a",
            ts=0,
            run_id=f"{number}",
        )
        await world.pages.store_event(event)
    world.clock.advance(LONGEST_IDLE.total_seconds() + 1)
    for left in (1, 0):
        await world.poll()
        runs, _ = await world.store.runs(RunFilter(status=RunStatus.IN_PROGRESS), limit=9)
        assert len(runs) == left


async def test_a_watch_that_others_check_is_not_run_on_demand(world: World) -> None:
    event = StorageEvent(watch_id="theirs", url="https://theirs.test/", snapshot_hash="a", ts=0)
    await world.pages.store_event(event)
    with pytest.raises(WatchRefused, match="theirs: another program"):
        await StartRun(watches=world.watches, runs=world.store)("theirs", "manual")


async def test_a_run_on_demand_is_started_once(world: World) -> None:
    await world.add("shop", due=False)
    start = StartRun(watches=world.watches, runs=world.store)
    first = await start("shop", "manual")
    again = await start("shop", "manual")
    assert first is not None
    assert again is not None
    assert (first.is_new, again.is_new, again.run) == (True, False, first.run)
    assert await start("unknown", "manual") is None
    await world.poll()
    assert len(world.messages) == 2
