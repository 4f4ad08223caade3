"""What needs a person's attention."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from webloom.application.overview.liveness import Waiting, missing_scheduler
from webloom.application.overview.snapshot import Down, QueueState, Snapshot
from webloom.application.overview.troubles import troubles
from webloom.domain.feed import Feed, FeedConfig
from webloom.domain.schedule import Schedule
from webloom.domain.watch import Watch, WatchConfig
from webloom.entrypoints.advice import advice_on
from webloom.ports.watches import WatchCounts

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
ALL_ROLES = frozenset({"worker", "scheduler"})
QUEUE = QueueState(
    name="import-feed",
    limit=100,
    ready=99,
    delayed=0,
    in_flight=0,
    dead=0,
    handled=[],
    handled_per_minute=0.0,
)
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
    failures=22,
)


def found(snapshot: Snapshot) -> list[tuple[str, str, str]]:
    listed = [(each, advice_on(each)) for each in troubles(snapshot)]
    assert all(each.what and advice.text.endswith(".") for each, advice in listed)
    return [(each.level, each.what, advice.page) for each, advice in listed]


def test_there_is_no_trouble_when_all_is_well() -> None:
    assert found(Snapshot(roles=ALL_ROLES, queues=[QUEUE])) == []


def test_nothing_is_guessed_of_processes_while_the_store_is_away() -> None:
    down = Down(name="store", kind="mongodb", address="db.test", reason="not reached")
    assert found(Snapshot(down=[down], roles=None)) == [
        ("error", "The store (mongodb at db.test) can't be used: not reached", "/system")
    ]


def test_missing_processes_are_reported() -> None:
    assert [what for _, what, _ in found(Snapshot(roles=frozenset({"api"})))] == [
        "No worker is alive: nothing that waits on a queue is done.",
        "No scheduler is running: no import and no check of a watch begins or ends.",
    ]
    assert len(found(Snapshot(roles=frozenset({"worker"})))) == 1


def test_what_waits_for_a_scheduler_is_counted() -> None:
    snapshot = Snapshot(roles=frozenset({"worker"}), waiting=Waiting(feeds=2, watches=1))
    assert found(snapshot) == [
        (
            "error",
            "No scheduler is running, and 2 feeds and 1 watch wait for one: "
            "no import and no check begins or ends.",
            "/system",
        )
    ]
    assert found(replace(snapshot, roles=ALL_ROLES)) == []


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
    assert (missing_scheduler(waiting, {"worker", "api"}) is None) == is_nothing
    assert missing_scheduler(waiting, {"scheduler"}) is None


def test_an_unserved_queue_with_messages_is_reported() -> None:
    alone = Snapshot(roles=ALL_ROLES, queues=[QUEUE], unserved=["import-feed", "watch-pages"])
    what = "No worker serves the queue import-feed; waiting there: 99 messages."
    assert found(alone) == [("error", what, "/queues/import-feed")]
    assert found(replace(alone, queues=[replace(QUEUE, ready=0)])) == []
    assert found(replace(alone, queues=[replace(QUEUE, ready=None)])) == []
    [(_, no_worker, _)] = found(replace(alone, roles=frozenset({"scheduler"})))
    assert no_worker.startswith("No worker is alive")


def test_full_queues_and_dead_letters_are_reported() -> None:
    full = replace(QUEUE, ready=100, dead=1)
    unknown = replace(QUEUE, ready=None, dead=None)
    assert found(Snapshot(roles=ALL_ROLES, queues=[full, unknown])) == [
        ("warning", "The queue import-feed is full: 100 messages wait.", "/queues/import-feed"),
        ("warning", "The queue import-feed has 1 dead letter.", "/queues/import-feed"),
    ]
    many = replace(QUEUE, dead=2)
    [(_, what, _)] = found(Snapshot(roles=ALL_ROLES, queues=[many]))
    assert what == "The queue import-feed has 2 dead letters."


def test_errors_come_before_warnings() -> None:
    levels = [
        level
        for level, _, _ in found(
            Snapshot(roles=ALL_ROLES, failing_feeds=[FEED], failed_pages=1, is_full=True)
        )
    ]
    assert levels == ["error", "warning", "warning"]


def test_imports_that_wait_for_room_are_reported() -> None:
    reason = "Imports wait for room: on here, the disk is full."
    assert found(Snapshot(roles=ALL_ROLES, imports_wait=reason)) == [
        ("error", reason, "/import-history")
    ]


def test_failing_feeds_are_reported_one_by_one_and_then_together() -> None:
    again = replace(FEED, failures=3, last_run_id=None, last_error=None)
    assert found(Snapshot(roles=ALL_ROLES, failing_feeds=[FEED, again])) == [
        (
            "warning",
            "The last import of Jobs failed: the server answered 500",
            "/import-history/run",
        ),
        (
            "warning",
            "The last import of Jobs failed, for the 3rd time in a row: "
            "nothing of it could be stored",
            "/feeds",
        ),
    ]
    many = found(Snapshot(roles=ALL_ROLES, failing_feeds=[FEED] * 12))
    assert len(many) == 11
    assert many[-1] == ("warning", "The last import of 2 more feeds failed.", "/feeds?show=failing")
    wordy = replace(FEED, last_error="x" * 10_000)
    [(_, what, _)] = found(Snapshot(roles=ALL_ROLES, failing_feeds=[wordy]))
    assert len(what) < 400


def test_failing_watches_and_pages_are_reported() -> None:
    assert found(
        Snapshot(
            roles=ALL_ROLES,
            failing_watches=[WATCH] * 11,
            failed_pages=200,
            are_more_failed_pages=True,
        )
    )[-3:] == [
        (
            "warning",
            "No page of the watch Shop could be checked, for the 22nd time in a row.",
            "/watch/w",
        ),
        ("warning", "Nor could any page of 1 more watch.", "/watch"),
        (
            "warning",
            "At least 200 watched pages could not be checked the last time.",
            "/watch?outcome=failed",
        ),
    ]
