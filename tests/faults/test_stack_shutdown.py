"""SIGTERM over real servers: drained, given back, at once, and with a broker that is away."""

from __future__ import annotations

import asyncio
import os
import signal
import time

import pytest

from faults.client import client_of
from faults.processes import eventually, eventually_async
from faults.site import Site
from faults.stack import MakeStack, Say, Stack, terminate
from topologies import INVENTORY_KINDS

HELD = [f"/held/{number}" for number in range(4)]
BEHIND = [f"/behind/{number}" for number in range(10)]


async def is_ready(stack: Stack, messages: int) -> bool:
    return (await stack.truth()).depth.ready == messages


@pytest.mark.parametrize("kind", INVENTORY_KINDS)
async def test_sigterm_drains_then_gives_back_after_the_grace_and_a_second_one_ends_at_once(
    kind: str, site: Site, stacks: MakeStack, say: Say
) -> None:
    stack = await stacks(kind, site, slots=4, lease=5, grace=4)
    await stack.start("api")
    for path in HELD:
        site.hold(path)

    def all_were_asked_for(times: int) -> bool:
        return [site.count(path) for path in HELD] == [1, times, times, times]

    async with client_of(stack.base) as client:
        worker, second = await asyncio.gather(stack.start("worker"), stack.start("worker"))
        second.kill()
        await client.insist([site.url(path) for path in HELD + BEHIND], batch=14)
        await eventually(lambda: all_were_asked_for(1), what="four fetches")
        terminate(worker)
        started = time.monotonic()
        await worker.said("stopping")
        site.release(HELD[0])
        assert await worker.ended() == 0
        given_back = time.monotonic() - started
        assert site.requests == 4, "it took nothing new"
        assert (await stack.truth()).of(site.url(HELD[0])).status == "COMPLETED"
        await eventually_async(
            lambda: is_ready(stack, 13), what="three are given back, ten were never begun"
        )

        impatient = await stack.start("worker")
        await eventually(lambda: all_were_asked_for(2), what="given back, at once")
        terminate(impatient)
        await impatient.said("stopping")
        started = time.monotonic()
        os.kill(impatient.pid, signal.SIGTERM)
        assert await impatient.ended() == 128 + signal.SIGTERM
        at_once = time.monotonic() - started

        for path in HELD[1:]:
            site.release(path)
        await stack.start("worker")
        truth = await stack.ends_well(client)
    say(f"given back after {given_back:.1f} s, ended at once after {at_once:.2f} s")
    say(stack.summary(truth, client))
    assert truth.statuses == {"COMPLETED": 14}
    assert truth.of(site.url(HELD[0])).processing.attempt_number == 1
    lost = [truth.of(site.url(path)).processing for path in HELD[1:]]
    assert [each.retry_count for each in lost] == [1, 1, 1], "what was given back does not count"
    twice = [path for path in BEHIND if site.count(path) != 1]
    assert len(twice) <= 1, "its fourth slot may have had one when a worker ended at once"
    assert all(site.count(path) == 2 for path in twice)
    assert not truth.dead


@pytest.mark.parametrize("kind", INVENTORY_KINDS)
async def test_every_process_ends_in_its_time_though_the_broker_is_away(
    kind: str, site: Site, stacks: MakeStack, say: Say
) -> None:
    stack = await stacks(kind, site, slots=4, lease=2, grace=2)
    roles = ("api", "worker", "worker", "scheduler")
    api, worker, idle, scheduler = await asyncio.gather(*(stack.start(role) for role in roles))
    for path in HELD:
        site.hold(path)
    async with client_of(stack.base) as client:
        await client.insist([site.url(path) for path in HELD], batch=4)
        await eventually(lambda: site.requests == 4, what="four fetches")
        stack.servers("broker").pause()
        started = time.monotonic()
        for process in (api, worker, idle, scheduler):
            terminate(process)
        for process in (api, worker, idle, scheduler):
            code = await process.ended()
            say(f"{process.role} ended with {code} after {time.monotonic() - started:.1f} s")
            assert code == 0, process.output[-2000:]
        stack.servers("broker").resume()
        for path in HELD:
            site.release(path)
        await stack.start("worker")
        truth = await stack.ends_well(client)
    say(stack.summary(truth, client))
    assert truth.statuses == {"COMPLETED": 4}
    assert not truth.dead
