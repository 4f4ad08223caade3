"""kill -9 of workers and APIs over real servers: what was accepted is answered."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

import pytest

from faults.client import Client, client_of
from faults.site import Site
from faults.stack import MakeStack, Say
from faults.test_killed_processes import Reaper, kill_while_it_accepts
from topologies import INVENTORY_KINDS


@pytest.mark.parametrize("kind", INVENTORY_KINDS)
async def test_every_accepted_url_gets_its_record_when_workers_are_killed(
    kind: str, site: Site, stacks: MakeStack, rng: random.Random, say: Say
) -> None:
    site.seconds = 0.02
    stack = await stacks(kind, site, lease=2, retry_delay=0.2, slots=8, queue_limit=2000)
    urls = [site.url(f"/page/{number}") for number in range(800)]
    worker = Reaper(stack.fleet, "worker", rng, lambda: site.requests, life=160)
    await stack.start("api")
    async with client_of(stack.base) as client:
        submitting = asyncio.create_task(_submit(client, urls))
        try:
            await worker.run(4, lambda: len(site.arrivals) == len(urls))
            await submitting
        finally:
            submitting.cancel()
        truth = await stack.ends_well(client)
    say(f"{worker.kills} kills, {worker.kills_during_start} more while starting")
    say(stack.summary(truth, client))
    assert client.accepted == set(urls)
    assert truth.statuses["FAILED_PERMANENT"] <= 2, "the site is healthy"
    assert not truth.dead
    assert site.requests < len(urls) * 1.3, "what was done is not done again and again"


async def _submit(client: Client, urls: list[str]) -> None:
    """For as long as workers are killed."""
    for start in range(0, len(urls), 50):
        batch = urls[start : start + 50]
        await client.insist(batch[:40], batch=40)
        await client.insist(batch[40:], batch=1)
        await asyncio.sleep(0.25)


@pytest.mark.parametrize("kind", INVENTORY_KINDS)
async def test_a_url_that_kills_its_worker_fails_after_three_attempts_and_takes_no_other_with_it(
    kind: str, site: Site, stacks: MakeStack, say: Say
) -> None:
    site.seconds = 0.1
    stack = await stacks(kind, site, lease=5, slots=8)
    deadly = site.url("/deadly")
    others = [site.url(f"/page/{number}") for number in range(100)]
    deaths: list[int] = []

    async def keep_a_worker() -> None:
        while 0 not in deaths:
            worker = await stack.start("worker", deadly_path="/deadly")
            deaths.append(await worker.ended())

    await stack.start("api")
    async with client_of(stack.base) as client:
        await client.insist([*others[:50], deadly, *others[50:]], batch=101)
        keeping = asyncio.create_task(keep_a_worker())
        try:
            truth = await stack.ends_well(client)
            await keeping
        finally:
            keeping.cancel()
    losses = Counter(each.processing.retry_count for each in truth.records if each.url != deadly)
    failed = truth.of(deadly)
    say(f"the worker died {len(deaths)} times; attempts that its neighbours lost: {dict(losses)}")
    assert deaths == [-9, -9, -9, 0], "the last one ends on request"
    assert (failed.status, failed.processing.retry_count) == ("FAILED_PERMANENT", 3)
    assert failed.processing.error_message == "the worker stopped during each of 3 attempts"
    assert truth.statuses == {"COMPLETED": 100, "FAILED_PERMANENT": 1}
    assert max(losses) <= 1, "a neighbour takes the blame once at most"
    assert not truth.dead


@pytest.mark.parametrize("kind", INVENTORY_KINDS)
async def test_every_202_that_reached_a_client_is_completed_though_the_api_was_killed_meanwhile(
    kind: str, site: Site, stacks: MakeStack, rng: random.Random, say: Say
) -> None:
    stack = await stacks(kind, site, queue_limit=100_000, slots=64, lease=30)
    sent: list[str] = []
    async with client_of(stack.base) as client:
        for _ in range(4):
            api = await stack.start("api")
            await kill_while_it_accepts(api, client, site, sent, rng.randint(30, 150))
        await stack.start("worker")
        truth = await stack.ends_well(client)
    known = {record.url for record in truth.records}
    say(f"{len(sent)} sent, {len(client.accepted)} answered 202, {len(known)} fetched")
    assert len(client.accepted) > 100
    assert not client.server_errors
    assert known <= set(sent)
    assert truth.statuses == {"COMPLETED": len(known)}
    assert site.requests == len(known), "no worker was killed"
