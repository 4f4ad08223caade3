"""Of two schedulers over MongoDB one acts; when it dies the other takes over."""

from __future__ import annotations

import asyncio
import time

import pymongo
import pytest

from faults.client import client_of
from faults.processes import Process, eventually
from faults.site import Site
from faults.stack import MakeStack, Say, Stack, purge
from servers.mongod import MongoServer
from topologies import INVENTORY_KINDS

TICK = "0.5"  # seconds; the lock is held for two ticks


def lock_holder(stack: Stack) -> tuple[int, int] | None:
    """Its pid, and the fencing token."""
    assert isinstance(stack.store, MongoServer)
    with pymongo.MongoClient[dict[str, object]](stack.store.url) as client:
        database = client[stack.fleet.settings["WEBLOOM_MONGODB_DATABASE"]]
        if (lock := database["locks"].find_one({"_id": "scheduler"})) is None:
            return None
        beat = database["heartbeats"].find_one({"_id": lock["owner"]})
    return None if beat is None else (int(str(beat["pid"])), int(str(lock["token"])))


def is_held_by(stack: Stack, process: Process, since: int) -> bool:
    """By a later token."""
    pid, token = lock_holder(stack) or (0, 0)
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
    holder = await eventually(lambda: lock_holder(stack), what="one holds the lock")
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
        await eventually(lambda: is_held_by(stack, heir, token), what="the other has it")
        taken_over = time.monotonic() - killed
        assert "put forgotten requests back" not in heir.output, "nobody serves the queue"
        await stack.start("worker")
        truth = await stack.ends_well(client)
    say(f"taken over after {taken_over:.2f} s; {stack.told(truth, client)}")
    assert "put forgotten requests back on the queue" in heir.output
    assert truth.statuses == {"COMPLETED": 50}
    assert truth.attempts == {1: 50}
    assert site.requests == 50
