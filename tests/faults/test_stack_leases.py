"""A worker that slept past its lease; processes that had nothing to do for a long time."""

from __future__ import annotations

import asyncio
import time

import pytest

from faults.client import client_of
from faults.processes import eventually
from faults.site import Page, Site
from faults.stack import BOTH, MakeStack, Say, Stack
from topologies import INVENTORY_KINDS

LEASE = 5  # seconds, which only a stopped process loses, even on a busy machine
IDLE_SECONDS = 36.0


@pytest.mark.parametrize("kind", INVENTORY_KINDS)
async def test_a_worker_that_slept_past_its_lease_changes_nothing_when_it_wakes(
    kind: str, site: Site, stacks: MakeStack, say: Say
) -> None:
    """Of one URL it hears when another worker has its answer, of the other while that one waits."""
    site.page = lambda path, which: Page(body=f"answer {which}")
    stack = await stacks(kind, site, lease=LEASE)
    slow, slower = site.url("/slow"), site.url("/slower")
    rigging = {"heartbeat": "1"} if "rabbitmq" in kind else {}  # it is RabbitMQ's lease
    await stack.start("api")
    first = await stack.start("worker", port=None, **rigging)
    async with client_of(stack.base) as client:
        site.hold("/slow")
        site.hold("/slower")
        await client.insist([slow, slower], batch=2)
        await eventually(lambda: site.requests == 2, what="the first fetches")
        first.stop()
        stopped = time.monotonic()
        await stack.start("worker")
        await eventually(lambda: site.requests == 3, what="what was stopped is fetched")
        taken_over = time.monotonic() - stopped
        [one] = [path for path in ("/slow", "/slower") if site.count(path) == 2]
        [other] = {"/slow", "/slower"} - {one}
        site.release(one)  # both get their answer; the first can't be read yet
        await eventually(lambda: site.count(other) == 2, what="one after the other")
        before = await client.get("/metadata", url=site.url(one))
        first.go_on()
        await first.said("attempt was superseded")
        await asyncio.sleep(2 * LEASE)  # which both try to renew
        assert site.count(other) == 2, "the second worker's lease holds"
        site.release(other)
        await client.insist([site.url(f"/next/{number}") for number in range(20)], batch=20)
        await stack.settled()
        assert before == await client.get("/metadata", url=site.url(one))
        records = [await client.get("/metadata", url=url) for url in (slow, slower)]
        truth = await stack.ends_well(client)
    say(f"taken over after {taken_over:.1f} s; {[record['processing'] for _, record in records]}")
    for status, record in records:
        assert (status, record["status"]) == (200, "COMPLETED")
        assert record["metadata"]["page_source"] == "answer 2"
        assert record["processing"]["attempt_number"] == 2
        assert record["processing"]["retry_count"] == 1
    assert first.output.count("attempt was superseded") == 2
    assert truth.statuses == {"COMPLETED": 22}
    assert site.requests == 24
    assert not truth.dead


async def test_a_submit_after_idling_is_picked_up_promptly(
    site: Site, stacks: MakeStack, say: Say
) -> None:
    installations = [await stacks(kind, site) for kind in BOTH]
    await asyncio.gather(
        *(stack.start(role) for stack in installations for role in ("api", "worker"))
    )
    await asyncio.sleep(IDLE_SECONDS)
    for stack in installations:
        delays = [await _pickup(stack, f"/{stack.kind}/{number}") for number in range(3)]
        say(f"{stack.kind}: {[f'{delay * 1000:.1f} ms' for delay in delays]}")
        assert delays[0] < 10, "what comes first after the pause"
        assert min(delays) < 1, "it looks now and then"
        stack.fleet.check()


async def _pickup(stack: Stack, path: str) -> float:
    """Seconds from the answer to the POST until the site is asked."""
    site = stack.site
    async with client_of(stack.base) as client:
        assert await client.post(site.url(path)) == 202
        answered = time.monotonic()
        await eventually(lambda: site.count(path), what="the site is asked")
    return max(0.0, site.arrivals[path][0] - answered)
