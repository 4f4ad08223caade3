"""Watches, their changes and a notifier, for tests of notifications."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

from fakes.clock import FakeClock
from fakes.notifier import FakeNotifier
from webloom.adapters.sqlite.change_alerts import SqliteChangeAlerts
from webloom.adapters.sqlite.database import Database
from webloom.adapters.sqlite.notifications import SqliteNotifications
from webloom.adapters.sqlite.pages import sqlite_pages
from webloom.adapters.sqlite.watch_runs import SqliteWatchRuns
from webloom.adapters.sqlite.watches import SqliteWatches
from webloom.application.watch.send_notifications import (
    SendNotifications,
)
from webloom.domain.errors import StoreUnavailable
from webloom.domain.notification import (
    Notification,
)
from webloom.domain.retention import Retention
from webloom.domain.schedule import Schedule
from webloom.domain.storage_event import StorageEvent
from webloom.domain.watch import Target, WatchConfig
from webloom.domain.watch_run import NewRun, NextRun

HOOK = Target(url="https://hook.test/token", secret="s3cret")
NTFY = Target(url="ntfy://topic")
MAIL = Target(url="mailto://me:password@mail.test", digest_minutes=60.0)


def a_config(*targets: Target) -> WatchConfig:
    return WatchConfig(
        name="My shop",
        urls=["https://shop.test/"],
        schedule=Schedule(every_minutes=5.0),
        targets=list(targets),
    )


def a_change(number: int, *alerts: str, run_id: str | None = "r1", **more: Any) -> StorageEvent:
    """On its way to the store, as version 2 of a page."""
    made = StorageEvent(
        watch_id="w",
        url=f"https://shop.test/{number}",
        snapshot_hash="changed",
        ts=1000 + number,
        claimed=2,
        changes={"textChanged": True},
        is_change=True,
        run_id=run_id,
        alerts=list(alerts),
    )
    return replace(made, **more)


class Alerts(SqliteChangeAlerts):
    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.dies_at_note = False
        self.odd: str | None = None  # a job that it has a fault with

    async def assign_batch(self, watch_id: str, run_id: str | None, batch: str) -> list[str]:
        if watch_id == self.odd:
            raise OverflowError("date value out of range")
        return await super().assign_batch(watch_id, run_id, batch)

    async def note_notified(self, batch: str) -> None:
        if self.dies_at_note:
            raise StoreUnavailable("gone")
        await super().note_notified(batch)


class Outbox(SqliteNotifications):
    def __init__(self, database: Database) -> None:
        super().__init__(database, retention=Retention())
        self.dies_at_note = False

    async def note_sent(self, notification_ids: Any, at: datetime) -> None:
        if self.dies_at_note:
            raise StoreUnavailable("gone")
        await super().note_sent(notification_ids, at)


class World:
    def __init__(self, database: Database, clock: FakeClock) -> None:
        self.clock = clock
        self.watches = SqliteWatches(database, retention=Retention())
        self.runs = SqliteWatchRuns(database, retention=Retention())
        self.outbox = Outbox(database)
        self.stores = sqlite_pages(database, retention=Retention(), budget=1 << 40)
        self.alerts = Alerts(database)
        self.use(FakeNotifier())

    def use(self, notifier: FakeNotifier) -> None:
        self.notifier = notifier
        self.send = SendNotifications(
            watches=self.watches,
            notifications=self.outbox,
            alerts=self.alerts,
            history=self.stores.history,
            notifier=notifier,
            clock=self.clock,
        )

    async def add(self, *targets: Target, watch_id: str = "w") -> None:
        """The watch; or, where it is there already, its targets."""
        config = a_config(*targets)
        _, is_new = await self.watches.add_watch(watch_id, config, next_run_at=None)
        if not is_new:
            await self.watches.edit_watch(watch_id, config, next_run_at=None)

    async def start(self, run_id: str) -> None:
        run = await self.runs.start_run("w", NewRun(run_id=run_id, trigger="schedule"))
        assert run is not None
        assert run.run_id == run_id

    async def store(self, *changes: StorageEvent) -> None:
        await asyncio.gather(*map(self.stores.pages.store_event, changes))

    async def run(self, run_id: str, *changes: StorageEvent) -> None:
        """To its end; or once more, where it was there already."""
        await self.start(run_id)
        await self.store(*changes)
        watch, run = await self.watches.find_watch("w"), await self.runs.find_run(run_id)
        assert watch is not None
        assert run is not None
        await self.send.after_run(watch, run)
        await self.runs.finish_run(run_id, NextRun(None, None))

    async def notifications(self) -> list[Notification]:
        found, cursor = await self.outbox.of_watch("w", limit=1000)
        assert cursor is None
        return found

    @property
    def ids(self) -> list[str]:
        return [message.message_id for _, message in self.notifier.sent]


MakeWorld = Callable[..., Awaitable[World]]
