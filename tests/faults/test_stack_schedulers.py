"""Of two schedulers over one server one acts; when it dies the other takes over."""

from __future__ import annotations

import asyncio
import time

import pytest

from faults.client import client_of
from faults.processes import Process, eventually_async
from faults.site import Site
from faults.stack import MakeStack, Say, purge
from timeouts import TIMEOUT_SECONDS
from topologies import INVENTORY_KINDS
from webloom.bootstrap.services import Services
from webloom.stores.locks import StoredLocks

TICK = "0.5"  # seconds; the lock is held for two ticks


async def lock_holder(services: Services) -> tuple[int, int] | None:
    """Its pid, and the fencing token."""
    assert isinstance(services.lock, StoredLocks)
    found = await services.lock._documents.read(["scheduler"])
    seen = [each.heartbeat for each in await services.heartbeats.seen(within=TIMEOUT_SECONDS)]
    pids = {each.process_id: each.pid for each in seen}
    lease = found.get("scheduler")
    return None if lease is None or lease.owner not in pids else (pids[lease.owner], lease.token)


async def is_held_by(services: Services, process: Process, since: int) -> bool:
    """By a later token."""
    pid, token = await lock_holder(services) or (0, 0)
    return pid == process.pid and token > since


@pytest.mark.parametrize("kind", INVENTORY_KINDS)
async def test_a_scheduler_takes_over_from_one_that_was_killed_and_brings_back_what_was_purged(
    kind: str, site: Site, stacks: MakeStack, say: Say
) -> None:
    stack = await stacks(kind, site)
    _, one, two = await asyncio.gather(
        stack.start("api"),
        stack.start("scheduler", tick=TICK, quiet="1"),
        stack.start("scheduler", tick=TICK, quiet="1"),
    )
    async with stack.services() as services:
        holder = await eventually_async(lambda: lock_holder(services), what="one holds the lock")
    assert holder is not None
    pid, token = holder
    victim, heir = (one, two) if pid == one.pid else (two, one)
    urls = [site.url(f"/purged/{number}") for number in range(50)]
    async with client_of(stack.base) as client:
        await client.insist(urls, batch=50)
        victim.kill()
        killed = time.monotonic()
        assert stack.broker is not None
        await purge(stack.broker)
        async with stack.services() as services:
            await eventually_async(
                lambda: is_held_by(services, heir, token), what="the other has it"
            )
        taken_over = time.monotonic() - killed
        assert "put forgotten requests back" not in heir.output, "the queue has no worker"
        await stack.start("worker")
        truth = await stack.ends_well(client)
    say(f"taken over after {taken_over:.2f} s; {stack.summary(truth, client)}")
    assert "put forgotten requests back on the queue" in heir.output
    assert truth.statuses == {"COMPLETED": 50}
    assert truth.attempts == {1: 50}
    assert site.requests == 50
