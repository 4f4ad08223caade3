"""What needs a person's attention."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from contracts.test_heartbeats import WORKER
from webloom.application.move.restore import UnfinishedRestore
from webloom.application.overview.facts import Backend, Facts, QueueState, Waiting
from webloom.application.overview.troubles import missing_scheduler, status, troubles
from webloom.domain.errors import Exhausted
from webloom.domain.feed import Feed, FeedConfig
from webloom.domain.notification import Notification
from webloom.domain.schedule import Schedule
from webloom.domain.watch import Watch, WatchConfig
from webloom.entrypoints.advice import advice_on
from webloom.ports.connection import Connection
from webloom.ports.heartbeats import SeenProcess
from webloom.ports.watches import WatchCounts

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
QUEUE = QueueState(name="import-feed", limit=100, ready=99, delayed=0, in_flight=0, dead=0)
CONNECTION = Connection(kind="mongodb", address="db.test", state="READY")
FEED = Feed(
    feed_id="f",
    config=FeedConfig(url="https://a.test/", name="Jobs"),
    created_at=NOON,
    updated_at=NOON,
    next_run_at=None,
    last_run_id="run",
    last_error="the server answered 500",
    failures=1,
)
PAUSED = replace(FEED, config=replace(FEED.config, enabled=False))
WATCH = Watch(
    watch_id="w",
    config=WatchConfig(name="Shop", urls=["https://a.test/"], schedule=Schedule(every_minutes=60)),
    created_at=NOON,
    updated_at=NOON,
    next_run_at=None,
    last_run_id="last",
    failures=22,
)


def process(role: str, *, age: float = 0.0, **changes: Any) -> SeenProcess:
    beat = replace(WORKER, role=role, host="here", exhausted=None)
    return SeenProcess(heartbeat=replace(beat, **changes), age=age)


WELL = Facts(
    store=Backend(name="store", connection=CONNECTION),
    brokers=[Backend(name="broker of a", connection=CONNECTION, queues=["a"])],
    processes=[process("worker"), process("scheduler")],
)
FULL = Exhausted("the quota is used up (512 MB: all)", "delete something")
DOWN = Backend(name="store", connection=CONNECTION, problem="not reached", answers=False)
NO_SCHEDULER = replace(WELL, processes=[process("worker")])


def found(facts: Facts) -> list[tuple[str, str, str]]:
    listed = [(each, advice_on(each)) for each in troubles(facts)]
    assert all(each.what and advice.text.endswith(".") for each, advice in listed)
    return [(each.level, each.what, advice.page) for each, advice in listed]


def test_nothing_is_reported_when_all_is_well() -> None:
    assert found(replace(WELL, queues=[QUEUE])) == []


def test_nothing_is_guessed_of_processes_while_the_store_is_away() -> None:
    assert found(replace(WELL, store=DOWN, processes=[])) == [
        ("error", "The store (mongodb at db.test) can't be used: not reached", "/system")
    ]


def test_a_full_store_is_reported_once() -> None:
    [trouble] = troubles(replace(WELL, store=DOWN, full=FULL))
    assert trouble.level == "error"
    assert trouble.what.endswith("nothing new is stored: the quota is used up (512 MB: all).")
    assert advice_on(trouble).text == "Delete something."


def test_missing_processes_are_reported() -> None:
    gone = process("worker", age=60.0)
    assert [what for _, what, _ in found(replace(WELL, processes=[process("api"), gone]))] == [
        "No worker is alive: nothing that waits on a queue is done.",
        "No scheduler is running: imports and checks of watches neither start nor finish.",
    ]
    assert len(found(NO_SCHEDULER)) == 1


def test_what_waits_for_a_scheduler_is_counted() -> None:
    waiting = Waiting(feeds=2, watches=1)
    assert found(replace(NO_SCHEDULER, waiting=waiting)) == [
        (
            "error",
            "No scheduler is running, and 2 feeds and 1 watch wait for one: "
            "imports and checks neither start nor finish.",
            "/system",
        )
    ]
    assert found(replace(WELL, waiting=waiting)) == []


WAITING = [
    ([], {}, Waiting(), "nothing"),
    ([FEED], {}, Waiting(feeds=1), "a feed on a schedule"),
    ([PAUSED], {}, Waiting(), "a paused feed"),
    ([replace(PAUSED, active_run_id="r")], {}, Waiting(feeds=1), "a paused feed's run"),
    ([], {"enabled": 2}, Waiting(watches=2), "watches on a schedule"),
    ([], {"checking": 1}, Waiting(watches=1), "a paused watch's run"),
    ([FEED], {"enabled": 2, "checking": 1}, Waiting(feeds=1, watches=2), "both"),
]


@pytest.mark.parametrize(
    ("feeds", "watches", "waiting"), [row[:3] for row in WAITING], ids=[row[3] for row in WAITING]
)
def test_what_waits_for_a_scheduler(
    feeds: list[Feed], watches: dict[str, int], waiting: Waiting
) -> None:
    counts = replace(WatchCounts(all=3, enabled=0, checking=0, failing=0), **watches)
    assert Waiting.of(feeds, counts) == waiting
    is_nothing = waiting == Waiting()
    assert (missing_scheduler(replace(NO_SCHEDULER, waiting=waiting)) is None) == is_nothing
    assert missing_scheduler(replace(WELL, waiting=waiting)) is None


def test_an_unserved_queue_with_messages_is_reported() -> None:
    elsewhere = process("worker", queues=("metadata_queue",))
    alone = replace(WELL, processes=[elsewhere, process("scheduler")], queues=[QUEUE])
    what = "No worker serves the queue import-feed; waiting there: 99 messages."
    assert found(alone) == [("error", what, "/queues/import-feed")]
    assert found(replace(alone, queues=[replace(QUEUE, ready=0)])) == []
    assert found(replace(alone, queues=[replace(QUEUE, ready=None)])) == []
    [(_, no_worker, _)] = found(replace(alone, processes=[process("scheduler")]))
    assert no_worker.startswith("No worker is alive")


def test_full_queues_and_dead_letters_are_reported() -> None:
    full = replace(QUEUE, ready=100, dead=1)
    unknown = replace(QUEUE, ready=None, dead=None)
    assert found(replace(WELL, queues=[full, unknown])) == [
        ("warning", "The queue import-feed is full: 100 messages wait.", "/queues/import-feed"),
        ("warning", "The queue import-feed has 1 dead letter.", "/queues/import-feed"),
    ]
    many = replace(QUEUE, dead=2)
    [(_, what, _)] = found(replace(WELL, queues=[many]))
    assert what == "The queue import-feed has 2 dead letters."


TRIED = Notification(
    notification_id="n",
    watch_id="w",
    target_url="tgram://123456:token/chat",
    run_id="r",
    due_at=NOON,
    attempts=1,
    error="the service answered 401",
)


def test_a_target_that_cannot_be_reached_is_reported_without_its_secrets() -> None:
    hook = replace(TRIED, target_url="https://hook.test/secret", error=None)
    assert found(replace(WELL, failing_targets=[TRIED, hook], notifying={"w": WATCH})) == [
        (
            "warning",
            "The latest notification of the watch Shop to tgram://… failed: "
            "the service answered 401",
            "/watch/w",
        ),
        (
            "warning",
            "The latest notification of the watch Shop to https://hook.test/… failed: "
            "it was not delivered",
            "/watch/w",
        ),
    ]


def test_targets_of_one_service_are_told_apart_by_their_watches() -> None:
    books = replace(WATCH, watch_id="b", config=replace(WATCH.config, name="Books"))
    of_books = replace(TRIED, watch_id="b", target_url="tgram://654321:other/chat")
    of_none = replace(TRIED, watch_id="gone", target_url="tgram://654321:third/chat")
    facts = replace(
        WELL, failing_targets=[TRIED, of_books, of_none], notifying={"w": WATCH, "b": books}
    )
    assert [what.partition(" failed: ")[0] for _, what, _ in found(facts)] == [
        "The latest notification of the watch Shop to tgram://…",
        "The latest notification of the watch Books to tgram://…",
        "The latest notification of the watch gone, which was removed, to tgram://…",
    ]
    alike = replace(TRIED, target_url="tgram://654321:other/chat")
    [(_, what, _)] = found(replace(WELL, failing_targets=[TRIED, alike], notifying={"w": WATCH}))
    assert what == (
        "The latest notifications of the watch Shop to 2 targets tgram://… failed: "
        "the service answered 401"
    )


@pytest.mark.parametrize(
    ("are_more", "count"), [(False, "2 more targets"), (True, "at least 2 more targets")]
)
def test_more_failing_targets_than_are_listed_are_counted(are_more: bool, count: str) -> None:
    many = [replace(TRIED, target_url=f"https://hook{each}.test/") for each in range(12)]
    facts = replace(
        WELL, failing_targets=many, are_more_failing_targets=are_more, notifying={"w": WATCH}
    )
    listed = found(facts)
    assert len(listed) == 11
    assert listed[-1] == ("warning", f"The latest notification to {count} failed.", "/watch")


def test_errors_come_before_warnings() -> None:
    levels = [
        level
        for level, _, _ in found(replace(WELL, failing_feeds=[FEED], failed_pages=1, is_full=True))
    ]
    assert levels == ["error", "warning", "warning"]


def test_imports_that_wait_for_room_are_reported() -> None:
    waits = process("worker", imports_wait="the disk is full")
    assert found(replace(WELL, processes=[waits, process("scheduler")])) == [
        ("error", "Imports wait for room: on here, the disk is full.", "/import-history")
    ]


def test_a_restore_that_has_not_ended_is_reported() -> None:
    begun = UnfinishedRestore(dump_id="d", webloom="0.1.0", at=NOON)
    what = "The restore of a backup, begun at 2026-11-15 12:00:00 UTC, has not ended: "
    interrupted = replace(WELL, restore=begun)
    assert found(interrupted) == [("error", f"{what}nothing scheduled starts.", "/system")]
    assert status(interrupted, needs_store=True) == "degraded"


def test_a_restore_that_goes_on_is_no_fault() -> None:
    begun = UnfinishedRestore(dump_id="d", webloom="0.1.0", at=NOON)
    what = "The restore of a backup, begun at 2026-11-15 12:00:00 UTC, goes on: "
    restoring = replace(WELL, restore=begun, is_restoring=True)
    assert found(restoring) == [
        ("warning", f"{what}until it ends, nothing scheduled starts.", "/system")
    ]
    assert status(restoring, needs_store=True) == "ok"


def test_failing_feeds_are_reported_one_by_one_and_then_together() -> None:
    again = replace(FEED, failures=3, last_run_id=None, last_error=None)
    again = replace(again, feed_id="g", config=replace(FEED.config, name="Work"))
    assert found(replace(WELL, failing_feeds=[FEED, again])) == [
        (
            "warning",
            "The last import of Jobs failed: the server answered 500",
            "/import-history/run",
        ),
        (
            "warning",
            "The last import of Work failed, for the 3rd time in a row: "
            "nothing of it could be stored",
            "/feeds",
        ),
    ]
    many = found(replace(WELL, failing_feeds=[FEED] * 12))
    assert len(many) == 11
    assert many[-1] == (
        "warning",
        "The last import of 2 more feeds failed.",
        "/feeds?state=failing",
    )
    wordy = replace(FEED, last_error="x" * 10_000)
    [(_, what, _)] = found(replace(WELL, failing_feeds=[wordy]))
    assert len(what) < 400


def feed_at(feed_id: str, url: str, name: str = "Jobs") -> Feed:
    return replace(FEED, feed_id=feed_id, config=FeedConfig(url=url, name=name))


def test_feeds_and_watches_with_one_name_are_told_apart() -> None:
    feeds = [
        feed_at("1", "https://a.test/jobs"),
        feed_at("2", "https://b.test/jobs?board=1"),
        feed_at("3", "https://b.test/jobs?board=2"),
        feed_at("4", "https://c.test/", "Others"),
    ]
    failed = "failed: the server answered 500"
    assert [what for _, what, _ in found(replace(WELL, failing_feeds=feeds))] == [
        f"The last import of Jobs (a.test/jobs) {failed}",
        f"The last import of Jobs (https://b.test/jobs?board=1) {failed}",
        f"The last import of Jobs (https://b.test/jobs?board=2) {failed}",
        f"The last import of Others {failed}",
    ]
    watches = [replace(WATCH, watch_id=each, failures=1) for each in ("w", "v")]
    assert [what for _, what, _ in found(replace(WELL, failing_watches=watches))] == [
        "No page of the watch Shop (w) could be checked: the run gives no reason",
        "No page of the watch Shop (v) could be checked: the run gives no reason",
    ]


def test_failing_watches_and_pages_are_reported() -> None:
    assert found(
        replace(
            WELL,
            failing_watches=[WATCH] * 11,
            watch_errors={"last": "the server answered 403"},
            failed_pages=200,
            are_more_failed_pages=True,
        )
    )[-3:] == [
        (
            "warning",
            "No page of the watch Shop could be checked, for the 22nd time in a row: "
            "the server answered 403",
            "/watch/w",
        ),
        ("warning", "Nor could any page of 1 more watch.", "/watch?state=failing"),
        (
            "warning",
            "At least 200 watched pages could not be checked the last time.",
            "/watch?show=pages&outcome=failed",
        ),
    ]


def test_a_failing_watch_is_reported_even_if_nobody_knows_why() -> None:
    [(_, what, _)] = found(replace(WELL, failing_watches=[replace(WATCH, failures=1)]))
    assert what == "No page of the watch Shop could be checked: the run gives no reason"
    wordy = {"last": "x" * 10_000}
    [(_, what, _)] = found(replace(WELL, failing_watches=[WATCH], watch_errors=wordy))
    assert len(what) < 400


AWAY = replace(WELL.brokers[0], problem="not reached", answers=False)
ONE_QUEUE_AWAY = replace(WELL.brokers[0], problem="import-feed: no majority")
STATUS = [
    (WELL, "ok", "ok", "all is well"),
    (replace(WELL, queues=[replace(QUEUE, dead=1)]), "ok", "ok", "only a warning"),
    (NO_SCHEDULER, "ok", "ok", "nothing waits for a scheduler"),
    (replace(NO_SCHEDULER, waiting=Waiting(feeds=1)), "degraded", "degraded", "a feed waits"),
    (replace(WELL, processes=[process("scheduler")]), "degraded", "degraded", "no worker"),
    (replace(WELL, is_full=True), "degraded", "degraded", "the budget is used up"),
    (replace(WELL, store=DOWN), "degraded", "down", "no store"),
    (replace(WELL, full=FULL), "degraded", "down", "a full store"),
    (replace(WELL, brokers=[AWAY]), "down", "down", "no broker"),
    (replace(WELL, brokers=[WELL.brokers[0], AWAY]), "degraded", "degraded", "another broker"),
    (replace(WELL, brokers=[ONE_QUEUE_AWAY]), "degraded", "degraded", "one of its queues"),
]


@pytest.mark.parametrize(
    ("facts", "expected", "with_store"), [row[:3] for row in STATUS], ids=[row[3] for row in STATUS]
)
def test_an_installation_is_down_when_it_accepts_no_urls(
    facts: Facts, expected: str, with_store: str
) -> None:
    assert status(facts, needs_store=False) == expected
    assert status(facts, needs_store=True) == with_store
