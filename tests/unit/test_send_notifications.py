"""Who is told what, and when again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from fakes.clock import NOON, FakeClock
from fakes.notifier import FakeNotifier
from webloom.adapters.sqlite.change_alerts import SqliteChangeAlerts
from webloom.adapters.sqlite.database import Database
from webloom.adapters.sqlite.notifications import SqliteNotifications
from webloom.adapters.sqlite.pages import sqlite_pages
from webloom.adapters.sqlite.watch_runs import SqliteWatchRuns
from webloom.adapters.sqlite.watches import SqliteWatches
from webloom.application.watch import send_notifications
from webloom.application.watch.send_notifications import (
    SendNotifications,
    due_at,
    line_of,
    notifications_of,
)
from webloom.domain.errors import NotSent, ResourcesExhausted, StoreUnavailable
from webloom.domain.notification import (
    MOST_ATTEMPTS,
    Notification,
    next_attempt,
)
from webloom.domain.retention import Retention
from webloom.domain.schedule import Schedule
from webloom.domain.storage_event import EventPrice, StorageEvent
from webloom.domain.watch import RunStatus, Target, Watch, WatchConfig
from webloom.domain.watch_run import NewRun, NextRun
from webloom.ports.notifier import NotificationMessage
from webloom.ports.page_history import ChangeLog

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
        job_id="w",
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


def a_price(amount: str, *, percent: str) -> EventPrice:
    return EventPrice(current=Decimal(amount), change_percent=Decimal(percent), currency="EUR")


def a_log(number: int, *alerts: str) -> ChangeLog:
    return ChangeLog(
        job_id="w",
        url=f"https://shop.test/{number}",
        changes={},
        previous=1,
        current=2,
        timestamp=1000 + number,
        run_id="r1",
        alerts=list(alerts),
    )


class Alerts(SqliteChangeAlerts):
    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.dies_at_note = False
        self.odd: str | None = None  # a job that it has a fault with

    async def assign_batch(self, job_id: str, run_id: str | None, batch: str) -> list[str]:
        if job_id == self.odd:
            raise OverflowError("date value out of range")
        return await super().assign_batch(job_id, run_id, batch)

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


class BuggyNotifier(FakeNotifier):
    """Raises what it must not, when it is first to send to HOOK."""

    def __init__(self) -> None:
        super().__init__()
        self._is_first = True

    async def send(self, target: Target, message: NotificationMessage) -> None:
        if target == HOOK and self._is_first:
            self._is_first = False
            raise KeyError(f"bug with {target.url}")
        await super().send(target, message)


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


@pytest.fixture
def world_of(database: Database, clock: FakeClock) -> MakeWorld:
    async def made(*targets: Target) -> World:
        world = World(database, clock)
        await world.add(*targets)
        return world

    return made


async def test_all_alerts_of_a_run_are_one_message_for_each_target(world_of: MakeWorld) -> None:
    world = await world_of(HOOK, NTFY)
    await world.run(
        "r1",
        a_change(1, "the price fell", "it is in stock now"),
        a_change(2),
        a_change(3, "the page changed"),
    )
    assert await world.send.send_due() == 2
    assert sorted(url for url, _ in world.notifier.sent) == [HOOK.url, NTFY.url]
    message = world.notifier.sent[0][1]
    assert message.title == "My shop: 2 changes"
    assert message.lines == [
        "https://shop.test/3: the page changed",
        "https://shop.test/1: the price fell; it is in stock now",
    ], "the latest first"
    assert await world.send.send_due() == 0


async def test_programs_are_told_the_same_with_prices(world_of: MakeWorld) -> None:
    world = await world_of(HOOK)
    price = a_price("79.99", percent="-5.00")
    await world.run("r1", a_change(1, "the price fell", price=price), a_change(2, "it changed"))
    await world.send.send_due()
    [(_, message)] = world.notifier.sent
    assert message.payload["watchId"] == "w"
    assert message.payload["watchName"] == "My shop"
    assert message.payload["runId"] == "r1"
    assert message.payload["changes"] == [
        {
            "url": "https://shop.test/2",
            "version": {"previous": 1, "current": 2},
            "timestamp": 1002,
            "alerts": ["it changed"],
            "price": None,
        },
        {
            "url": "https://shop.test/1",
            "version": {"previous": 1, "current": 2},
            "timestamp": 1001,
            "alerts": ["the price fell"],
            "price": {
                "current": Decimal("79.99"),
                "currency": "EUR",
                "changePercent": Decimal("-5.00"),
            },
        },
    ]


async def test_each_change_of_a_digest_has_its_own_price(world_of: MakeWorld) -> None:
    world = await world_of(replace(HOOK, digest_minutes=60.0))
    for version, amount in ((2, "80"), (3, "60")):
        run_id, price = f"r{version}", a_price(amount, percent="-20")
        told = f"the price fell to {amount}"
        await world.run(
            run_id, a_change(1, told, run_id=run_id, ts=version, claimed=version, price=price)
        )
    await world.store(a_change(1, ts=4, claimed=4, price=a_price("70", percent="20")))
    world.clock.advance(3600)
    await world.send.send_due()
    [(_, message)] = world.notifier.sent
    prices = [change["price"]["current"] for change in message.payload["changes"]]
    assert prices == [Decimal(80), Decimal(60)]


async def test_nothing_is_told_where_nothing_has_an_alert(world_of: MakeWorld) -> None:
    world = await world_of(HOOK)
    await world.run("r1", a_change(1))
    assert await world.notifications() == []


async def test_the_end_of_a_run_may_be_repeated(world_of: MakeWorld) -> None:
    world = await world_of(HOOK, HOOK)  # nor does a target that is named twice get it twice
    await world.run("r1", a_change(1, "x"))
    await world.send.send_due()
    await world.run("r1")
    assert await world.send.send_due() == 0
    assert len(world.notifier.sent) == 1


async def test_what_is_stored_after_its_run_is_told_too_and_once(world_of: MakeWorld) -> None:
    world = await world_of(HOOK, NTFY)
    await world.run("r1", a_change(1, "first"))
    await world.start("r2")
    await world.store(a_change(2, "late"), a_change(3, "not yet", run_id="r2"), a_change(4))
    await world.send.after_late_events()
    await world.send.after_late_events()
    await world.send.send_due()
    assert sorted(line for _, message in world.notifier.sent for line in message.lines) == sorted(
        ["https://shop.test/1: first", "https://shop.test/2: late"] * 2
    )
    told = [message.payload["changes"] for _, message in world.notifier.sent]
    assert sorted(change["url"] for changes in told for change in changes) == sorted(
        ["https://shop.test/1", "https://shop.test/2"] * 2
    )
    assert {message.payload["runId"] for _, message in world.notifier.sent} == {"r1"}


async def test_however_many_are_late_all_are_told(
    world_of: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(send_notifications, "_SOURCES_AT_ONCE", 10)
    world = await world_of(HOOK)
    over = RunStatus.COMPLETED
    await world.store(
        *(a_change(number, "x", run_id=f"r{number}", closes_run=over) for number in range(25))
    )
    await world.send.after_late_events()
    assert len(await world.notifications()) == 25


async def test_what_names_no_run_is_told_with_the_run_of_its_day(world_of: MakeWorld) -> None:
    world = await world_of(HOOK)
    await world.store(a_change(1, "x", run_id=None))
    await world.send.after_late_events()
    await world.send.send_due()
    [(_, message)] = world.notifier.sent
    assert message.payload["runId"] == "w:1970-01-01"


async def test_killed_before_it_is_noted_everything_is_told_once(world_of: MakeWorld) -> None:
    """More may have come meanwhile."""
    world = await world_of(HOOK)
    world.alerts.dies_at_note = True
    with pytest.raises(StoreUnavailable):
        await world.run("r1", a_change(1, "first"))
    await world.send.send_due()
    world.alerts.dies_at_note = False
    await world.run("r1", a_change(2, "second"))
    await world.send.send_due()
    await world.store(a_change(3, "third"))
    await world.send.after_late_events()
    await world.send.send_due()
    assert [message.lines for _, message in world.notifier.sent] == [
        ["https://shop.test/1: first"],
        ["https://shop.test/2: second"],
        ["https://shop.test/3: third"],
    ]


@pytest.mark.parametrize("missing", ["watch", "target"])
async def test_what_nobody_wants_to_know_is_not_kept_for_later(
    world_of: MakeWorld, missing: str
) -> None:
    world = await world_of()
    if missing == "watch":
        assert await world.watches.remove_watch("w")
    await world.store(a_change(1, "x"))
    await world.send.after_late_events()
    await world.add(HOOK)
    await world.send.after_late_events()
    assert await world.notifications() == []
    assert await world.alerts.pending(limit=1) == []


async def test_a_watch_that_nobody_foresaw_does_not_keep_others_from_being_told(
    world_of: MakeWorld,
) -> None:
    world = await world_of(HOOK)
    await world.add(HOOK, watch_id="odd")
    await world.store(a_change(1, "x", job_id="odd", run_id=None), a_change(2, "y", run_id=None))
    world.alerts.odd = "odd"
    await world.send.after_late_events()
    await world.send.send_due()
    assert [message.lines for _, message in world.notifier.sent] == [["https://shop.test/2: y"]]


async def test_a_message_is_bounded_and_says_how_much_more_there_is(
    world_of: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(send_notifications, "MOST_LINES", 50)
    monkeypatch.setattr(send_notifications, "_LOGS_AT_ONCE", 20)
    world = await world_of(HOOK)
    await world.run("r1", *(a_change(number, "x") for number in range(75)))
    await world.send.send_due()
    [(_, message)] = world.notifier.sent
    assert len(message.lines) == 51
    assert message.lines[-1] == "and 25 more"
    assert message.title == "My shop: 75 changes"
    assert len(message.payload["changes"]) == 50


async def test_a_digest_of_bounded_messages_counts_all_changes(
    world_of: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(send_notifications, "MOST_LINES", 3)
    world = await world_of(MAIL)
    await world.run("r1", *(a_change(number, "x") for number in range(5)))
    await world.run("r2", *(a_change(number, "y", run_id="r2") for number in range(5, 11)))
    world.clock.advance(3600)
    await world.send.send_due()
    [(_, message)] = world.notifier.sent
    assert [line.rpartition(": ")[2] for line in message.lines] == ["x", "x", "x", "and 8 more"]
    assert message.title == "My shop: 11 changes"


def test_a_line_is_one_line_whatever_an_event_says() -> None:
    line = line_of(a_log(1, "a\r\nSubject: b\x1b[2J\u202e\u2028", "x" * 1000))
    assert line.startswith("https://shop.test/1: a  Subject: b [2J  ; xxx")
    assert len(line) == 501


def test_digests_end_at_whole_multiples() -> None:
    hour = Target(url="x://", digest_minutes=60.0)
    at = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
    assert due_at(hour, at) == at + timedelta(hours=1)
    assert due_at(hour, at + timedelta(minutes=59, seconds=59)) == at + timedelta(hours=1)
    assert due_at(HOOK, at) == at


async def test_several_runs_share_a_digest(world_of: MakeWorld) -> None:
    world = await world_of(MAIL)
    await world.run("r1", a_change(2, "first", run_id="r1"))
    world.clock.advance(600)
    await world.run("r2", a_change(5, "second", run_id="r2"))
    assert await world.send.send_due() == 0
    world.clock.advance(3000)
    assert await world.send.send_due() == 2
    [(_, message)] = world.notifier.sent
    assert message.lines == ["https://shop.test/2: first", "https://shop.test/5: second"]
    assert message.payload["runIds"] == ["r1", "r2"]
    assert [each["timestamp"] for each in message.payload["changes"]] == [1002, 1005]
    assert await world.send.send_due() == 0


async def test_a_digest_that_fails_stays_together_and_keeps_its_id(world_of: MakeWorld) -> None:
    world = await world_of(MAIL)
    await world.run("r1", a_change(1, "first", run_id="r1"))
    await world.run("r2", a_change(2, "second", run_id="r2"))
    world.clock.advance(3600)
    world.outbox.dies_at_note = True
    with pytest.raises(StoreUnavailable):
        await world.send.send_due()
    world.outbox.dies_at_note = False
    world.notifier.failures[MAIL.url] = [NotSent(reason="busy", retryable=True)]
    await world.run("r3", a_change(3, "third", run_id="r3"))
    await world.send.send_due()
    world.clock.advance(60)
    await world.send.send_due()
    assert len(world.notifier.sent) == 2
    assert len(set(world.ids)) == 1


@pytest.mark.parametrize(
    ("attempts", "failure", "wait"),
    [
        (0, NotSent(reason="", retryable=True), timedelta(minutes=1)),
        (3, NotSent(reason="", retryable=True), timedelta(minutes=8)),
        (10, NotSent(reason="", retryable=True), timedelta(hours=6)),
        (0, NotSent(reason="", retryable=True, retry_after=7200.0), timedelta(hours=2)),
        (5, NotSent(reason="", retryable=True, retry_after=1.0), timedelta(minutes=32)),
        (0, NotSent(reason="", retryable=True, retry_after=1e10), timedelta(hours=24)),
        (0, NotSent(reason="", retryable=False, retry_after=5.0), None),
        (MOST_ATTEMPTS - 1, NotSent(reason="", retryable=True), None),
    ],
)
def test_the_wait_grows_until_it_is_given_up(
    attempts: int, failure: NotSent, wait: timedelta | None
) -> None:
    watch = Watch(
        watch_id="w", config=a_config(HOOK), created_at=NOON, updated_at=NOON, next_run_at=None
    )
    [notice] = notifications_of(watch, "batch", [a_log(1, "x")], NOON)
    again = next_attempt(replace(notice, attempts=attempts), failure, NOON)
    assert again == (None if wait is None else NOON + wait)


async def test_what_fails_is_sent_later_with_the_same_id(world_of: MakeWorld) -> None:
    world = await world_of(HOOK)
    world.notifier.failures[HOOK.url] = [NotSent(reason="busy", retryable=True)]
    await world.run("r1", a_change(1, "x"))
    await world.send.send_due()
    [notice] = await world.notifications()
    assert notice.error == "busy"
    assert await world.send.send_due() == 0
    world.clock.advance(60)
    await world.send.send_due()
    assert world.ids == [notice.notification_id]


async def test_what_is_hopeless_is_given_up_at_once(world_of: MakeWorld) -> None:
    world = await world_of(HOOK)
    world.notifier.failures[HOOK.url] = [NotSent(reason="gone", retryable=False)]
    await world.run("r1", a_change(1, "x"))
    await world.send.send_due()
    [notice] = await world.notifications()
    assert notice.given_up
    assert notice.error == "gone"


@pytest.mark.parametrize("removed", ["watch", "target"])
async def test_what_was_removed_meanwhile_is_not_told(world_of: MakeWorld, removed: str) -> None:
    world = await world_of(HOOK)
    await world.run("r1", a_change(1, "x"))
    if removed == "watch":
        await world.watches.remove_watch("w")
    else:
        await world.add(MAIL)
    await world.send.send_due()
    [notice] = await world.notifications()
    assert notice.given_up
    assert removed in str(notice.error)
    assert world.notifier.sent == []


async def test_a_target_that_is_away_is_tried_once_a_round(world_of: MakeWorld) -> None:
    world = await world_of(HOOK)
    world.notifier.failures[HOOK.url] = [NotSent(reason="away", retryable=True)]
    for number in (1, 2, 3):
        await world.run(f"r{number}", a_change(number, "x", run_id=f"r{number}"))
        world.clock.advance(1)
    await world.send.send_due()
    assert world.notifier.sent == []
    attempts = [each.attempts for each in await world.notifications()]
    assert sorted(attempts) == [0, 0, 1]  # what was not tried does not count
    world.clock.advance(61)
    await world.send.send_due()
    assert len(set(world.ids)) == 3


async def test_a_fault_of_ours_stops_no_other_message(
    world_of: MakeWorld, caplog: pytest.LogCaptureFixture
) -> None:
    world = await world_of(HOOK)
    world.use(BuggyNotifier())
    for number in (1, 2):
        await world.run(f"r{number}", a_change(number, "x", run_id=f"r{number}"))
        world.clock.advance(1)
    await world.send.send_due()
    assert len(world.notifier.sent) == 1
    assert {each.error for each in await world.notifications()} == {None, "unexpected: KeyError"}
    [logged] = [each for each in caplog.records if each.levelname == "ERROR"]
    assert HOOK.url not in caplog.text + str(vars(logged)), "it may be a secret"
    assert "send_notifications.py:" in vars(logged)["at"]


async def test_a_message_that_there_are_no_resources_for_stays_due(world_of: MakeWorld) -> None:
    class Exhausted(FakeNotifier):
        async def send(self, target: Target, message: NotificationMessage) -> None:
            raise ResourcesExhausted("no descriptor is left")

    world = await world_of(HOOK)
    world.use(Exhausted())
    await world.run("r1", a_change(1, "x"))
    with pytest.raises(ResourcesExhausted):
        await world.send.send_due()
    [notice] = await world.notifications()
    assert (notice.attempts, notice.error) == (0, None)
    world.use(FakeNotifier())
    await world.send.send_due()
    assert len(world.notifier.sent) == 1


async def test_a_slow_target_does_not_keep_others_waiting(world_of: MakeWorld) -> None:
    world = await world_of(HOOK, NTFY)
    quick_was_told = asyncio.Event()

    class Slow(FakeNotifier):
        async def send(self, target: Target, message: NotificationMessage) -> None:
            if target.url == HOOK.url:
                await quick_was_told.wait()
            await super().send(target, message)
            if target.url != HOOK.url:
                quick_was_told.set()

    world.use(Slow())
    await world.run("r1", a_change(1, "x"))
    async with asyncio.timeout(60):
        await world.send.send_due()
    assert len(world.notifier.sent) == 2


async def test_no_secret_of_a_target_is_logged(
    world_of: MakeWorld, caplog: pytest.LogCaptureFixture
) -> None:
    world = await world_of(MAIL, HOOK)
    world.use(BuggyNotifier())
    world.notifier.failures = {MAIL.url: [NotSent(reason="no", retryable=False)]}
    await world.run("r1", a_change(1, "x"))
    world.clock.advance(3600)
    await world.send.send_due()
    said: list[Any] = [vars(record) for record in caplog.records]
    assert len(said) == 3
    assert not any(secret in str(said) for secret in ("password", "token", "s3cret"))
