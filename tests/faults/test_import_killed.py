"""kill -9 of everything that takes part in an import: every record once, every counter right."""

from __future__ import annotations

import random

import pytest

from faults.conftest import MakeFleet
from faults.import_room import BigFeed, Havoc, ImportRoom
from faults.site import Site
from faults.stack import MakeStack, Say
from topologies import FEED_AND_WATCH_KINDS, LARGE
from webloom.domain.import_run import Counts, RunStatus

SIZES = [
    pytest.param(30_000, 5, id="30,000"),
    pytest.param(100_000, 10, id="100,000", marks=LARGE),
]


async def make_room(
    kind: str, site: Site, fleets: MakeFleet, stacks: MakeStack, **settings: object
) -> ImportRoom:
    if kind == "embedded":
        return ImportRoom(fleet=fleets(site, data=None, prefix=(), **settings), site=site)
    stack = await stacks(kind, site, **settings)
    servers = {"store": stack.servers("store"), "broker": stack.servers("broker")}
    return ImportRoom(fleet=stack.fleet, site=site, servers=servers)


@pytest.mark.parametrize(("items", "kills"), SIZES)
@pytest.mark.parametrize("kind", FEED_AND_WATCH_KINDS)
async def test_a_run_ends_with_every_posting_once_and_every_counter_right(
    kind: str,
    items: int,
    kills: int,
    site: Site,
    fleets: MakeFleet,
    stacks: MakeStack,
    rng: random.Random,
    say: Say,
) -> None:
    room = await make_room(kind, site, fleets, stacks, lease=2, import_queue_limit=20)
    feed = BigFeed(
        jobs=list(range(items)), twice=frozenset(range(0, items, 1000)), untitled=frozenset({7, 77})
    )
    site.page = feed.page
    havoc = Havoc(room, rng)
    async with room.services() as services:
        await havoc.begin("scheduler", "worker")
        run_id = await room.start_run(services)

        await havoc.rage(kills, lambda: room.is_over(services, run_id))
        run = await room.ended(services, run_id)
        await havoc.settle()
        say(f"killed {havoc.killed}; {run.counts}; {run.duration_ms} ms; {site.requests} fetches")
        assert run.status is RunStatus.PARTIAL, run.error
        expected = Counts(new=items - 2, duplicate=items // 1000, failed=2)
        await room.check(services, run, feed, expected)
        assert len(havoc.killed) == kills, "the import was over too soon"
    room.fleet.check()
