"""A full queue over real servers: exactly its limit is accepted, and retries have room anyhow."""

from __future__ import annotations

import asyncio

import pytest

from faults.client import client_of
from faults.processes import eventually, eventually_async
from faults.site import Page, Site
from faults.stack import MakeStack, Say
from servers.private import free_port
from topologies import INVENTORY_KINDS

LIMITS = [("mongodb+rabbitmq", 1000), ("mongodb+bullmq", 1000), ("sqlite+rabbitmq", 200)]


@pytest.mark.parametrize(("kind", "limit"), LIMITS)
async def test_exactly_the_limit_is_accepted_by_two_apis_and_a_worker_makes_room(
    kind: str, limit: int, site: Site, stacks: MakeStack, say: Say
) -> None:
    settings = {} if limit == 1000 else {"queue_limit": limit}
    stack = await stacks(kind, site, **settings)
    second = free_port()
    await asyncio.gather(stack.start("api"), stack.start("api", port=second))
    urls = [site.url(f"/page/{number}") for number in range(limit + 300)]
    async with client_of(stack.base, f"http://127.0.0.1:{second}") as client:
        async with asyncio.TaskGroup() as group:
            for url in urls[:200]:
                group.create_task(client.post(url))
            for start in range(200, len(urls), 50):
                group.create_task(client.post_batch(urls[start : start + 50]))
        assert len(client.accepted) == limit
        assert await client.post(site.url("/one-more")) == 503
        assert await client.post_batch([site.url("/one-more")]) == [site.url("/one-more")]
        assert (await stack.queue(client))["ready"] == limit
        say(f"full: {dict(client.answers)}, {dict(client.server_errors)}")
        assert set(client.answers) == {"202", "503"}
        assert all("which is its limit" in detail for detail in client.server_errors)
        await stack.start("worker")
        await client.insist([url for url in urls if url not in client.accepted], batch=50)
        truth = await stack.ends_well(client)
    say(stack.summary(truth, client))
    assert client.accepted == set(urls)
    assert truth.statuses == {"COMPLETED": len(urls)}
    assert site.requests == len(urls)


@pytest.mark.parametrize("kind", INVENTORY_KINDS)
async def test_retries_that_come_due_while_the_queue_is_full_are_not_lost(
    kind: str, site: Site, stacks: MakeStack, say: Say
) -> None:
    site.page = lambda path, which: Page(status=500 if "/flaky" in path and which == 1 else 200)
    flaky = [f"/flaky/{number}" for number in range(30)]
    held = [f"/held/{number}" for number in range(4)]
    limit = 50
    slots = 4
    stack = await stacks(kind, site, slots=slots, queue_limit=limit, retry_delay=10)
    await asyncio.gather(stack.start("api"), stack.start("worker"))
    for path in held:
        site.hold(path)
    async with client_of(stack.base) as client:
        await client.insist([site.url(path) for path in flaky], batch=10)
        await eventually(lambda: all(site.count(path) for path in flaky), what="each failed once")
        await client.insist([site.url(path) for path in held], batch=4)
        await eventually(lambda: all(site.count(path) for path in held), what="no slot is free")
        early = sum(site.count(path) == 2 for path in flaky)
        assert early < len(flaky), "retries are still to come"
        fillers = [site.url(f"/filler/{number}") for number in range(limit + 1)]
        filling = len(fillers) - len(await client.post_batch(fillers))

        async def all_are_due() -> bool:
            queue = await stack.queue(client)
            at_worker = filling + len(flaky) - early - queue["ready"]
            # From RabbitMQ 4 on, the worker may have as many retries as slots in its memory.
            return bool(queue["delayed"] == 0 and 0 <= at_worker <= slots)

        await eventually_async(all_are_due, what="all retries are due")
        assert await client.post(site.url("/one-more")) == 503
        for path in held:
            site.release(path)
        truth = await stack.ends_well(client)
    say(f"{early} retried before the queue was full; {stack.summary(truth, client)}")
    assert 0 < filling <= limit, "what was due by then took its room"
    assert truth.statuses == {"COMPLETED": len(flaky) + len(held) + filling}
    assert {site.count(path) for path in flaky} == {2}
    assert site.requests == 2 * len(flaky) + len(held) + filling
    assert not truth.dead
