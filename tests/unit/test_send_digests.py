"""Digests, retries, and messages that can't be sent."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from fakes.clock import NOON
from fakes.notifier import FakeNotifier
from unit.notification_world import (
    HOOK,
    MAIL,
    NTFY,
    MakeWorld,
    a_change,
    a_config,
)
from webloom.application.watch.send_notifications import (
    LONGEST_LINE,
    MOST_LINES,
    due_at,
    line_of,
    lines_of,
    notifications_of,
)
from webloom.domain.errors import NotSent, ResourcesExhausted, StoreUnavailable
from webloom.domain.exhaustion import DESCRIPTORS
from webloom.domain.notification import (
    MOST_ATTEMPTS,
    next_attempt,
)
from webloom.domain.reason import PageReason, TextReason
from webloom.domain.watch import Target, Watch
from webloom.ports.notifier import NotificationMessage
from webloom.ports.page_history import ChangeLog


def a_log(number: int, *alerts: str) -> ChangeLog:
    return ChangeLog(
        watch_id="w",
        url=f"https://shop.test/{number}",
        changes={},
        previous=1,
        current=2,
        timestamp=1000 + number,
        run_id="r1",
        alerts=list(alerts),
    )


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


def test_a_line_is_one_line_whatever_an_event_says() -> None:
    line = line_of("https://shop.test/1", ["a\r\nSubject: b\x1b[2J\u202e\u2028", "x" * 1000])
    assert line.startswith("https://shop.test/1: a  Subject: b [2J  ; xxx")
    assert len(line) == 501


def test_of_a_line_that_is_cut_no_more_is_stored_than_it_shows() -> None:
    phrases = TextReason(phrases=("x" * 80,) * 10)
    logs = [
        replace(a_log(n), reasons=[PageReason(), phrases] if n % 2 else [PageReason()])
        for n in range(600)
    ]
    watch = Watch(
        watch_id="w", config=a_config(HOOK), created_at=NOON, updated_at=NOON, next_run_at=None
    )
    [notification] = notifications_of(watch, "batch", logs, NOON)
    assert len(notification.lines) == MOST_LINES + 1
    assert len(notification.changes) == MOST_LINES
    assert notification.changes[0].reasons == [{"kind": "page"}]
    assert notification.changes[1].reasons == []
    assert lines_of(notification) == notification.lines
    assert len(msgspec.json.encode(notification.changes)) < MOST_LINES * LONGEST_LINE


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
    [notification] = notifications_of(watch, "batch", [a_log(1, "x")], NOON)
    again = next_attempt(replace(notification, attempts=attempts), failure, NOON)
    assert again == (None if wait is None else NOON + wait)


async def test_what_fails_is_sent_later_with_the_same_id(world_of: MakeWorld) -> None:
    world = await world_of(HOOK)
    world.notifier.failures[HOOK.url] = [NotSent(reason="busy", retryable=True)]
    await world.run("r1", a_change(1, "x"))
    await world.send.send_due()
    [notification] = await world.notifications()
    assert notification.error == "busy"
    assert await world.send.send_due() == 0
    world.clock.advance(60)
    await world.send.send_due()
    assert world.ids == [notification.notification_id]


async def test_what_is_hopeless_is_given_up_at_once(world_of: MakeWorld) -> None:
    world = await world_of(HOOK)
    world.notifier.failures[HOOK.url] = [NotSent(reason="gone", retryable=False)]
    await world.run("r1", a_change(1, "x"))
    await world.send.send_due()
    [notification] = await world.notifications()
    assert notification.given_up
    assert notification.error == "gone"


@pytest.mark.parametrize("removed", ["watch", "target"])
async def test_nothing_is_sent_for_a_removed_watch_or_target(
    world_of: MakeWorld, removed: str
) -> None:
    world = await world_of(HOOK)
    await world.run("r1", a_change(1, "x"))
    if removed == "watch":
        await world.watches.remove_watch("w")
    else:
        await world.add(MAIL)
    await world.send.send_due()
    [notification] = await world.notifications()
    assert notification.given_up
    assert removed in str(notification.error)
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


async def test_an_unexpected_error_does_not_stop_other_messages(
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


async def test_a_message_stays_due_while_resources_are_exhausted(world_of: MakeWorld) -> None:
    class OutOfDescriptors(FakeNotifier):
        async def send(self, target: Target, message: NotificationMessage) -> None:
            raise ResourcesExhausted(DESCRIPTORS)

    world = await world_of(HOOK)
    world.use(OutOfDescriptors())
    await world.run("r1", a_change(1, "x"))
    with pytest.raises(ResourcesExhausted):
        await world.send.send_due()
    [notification] = await world.notifications()
    assert (notification.attempts, notification.error) == (0, None)
    world.use(FakeNotifier())
    await world.send.send_due()
    assert len(world.notifier.sent) == 1


async def test_a_slow_target_does_not_keep_others_waiting(world_of: MakeWorld) -> None:
    world = await world_of(HOOK, NTFY)
    quick_was_sent = asyncio.Event()

    class Slow(FakeNotifier):
        async def send(self, target: Target, message: NotificationMessage) -> None:
            if target.url == HOOK.url:
                await quick_was_sent.wait()
            await super().send(target, message)
            if target.url != HOOK.url:
                quick_was_sent.set()

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
