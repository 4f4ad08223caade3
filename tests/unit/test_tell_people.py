"""Who is told what, and when again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, cast

import pytest

from contracts.fake_clock import NOON, FakeClock
from webloom.application.watch.tell_people import (
    LONGEST_RETRY_AFTER,
    MOST_ATTEMPTS,
    MOST_LINES,
    TellPeople,
    due_at,
    line_of,
    next_attempt,
    notices_of,
)
from webloom.domain.errors import NotSent, StoreUnavailable
from webloom.domain.schedule import Schedule
from webloom.domain.watch import RunStatus, Target, Watch, WatchConfig, WatchRun
from webloom.ports.notifier import Told
from webloom.ports.page_store import ChangeFilter, ChangeLog, Late, PageStore, PriceRecord
from webloom.ports.watch_store import Notice, WatchStore

HOOK = Target(url="https://hook.test/token", secret="s3cret")
MAIL = Target(url="mailto://me:password@mail.test", digest_minutes=60.0)


def a_watch(*targets: Target, watch_id: str = "w") -> Watch:
    return Watch(
        watch_id=watch_id,
        config=WatchConfig(
            name="My shop",
            urls=["https://shop.test/"],
            schedule=Schedule(every_minutes=5.0),
            targets=list(targets),
        ),
        created_at=NOON,
        updated_at=NOON,
        next_run_at=None,
    )


def a_run(run_id: str = "r1") -> WatchRun:
    return WatchRun(
        run_id=run_id,
        watch_id="w",
        status=RunStatus.IN_PROGRESS,
        trigger="schedule",
        started_at=NOON,
        updated_at=NOON,
    )


def a_change(number: int, *alerts: str, run_id: str = "r1") -> ChangeLog:
    return ChangeLog(
        job_id="w",
        url=f"https://shop.test/{number}",
        changes={},
        previous=1,
        current=2,
        timestamp=1000 + number,
        run_id=run_id,
        alerts=list(alerts),
    )


class FakePages:
    def __init__(self) -> None:
        self.logs: list[ChangeLog] = []
        self.batches: dict[int, str] = {}  # of logs, by their places
        self.told: set[str] = set()
        self.running: set[str] = set()
        self.dies_at_note = False
        self.priced: list[PriceRecord] = []

    def _untold(self) -> list[tuple[int, ChangeLog]]:
        return [
            (place, each)
            for place, each in enumerate(self.logs)
            if each.alerts and self.batches.get(place) not in self.told
        ]

    async def late_alerts(self, *, limit: int) -> list[Late]:
        found = {(each.job_id, each.run_id) for _, each in self._untold()}
        late = [Late(job_id=job, run_id=run) for job, run in found if run not in self.running]
        return late[:limit]

    async def gather_alerts(self, job_id: str, run_id: str | None, batch: str) -> list[str]:
        of_run = [
            place
            for place, each in self._untold()
            if (each.job_id, each.run_id) == (job_id, run_id)
        ]
        return list(dict.fromkeys(self.batches.setdefault(place, batch) for place in of_run))

    async def note_told(self, batch: str) -> None:
        if self.dies_at_note:
            raise StoreUnavailable("gone")
        self.told.add(batch)

    async def change_logs(
        self, chosen: ChangeFilter, *, limit: int, cursor: str | None = None
    ) -> tuple[list[ChangeLog], str | None]:
        found = [
            each
            for place, each in enumerate(self.logs)
            if self.batches.get(place) == chosen.batch is not None
        ]
        start = int(cursor or 0)
        end = start + limit
        return found[start:end], str(end) if end < len(found) else None

    async def prices(
        self, job_id: str, url: str, *, limit: int, cursor: str | None = None
    ) -> tuple[list[PriceRecord], str | None]:
        found = [each for each in reversed(self.priced) if each.url == url]
        return found[:limit], "more" if len(found) > limit else None


class FakeWatches:
    def __init__(self, *watches: Watch) -> None:
        self.watches = {each.watch_id: each for each in watches}
        self.kept: dict[str, Notice] = {}
        self.dies_at_note = False

    async def find_watch(self, watch_id: str) -> Watch | None:
        return self.watches.get(watch_id)

    async def add_notices(self, notices: Sequence[Notice]) -> None:
        for each in notices:
            self.kept.setdefault(each.notice_id, each)

    async def due_notices(self, now: datetime, *, limit: int) -> list[Notice]:
        open_ = [each for each in self.kept.values() if not (each.sent_at or each.given_up)]
        due = [each for each in open_ if each.due_at <= now]
        return sorted(due, key=lambda each: each.due_at)[:limit]

    async def note_sent(self, notice_ids: Sequence[str], at: datetime) -> None:
        if self.dies_at_note:
            raise StoreUnavailable("gone")
        for each in notice_ids:
            self.kept[each] = replace(self.kept[each], sent_at=at)

    async def note_unsent(
        self, notice_ids: Sequence[str], *, error: str, due_at: datetime | None
    ) -> None:
        for each in notice_ids:
            notice = self.kept[each]
            self.kept[each] = replace(
                notice,
                attempts=notice.attempts + 1,
                error=error,
                due_at=due_at or notice.due_at,
                given_up=due_at is None,
            )


class FakeNotifier:
    def __init__(self) -> None:
        self.sent: list[tuple[str, Told]] = []
        self.failures: dict[str, list[Exception]] = {}  # by target, one for each attempt

    async def send(self, target: Target, message: Told) -> None:
        if failures := self.failures.get(target.url):
            raise failures.pop(0)
        self.sent.append((target.url, message))


class World:
    def __init__(self, *targets: Target) -> None:
        self.clock = FakeClock()
        self.watch = a_watch(*targets)
        self.watches = FakeWatches(self.watch)
        self.pages = FakePages()
        self.notifier = FakeNotifier()
        self.tell = TellPeople(
            store=cast(WatchStore, self.watches),
            pages=cast(PageStore, self.pages),
            notifier=self.notifier,
            clock=self.clock,
        )

    async def run(self, run_id: str, *changes: ChangeLog) -> None:
        self.pages.logs += changes
        await self.tell.after_run(self.watch, a_run(run_id))

    @property
    def ids(self) -> list[str]:
        return [message.told_id for _, message in self.notifier.sent]


async def test_all_alerts_of_a_run_are_one_message_for_each_target() -> None:
    world = World(HOOK, Target(url="ntfy://topic"))
    await world.run(
        "r1",
        a_change(1, "the price fell", "it is in stock now"),
        a_change(2),
        a_change(3, "the page changed"),
    )
    assert await world.tell.send_due() == 2
    assert sorted(url for url, _ in world.notifier.sent) == [HOOK.url, "ntfy://topic"]
    message = world.notifier.sent[0][1]
    assert message.title == "My shop: 2 changes"
    assert message.lines == [
        "https://shop.test/1: the price fell; it is in stock now",
        "https://shop.test/3: the page changed",
    ]
    assert await world.tell.send_due() == 0


def a_price(number: int, amount: str, *, version: int, percent: str) -> PriceRecord:
    return PriceRecord(
        job_id="w",
        url=f"https://shop.test/{number}",
        price=Decimal(amount),
        currency="EUR",
        change_percent=Decimal(percent),
        timestamp=1000 + number,
        version=version,
    )


async def test_programs_are_told_the_same_with_prices() -> None:
    world = World(HOOK)
    url = "https://shop.test/1"
    world.pages.priced = [a_price(1, "79.99", version=2, percent="-5.00")]
    await world.run("r1", a_change(1, "the price fell"), a_change(2, "the page changed"))
    await world.tell.send_due()
    [(_, message)] = world.notifier.sent
    assert message.payload["watchId"] == "w"
    assert message.payload["watchName"] == "My shop"
    assert message.payload["runId"] == "r1"
    assert message.payload["changes"] == [
        {
            "url": url,
            "version": {"previous": 1, "current": 2},
            "timestamp": 1001,
            "alerts": ["the price fell"],
            "price": {
                "current": Decimal("79.99"),
                "currency": "EUR",
                "changePercent": Decimal("-5.00"),
            },
        },
        {
            "url": "https://shop.test/2",
            "version": {"previous": 1, "current": 2},
            "timestamp": 1002,
            "alerts": ["the page changed"],
            "price": None,
        },
    ]


async def test_each_change_of_a_digest_has_its_own_price() -> None:
    world = World(replace(HOOK, digest_minutes=60.0))
    for version, amount in ((2, "80"), (3, "60")):
        world.pages.priced.append(a_price(1, amount, version=version, percent="-20"))
        changed = a_change(1, f"the price fell to {amount}", run_id=f"r{version}")
        await world.run(f"r{version}", replace(changed, current=version, timestamp=version))
    world.pages.priced.append(a_price(1, "70", version=4, percent="20"))
    world.clock.advance(3600)
    await world.tell.send_due()
    [(_, message)] = world.notifier.sent
    prices = [change["price"]["current"] for change in message.payload["changes"]]
    assert prices == [Decimal(80), Decimal(60)]


async def test_nothing_is_told_where_nothing_has_an_alert() -> None:
    world = World(HOOK)
    await world.run("r1", a_change(1))
    assert world.watches.kept == {}


async def test_the_end_of_a_run_may_be_repeated() -> None:
    world = World(HOOK, HOOK)  # nor does a target that is named twice get it twice
    await world.run("r1", a_change(1, "x"))
    await world.tell.send_due()
    await world.run("r1")
    assert await world.tell.send_due() == 0
    assert len(world.notifier.sent) == 1


async def test_what_is_stored_after_its_run_is_told_too_and_once() -> None:
    world = World(HOOK, Target(url="ntfy://topic"))
    world.pages.running = {"r2"}
    await world.run("r1", a_change(1, "first"))
    world.pages.logs += [a_change(2, "late"), a_change(3, "not yet", run_id="r2"), a_change(4)]
    await world.tell.gather_late()
    await world.tell.gather_late()
    await world.tell.send_due()
    assert sorted(line for _, message in world.notifier.sent for line in message.lines) == sorted(
        ["https://shop.test/1: first", "https://shop.test/2: late"] * 2
    )
    told = [message.payload["changes"] for _, message in world.notifier.sent]
    assert sorted(change["url"] for changes in told for change in changes) == sorted(
        ["https://shop.test/1", "https://shop.test/2"] * 2
    )
    assert {message.payload["runId"] for _, message in world.notifier.sent} == {"r1"}


async def test_however_many_are_late_all_are_told() -> None:
    world = World(HOOK)
    world.pages.logs += [a_change(number, "x", run_id=f"r{number}") for number in range(250)]
    await world.tell.gather_late()
    assert len(world.watches.kept) == 250


async def test_what_names_no_run_is_told_with_the_run_of_its_day() -> None:
    world = World(HOOK)
    world.pages.logs.append(replace(a_change(1, "x"), run_id=None))
    await world.tell.gather_late()
    await world.tell.send_due()
    [(_, message)] = world.notifier.sent
    assert message.payload["runId"] == "w:1970-01-01"


async def test_killed_before_it_is_noted_everything_is_told_once() -> None:
    """More may have come meanwhile."""
    world = World(HOOK)
    world.pages.dies_at_note = True
    with pytest.raises(StoreUnavailable):
        await world.run("r1", a_change(1, "first"))
    await world.tell.send_due()
    world.pages.dies_at_note = False
    await world.run("r1", a_change(2, "second"))
    await world.tell.send_due()
    world.pages.logs.append(a_change(3, "third"))
    await world.tell.gather_late()
    await world.tell.send_due()
    assert [message.lines for _, message in world.notifier.sent] == [
        ["https://shop.test/1: first"],
        ["https://shop.test/2: second"],
        ["https://shop.test/3: third"],
    ]


@pytest.mark.parametrize("missing", ["watch", "target"])
async def test_what_nobody_wants_to_know_is_not_kept_for_later(missing: str) -> None:
    world = World()
    if missing == "watch":
        world.watches.watches = {}
    world.pages.logs.append(a_change(1, "x"))
    await world.tell.gather_late()
    world.watches.watches = {"w": a_watch(HOOK)}
    await world.tell.gather_late()
    assert world.watches.kept == {}
    assert await world.pages.late_alerts(limit=1) == []


async def test_a_watch_that_nobody_foresaw_does_not_keep_others_from_being_told() -> None:
    world = World(HOOK)
    broken = replace(a_change(1, "x"), job_id="odd", timestamp=10**20)
    world.watches.watches["odd"] = a_watch(HOOK, watch_id="odd")
    world.pages.logs += [replace(broken, run_id=None), a_change(2, "y")]
    await world.tell.gather_late()
    await world.tell.send_due()
    assert [message.lines for _, message in world.notifier.sent] == [["https://shop.test/2: y"]]


async def test_a_message_is_bounded_and_says_how_much_more_there_is() -> None:
    world = World(HOOK)
    await world.run("r1", *(a_change(number, "x") for number in range(MOST_LINES + 250)))
    await world.tell.send_due()
    [(_, message)] = world.notifier.sent
    assert len(message.lines) == MOST_LINES + 1
    assert message.lines[-1] == "and 250 more"
    assert message.title == "My shop: 750 changes"
    assert len(message.payload["changes"]) == MOST_LINES


def test_a_line_is_one_line_whatever_an_event_says() -> None:
    line = line_of(a_change(1, "a\r\nSubject: b\x1b[2J\u202e\u2028", "x" * 1000))
    assert line.startswith("https://shop.test/1: a  Subject: b [2J  ; xxx")
    assert len(line) == 501


def test_digests_end_at_whole_multiples() -> None:
    hour = Target(url="x://", digest_minutes=60.0)
    at = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
    assert due_at(hour, at) == at + timedelta(hours=1)
    assert due_at(hour, at + timedelta(minutes=59, seconds=59)) == at + timedelta(hours=1)
    assert due_at(HOOK, at) == at


async def test_several_runs_share_a_digest() -> None:
    world = World(MAIL)
    await world.run("r1", a_change(2, "first", run_id="r1"))
    world.clock.advance(600)
    await world.run("r2", a_change(5, "second", run_id="r2"))
    assert await world.tell.send_due() == 0
    world.clock.advance(3000)
    assert await world.tell.send_due() == 2
    [(_, message)] = world.notifier.sent
    assert message.lines == ["https://shop.test/2: first", "https://shop.test/5: second"]
    assert message.payload["runIds"] == ["r1", "r2"]
    assert [each["timestamp"] for each in message.payload["changes"]] == [1002, 1005]
    assert await world.tell.send_due() == 0


async def test_a_digest_that_fails_stays_together_and_keeps_its_id() -> None:
    world = World(MAIL)
    await world.run("r1", a_change(1, "first", run_id="r1"))
    await world.run("r2", a_change(2, "second", run_id="r2"))
    world.clock.advance(3600)
    world.watches.dies_at_note = True
    with pytest.raises(StoreUnavailable):
        await world.tell.send_due()
    world.watches.dies_at_note = False
    world.notifier.failures[MAIL.url] = [NotSent(reason="busy", retryable=True)]
    await world.run("r3", a_change(3, "third", run_id="r3"))
    await world.tell.send_due()
    world.clock.advance(60)
    await world.tell.send_due()
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
        (0, NotSent(reason="", retryable=True, retry_after=1e10), LONGEST_RETRY_AFTER),
        (0, NotSent(reason="", retryable=False, retry_after=5.0), None),
        (MOST_ATTEMPTS - 1, NotSent(reason="", retryable=True), None),
    ],
)
def test_the_wait_grows_until_it_is_given_up(
    attempts: int, failure: NotSent, wait: timedelta | None
) -> None:
    [notice] = notices_of(a_watch(HOOK), "batch", [a_change(1, "x")], NOON)
    again = next_attempt(replace(notice, attempts=attempts), failure, NOON)
    assert again == (None if wait is None else NOON + wait)


async def test_what_fails_is_sent_later_with_the_same_id() -> None:
    world = World(HOOK)
    world.notifier.failures[HOOK.url] = [NotSent(reason="busy", retryable=True)]
    await world.run("r1", a_change(1, "x"))
    [notice_id] = world.watches.kept
    await world.tell.send_due()
    assert world.watches.kept[notice_id].error == "busy"
    assert await world.tell.send_due() == 0
    world.clock.advance(60)
    await world.tell.send_due()
    assert world.ids == [notice_id]


async def test_what_is_hopeless_is_given_up_at_once() -> None:
    world = World(HOOK)
    world.notifier.failures[HOOK.url] = [NotSent(reason="gone", retryable=False)]
    await world.run("r1", a_change(1, "x"))
    await world.tell.send_due()
    [notice] = world.watches.kept.values()
    assert notice.given_up
    assert notice.error == "gone"


@pytest.mark.parametrize("removed", ["watch", "target"])
async def test_what_was_removed_meanwhile_is_not_told(removed: str) -> None:
    world = World(HOOK)
    await world.run("r1", a_change(1, "x"))
    world.watches.watches = {} if removed == "watch" else {"w": a_watch(MAIL)}
    await world.tell.send_due()
    [notice] = world.watches.kept.values()
    assert notice.given_up
    assert removed in str(notice.error)
    assert world.notifier.sent == []


async def test_a_target_that_is_away_is_tried_once_a_round() -> None:
    world = World(HOOK)
    world.notifier.failures[HOOK.url] = [NotSent(reason="away", retryable=True)]
    for run_id in ("r1", "r2", "r3"):
        await world.run(run_id, a_change(1, "x", run_id=run_id))
        world.clock.advance(1)
    await world.tell.send_due()
    assert world.notifier.sent == []
    attempts = [each.attempts for each in world.watches.kept.values()]
    assert sorted(attempts) == [0, 0, 1]  # what was not tried does not count
    world.clock.advance(61)
    await world.tell.send_due()
    assert len(set(world.ids)) == 3


async def test_a_fault_of_ours_stops_no_other_message() -> None:
    world = World(HOOK)
    world.notifier.failures[HOOK.url] = [KeyError("bug")]
    for run_id in ("r1", "r2"):
        await world.run(run_id, a_change(1, "x", run_id=run_id))
        world.clock.advance(1)
    await world.tell.send_due()
    assert len(world.notifier.sent) == 1
    assert {each.error for each in world.watches.kept.values()} == {None, "unexpected: KeyError"}


async def test_a_slow_target_does_not_keep_others_waiting() -> None:
    world = World(HOOK, Target(url="ntfy://topic"))
    quick_was_told = asyncio.Event()

    class Slow(FakeNotifier):
        async def send(self, target: Target, message: Told) -> None:
            if target.url == HOOK.url:
                await quick_was_told.wait()
            await super().send(target, message)
            if target.url != HOOK.url:
                quick_was_told.set()

    world.notifier = Slow()
    world.tell = replace(world.tell, notifier=world.notifier)
    await world.run("r1", a_change(1, "x"))
    async with asyncio.timeout(60):
        await world.tell.send_due()
    assert len(world.notifier.sent) == 2


async def test_no_secret_of_a_target_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    world = World(MAIL, HOOK)
    failing: list[Exception] = [NotSent(reason="no", retryable=False)]
    world.notifier.failures = {MAIL.url: failing, HOOK.url: [KeyError("bug")]}
    await world.run("r1", a_change(1, "x"))
    world.clock.advance(3600)
    await world.tell.send_due()
    said: list[Any] = [vars(record) for record in caplog.records]
    assert len(said) == 3
    assert not any(secret in str(said) for secret in ("password", "token", "s3cret"))
