"""A database that reaches its limit, or its server's quota, while events, URLs and batches of an
import keep coming."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from faults.client import Client, client_of
from faults.conftest import MakeFleet
from faults.import_room import BigFeed, ImportRoom
from faults.processes import Process, eventually_async
from faults.site import Site
from faults.stack import MakeStack, Say
from faults.test_import_killed import make_room
from faults.test_watch_bad_input import large_event, publish, storage_health
from faults.watch_room import WatchRoom, make_watch_room, waiting
from servers.mongod import MongoServer
from servers.other_programs import TheirCollection, TheirTable
from servers.quota import Quota
from webloom.bootstrap.services import Services
from webloom.domain.errors import Unavailable
from webloom.domain.import_run import Counts, RunStatus
from webloom.domain.page import STORAGE_QUEUE

VERSIONS = 60
MIB = 1 << 20
ROOM = 4 * MIB  # that is left for what comes
URL = "https://shop.example/versions"


@asynccontextmanager
async def enforced(quota: Quota, services: Services, most: int) -> AsyncIterator[None]:
    """The server refuses writes while its database takes more than that."""

    async def look_on() -> None:
        while True:
            quota.is_used_up = await size_of(services) > most
            await asyncio.sleep(0.1)

    looking = asyncio.create_task(look_on())
    try:
        yield
    finally:
        looking.cancel()
        quota.is_used_up = False


async def size_of(services: Services) -> int:
    return (await services.sizes.size()).bytes


async def insist(services: Services, event: dict[str, Any]) -> None:
    """A queue in the same database can be full, too."""

    async def published() -> bool:
        try:
            await publish(services, event)
        except Unavailable:
            return False
        return True

    await eventually_async(published, what="the event is published")


async def stored(services: Services) -> None:
    """All events; the newest says so."""

    async def look() -> bool:
        try:
            return await waiting(services) == 0
        except Unavailable:
            return False

    await eventually_async(look, what="every event is stored")
    page = await services.pages.find_page("versions", URL)
    assert page is not None
    assert page.version == VERSIONS
    assert (await services.broker.depth(STORAGE_QUEUE)).dead == 0


async def submit(client: Client, site: Site) -> None:
    """URLs come in, too, and none is lost."""
    for number in range(20):
        await client.insist([site.url(f"/page/{number}")], batch=1)


async def all_fetched(services: Services, site: Site) -> None:
    async def look() -> bool:
        counts = await services.records.count_by_status()
        return counts["COMPLETED"] == 20  # type: ignore[index]

    await eventually_async(look, what="every URL is fetched and stored")
    assert len(site.arrivals) == 20


async def check_pruned(services: Services) -> list[int]:
    kept = [
        each.version for each in await services.page_history.versions("versions", URL, limit=100)
    ]
    assert kept[0] == VERSIONS, "the newest stays"
    assert len(kept) < VERSIONS, "older ones made room"
    return kept


async def run_through_the_limit(room: WatchRoom, site: Site, rng: random.Random, say: Say) -> None:
    async with room.services() as services, client_of(room.fleet.base) as client:
        submitting = asyncio.create_task(submit(client, site))
        for version in range(1, VERSIONS + 1):
            await insist(services, large_event(rng, "versions", URL, version))
        await stored(services)
        await submitting
        await all_fetched(services, site)
        kept = await check_pruned(services)

        async def is_well() -> bool:
            return await storage_health(client) == ("ok", None)

        await eventually_async(is_well, what="/health is well again")
        say(f"kept {len(kept)} of {VERSIONS} versions in {await size_of(services):,} bytes")
    await room.shut_down()


@pytest.mark.parametrize("kind", ["embedded", "mongodb+bullmq"])
async def test_a_limit_that_is_reached_loses_nothing(
    kind: str, site: Site, fleets: MakeFleet, stacks: MakeStack, rng: random.Random, say: Say
) -> None:
    room = await make_watch_room(kind, site, fleets, stacks, lease=3, slots=2, retry_delay=0.1)
    async with room.services() as services:
        room.fleet.settings["WEBLOOM_DATABASE_LIMIT"] = str(await size_of(services) + ROOM)
    await room.start("up", full_pause="0.5", look_seconds="0.2")
    await run_through_the_limit(room, site, rng, say)


async def test_a_quota_that_is_reached_loses_nothing(
    site: Site, fleets: MakeFleet, stacks: MakeStack, rng: random.Random, say: Say
) -> None:
    room = await make_watch_room(
        "mongodb+bullmq", site, fleets, stacks, lease=3, slots=2, retry_delay=0.1
    )
    server = room.servers["store"]
    assert isinstance(server, MongoServer)
    async with room.services() as direct, Quota(server).running() as quota:
        most = await size_of(direct) + ROOM
        room.fleet.settings["WEBLOOM_STORE"] = quota.url
        process = await room.start("up", full_pause="0.5", look_seconds="0.2")
        async with enforced(quota, direct, most):
            await run_through_the_limit(room, site, rng, say)
        say(f"{quota.refused} writes were refused")
        assert quota.refused > 0
        assert "the database is full" in process.output
        assert "the database has room again" in process.output


# Imports

POSTINGS = 10_000
ROOM_FOR_POSTINGS = 48 * MIB


def theirs_in(room: ImportRoom) -> TheirCollection | TheirTable:
    server = room.servers.get("store")
    if isinstance(server, MongoServer):
        return TheirCollection(server, room.fleet.settings["WEBLOOM_MONGODB_DATABASE"])
    return TheirTable(room.fleet.database)


@dataclass(kw_only=True)
class Import:
    """One that has begun."""

    room: ImportRoom
    services: Services
    client: Client
    process: Process
    feed: BigFeed
    run_id: str

    async def waits(self, *reasons: str) -> str:
        """Every client learns the reason, and can read the progress."""

        async def look() -> str | None:
            _, reported = await storage_health(self.client)
            return (
                reported if reported and "waiting for the database" in self.process.output else None
            )

        reported = await eventually_async(look, what="batches wait, and /health tells why")
        assert reported is not None
        waiting = [line for line in self.process.output.splitlines() if "waiting for the" in line]
        for reason in reasons:
            assert reason in reported
            assert reason in waiting[-1]
        run = await self.services.imports.listed_runs.find(self.run_id)
        assert run is not None
        assert run.status is RunStatus.RUNNING
        assert run.processed_batches < POSTINGS // 200
        return reported

    async def ends_exactly(self) -> None:
        run = await self.room.ended(self.services, self.run_id)
        await self.room.check(self.services, run, self.feed, Counts(new=POSTINGS))
        self.room.fleet.check()


@asynccontextmanager
async def importing(room: ImportRoom, site: Site) -> AsyncIterator[Import]:
    feed = BigFeed(jobs=list(range(POSTINGS)))
    site.page = feed.page
    process = await room.fleet.start("up")
    async with room.services() as services, client_of(room.fleet.base) as client:
        run_id = await room.start_run(services)
        yield Import(
            room=room, services=services, client=client, process=process, feed=feed, run_id=run_id
        )


@pytest.mark.parametrize("kind", ["embedded", "mongodb+bullmq"])
async def test_batches_wait_at_the_limit_and_are_stored_once(
    kind: str, site: Site, fleets: MakeFleet, stacks: MakeStack, say: Say
) -> None:
    room = await make_room(kind, site, fleets, stacks, lease=10, slots=2, import_queue_limit=20)
    async with room.services() as services:
        limit = await size_of(services) + ROOM_FOR_POSTINGS
    room.fleet.settings["WEBLOOM_DATABASE_LIMIT"] = str(limit)
    theirs = theirs_in(room)
    await asyncio.to_thread(theirs.fill, limit)
    async with importing(room, site) as begun:
        say(await begun.waits(f"WEBLOOM_DATABASE_LIMIT is {limit:,}", "raise the limit"))
        await asyncio.to_thread(theirs.remove)
        await begun.ends_exactly()


async def test_batches_wait_for_a_quota_and_are_stored_once(
    site: Site, fleets: MakeFleet, stacks: MakeStack, say: Say
) -> None:
    room = await make_room(
        "mongodb+bullmq", site, fleets, stacks, lease=10, slots=2, import_queue_limit=20
    )
    server = room.servers["store"]
    assert isinstance(server, MongoServer)
    async with Quota(server).running() as quota:
        room.fleet.settings["WEBLOOM_STORE"] = quota.url
        async with importing(room, site) as begun:
            await room.under_way(begun.services, begun.run_id)
            quota.is_used_up = True
            say(await begun.waits("over your space quota", "give it more room"))
            quota.is_used_up = False
            await begun.ends_exactly()
        assert quota.refused > 0
