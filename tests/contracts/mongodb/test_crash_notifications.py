"""Two schedulers create notifications of the same changes at once, on a MongoDB server, and die.

The lease keeps them apart, until one of them is held up for longer. What one call does to many
documents the server does one by one, and others see it half done: so do they here, and after each
step another may have its turn.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from contracts.watch_samples import config, event, url
from fakes.clock import FakeClock
from fakes.notifier import FakeNotifier
from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.notifications import MongoNotifications
from webloom.adapters.mongodb.pages import mongodb_pages
from webloom.adapters.mongodb.watches import MongoWatches
from webloom.application.watch.send_notifications import SendNotifications
from webloom.domain.retention import Retention
from webloom.domain.watch import RunStatus, Target
from webloom.ports.notifier import NotificationMessage
from webloom.ports.page_stores import PageStores

JOB = "id of shop"
DRAWS = 12
FAR = datetime(2100, 1, 1, tzinfo=UTC)


class Scheduler:
    """In a process that does one step whenever it is let."""

    def __init__(self, room: Room) -> None:
        self._turn = asyncio.Semaphore(0)
        self._rests = asyncio.Event()
        stores = room.pages()
        alerts: Any = stores.alerts
        alerts._logs = Stepping(room.database.change_logs, self._step)
        send = SendNotifications(
            watches=Stepping(room.watches, self._step),
            notifications=Stepping(room.notifications, self._step),
            alerts=alerts,
            history=stores.history,
            notifier=Sink(),
            clock=room.clock,
        )
        self._work = asyncio.ensure_future(self._run(send))

    async def _run(self, send: SendNotifications) -> None:
        try:
            await send.after_late_events()
        finally:
            self._rests.set()

    async def _step(self) -> None:
        self._rests.set()
        await self._turn.acquire()

    async def step(self) -> bool:
        """Whether there may be another."""
        await self._rests.wait()
        if self._work.done():
            return False
        self._rests.clear()
        self._turn.release()
        await self._rests.wait()
        return not self._work.done()

    async def end(self) -> None:
        while await self.step():
            pass
        await self._work

    async def die(self) -> None:
        self._work.cancel()
        with suppress(asyncio.CancelledError):
            await self._work


class Stepping:
    """A collection, or a store, before each of whose steps its process waits for its turn."""

    def __init__(self, real: Any, step: Callable[[], Any]) -> None:
        self._real = real
        self._step = step

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._real, name)

        async def call(*values: Any, **options: Any) -> Any:
            await self._step()
            return await verb(*values, **options)

        return call

    async def update_many(self, chosen: dict[str, Any], update: Any) -> Any:
        """One document after the other, those that come meanwhile included."""
        done: list[str] = []
        await self._step()
        while found := await self._real.find_one({"$and": [chosen, {"_id": {"$nin": done}}]}):
            done.append(found["_id"])
            await self._real.update_one({"$and": [chosen, {"_id": found["_id"]}]}, update)
            await self._step()
        return SimpleNamespace(matched_count=len(done), modified_count=len(done))


class Sink(FakeNotifier):
    async def send(self, target: Target, message: NotificationMessage) -> None:
        raise AssertionError("nothing is sent here")


class Room:
    def __init__(self, database: MongoDatabase, clock: FakeClock) -> None:
        self.database = database
        self.clock = clock
        self.watches = MongoWatches(database, retention=Retention())
        self.notifications = MongoNotifications(database, retention=Retention())
        self._store = self.pages()

    def pages(self) -> PageStores:
        return mongodb_pages(self.database, retention=Retention(), budget=1 << 40)

    async def change(self, page: str, number: int = 1) -> None:
        made = event(page, claimed=number + 1, is_change=True, changes={"textChanged": True})
        late = replace(
            made,
            alerts=[str(number)],
            run_id=f"unknown {number}",
            closes_run=RunStatus.COMPLETED,
        )
        await self._store.pages.store_event(late)

    async def reported(self) -> list[str]:
        """By what is in the outbox when a last scheduler has looked."""
        send = SendNotifications(
            watches=self.watches,
            notifications=self.notifications,
            alerts=self._store.alerts,
            history=self._store.history,
            notifier=Sink(),
            clock=self.clock,
        )
        await send.after_late_events()
        assert await self._store.alerts.pending(limit=9) == []
        due = await self.notifications.due(FAR, limit=1000)
        await self.notifications.note_sent([each.notification_id for each in due], self.clock.now())
        return sorted(line for each in due for line in each.lines)


@pytest.fixture
async def room(mongodb: MongoDatabase, clock: FakeClock) -> Room:
    made = Room(mongodb, clock)
    targets = [Target(url="https://hook.example/")]
    await made.watches.add_watch(JOB, config(targets=targets), next_run_at=None)
    return made


@pytest.mark.parametrize("steps", range(2, 10))
async def test_a_change_that_joins_another_schedulers_batch_is_reported_though_that_one_dies(
    room: Room, steps: int
) -> None:
    """One is collecting, and has a first change. The other reports its batch, and meanwhile the
    first takes a change that has just come, and dies."""
    await room.change("a")
    one = Scheduler(room)
    for _ in range(3):  # it looks, finds the watch, and takes the change
        await one.step()
    other = Scheduler(room)
    for _ in range(steps):
        await other.step()
    await room.change("b")
    await one.step()
    await one.die()
    await other.end()
    assert set(await room.reported()) == {f"{url(page)}: 1" for page in "ab"}


async def test_two_schedulers_that_die_at_any_step_leave_no_change_unreported(room: Room) -> None:
    once = 0
    for draw in range(DRAWS):
        chance = random.Random(draw)
        await room.change("a", draw)
        await room.change("b", draw)
        late = ["c", "d"]
        schedulers = [Scheduler(room), Scheduler(room)]
        while schedulers:
            scheduler = chance.choice(schedulers)
            if not await scheduler.step():
                schedulers.remove(scheduler)
            elif chance.random() < 0.02:
                await scheduler.die()
                schedulers.remove(scheduler)
            if late and chance.random() < 0.2:
                await room.change(late.pop(), draw)
        for page in late:
            await room.change(page, draw)
        reported = await room.reported()
        lines = [f"{url(page)}: {draw}" for page in "abcd"]
        assert sorted(set(reported)) == lines, f"draw {draw}"
        once += reported == lines
    assert once > DRAWS / 2


async def test_a_batch_is_found_by_an_index(
    room: Room,
) -> None:
    await room.change("a")
    logs = room.database.change_logs
    await logs.database.command("profile", 2)
    try:
        await room.reported()
    finally:
        await logs.database.command("profile", 0)
    updates = logs.database["system.profile"].find({"op": "update", "ns": logs.full_name})
    plans = [each["planSummary"] for each in await updates.to_list()]
    await logs.database.drop_collection("system.profile")
    assert len(plans) == 3, "it joins a batch, is in it, is reported"
    assert all(plan.startswith("IXSCAN") for plan in plans), plans
