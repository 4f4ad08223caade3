"""The Heartbeats' contract."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from contracts.adapters import Processes
from fakes.clock import NOON, FakeClock
from webloom.ports.heartbeats import Heartbeat, Heartbeats, SeenProcess

Observers = Processes[Heartbeats]

WORKER = Heartbeat(
    process_id="worker 1",
    role="worker",
    host="höst",
    pid=4711,
    slots=32,
    in_flight=3,
    completed=10,
    retried=2,
    failed=1,
    started_at=NOON,
    refused={"not-public": 3, "deny-list": 0},
    exhausted="no descriptors are left",
    remedy="raise the limit",
)


async def test_nobody_is_seen_before_the_first_beat(heartbeats: Heartbeats) -> None:
    assert await heartbeats.seen(within=1e6) == []


async def test_a_beat_is_seen_by_every_process_with_its_age(observers: Observers) -> None:
    async with observers.open() as one, observers.open() as two:
        await one.beat(WORKER)
        await observers.pass_time(5)
        [seen] = await two.seen(within=60)
        assert seen.heartbeat == WORKER
        assert seen.age == pytest.approx(5)


async def test_the_newest_beat_of_a_process_replaces_the_one_before(observers: Observers) -> None:
    async with observers.open() as heartbeats:
        await heartbeats.beat(WORKER)
        await observers.pass_time(5)
        newer = replace(WORKER, in_flight=0, completed=13)
        await heartbeats.beat(newer)
        assert await heartbeats.seen(within=60) == [SeenProcess(heartbeat=newer, age=0)]
        await observers.pass_time(5)
        await heartbeats.beat(newer)
        assert await heartbeats.seen(within=60) == [SeenProcess(heartbeat=newer, age=0)]


async def test_a_process_that_fell_silent_is_no_longer_seen(observers: Observers) -> None:
    async with observers.open() as heartbeats:
        await heartbeats.beat(WORKER)
        await observers.pass_time(40)
        await heartbeats.beat(replace(WORKER, process_id="worker 2"))
        await observers.pass_time(30)
        assert [each.heartbeat.process_id for each in await heartbeats.seen(within=60)] == [
            "worker 2"
        ]
        assert len(await heartbeats.seen(within=100)) == 2


async def test_a_process_that_left_is_no_longer_seen(observers: Observers) -> None:
    async with observers.open() as one, observers.open() as two:
        await one.beat(WORKER)
        await one.beat(replace(WORKER, process_id="worker 2"))
        await one.leave("worker 1")
        await one.leave("worker 1")
        await one.leave("unknown")
        assert [each.heartbeat.process_id for each in await two.seen(within=60)] == ["worker 2"]


async def test_processes_are_listed_by_role_and_start(heartbeats: Heartbeats) -> None:
    for name, role, minutes in (
        ("w2", "worker", 2),
        ("s2", "scheduler", 3),
        ("w1", "worker", 1),
        ("s1", "scheduler", 0),
    ):
        started = NOON + timedelta(minutes=minutes)
        await heartbeats.beat(replace(WORKER, process_id=name, role=role, started_at=started))
    seen = await heartbeats.seen(within=60)
    assert [each.heartbeat.process_id for each in seen] == ["s1", "s2", "w1", "w2"]


@pytest.mark.parametrize("jump", [-3600.0, 3600.0], ids=["back", "forward"])
async def test_a_jump_of_the_wall_clock_makes_nobody_older(
    observers: Observers, clock: FakeClock, jump: float
) -> None:
    async with observers.open() as heartbeats:
        await heartbeats.beat(WORKER)
        clock.jump_wall(jump)
        await observers.pass_time(5)
        [seen] = await heartbeats.seen(within=60)
        assert seen.age == pytest.approx(5)


async def test_a_process_reports_what_it_has_handled_on_each_queue(observers: Observers) -> None:
    handled = {"metadata_queue": 12, "storage-agent": 0, "a.queue.with.dots": 2**40}
    async with observers.open() as one, observers.open() as two:
        await one.beat(replace(WORKER, handled=handled))
        [seen] = await two.seen(within=60)
        assert seen.heartbeat == replace(WORKER, handled=handled)


async def test_a_process_reports_which_queues_it_serves(observers: Observers) -> None:
    beat = replace(WORKER, queues=("import-feed", "watch-pages"), imports_wait="a full disk")
    async with observers.open() as one, observers.open() as two:
        await one.beat(beat)
        [seen] = await two.seen(within=60)
        assert seen.heartbeat == beat
        assert seen.heartbeat.serves("watch-pages")
        assert not seen.heartbeat.serves("metadata_queue")


def test_only_a_worker_that_names_no_queue_serves_all_of_them() -> None:
    assert WORKER.serves("metadata_queue")
    assert not replace(WORKER, role="scheduler").serves("metadata_queue")
