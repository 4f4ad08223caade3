"""A store that is killed or hangs, while the broker is up. The API accepts, and repeats what it has
answered before; a process that starts meanwhile accepts, too. Every URL, event and batch of an
import that is accepted ends up stored once."""

from __future__ import annotations

import asyncio
import time
from typing import Literal

import pytest

from faults.client import Client, client_of
from faults.import_room import PATH, BigFeed, ImportRoom
from faults.processes import eventually_async
from faults.site import Page, Site
from faults.stack import EventLoad, Load, MakeStack, Say, away
from servers.private import free_port
from topologies import INVENTORY_KINDS, LARGE
from webloom.domain.import_run import Counts

OUTAGES = [
    pytest.param("killed", 0.0, id="killed"),
    pytest.param("hanging", 0.0, id="hanging"),
    pytest.param("killed", 60.0, id="killed for a minute", marks=LARGE),
    pytest.param("hanging", 60.0, id="hanging for a minute", marks=LARGE),
]


async def completed(client: Client, url: str) -> None:
    async def look() -> bool:
        status, body = await client.get("/metadata", url=url)
        return status == 200 and body["status"] == "COMPLETED"

    await eventually_async(look, what=f"{url} is completed")


TWO_PARTS = 600  # of a batch


async def accept(client: Client, site: Site, name: str, batch: int = 20) -> None:
    """One, and a batch."""
    assert await client.post(site.url(f"/{name}/one")) == 202
    assert await client.post_batch([site.url(f"/{name}/{n}") for n in range(batch)]) == []


@pytest.mark.parametrize("kind", INVENTORY_KINDS)
@pytest.mark.parametrize(("outage", "seconds"), OUTAGES)
async def test_an_api_without_its_store_accepts_and_repeats_recent_answers(
    kind: str,
    outage: Literal["killed", "hanging"],
    seconds: float,
    site: Site,
    stacks: MakeStack,
    say: Say,
) -> None:
    stack = await stacks(kind, site, lease=3, retry_delay=0.2, slots=8, queue_limit=100_000)
    await stack.start("api")
    await stack.start("worker")
    known, removed, unknown = site.url("/known"), site.url("/removed"), site.url("/unknown")
    async with client_of(stack.base, seconds=60) as client:
        for url in (known, removed):
            assert await client.post(url) == 202
            await completed(client, url)
        async with away(stack.servers("store"), outage):
            await accept(client, site, "during", TWO_PARTS)
            assert await client.get_status("/metadata", url=unknown) == 503
            assert await client.delete("/metadata", url=removed) == 503
            assert await client.get_status("/metadata", url=removed) == 503, "it is not repeated"
            port = free_port()
            await stack.start("api", port=port)
            async with client_of(f"http://127.0.0.1:{port}", seconds=60) as newcomer:
                await accept(newcomer, site, "newcomer")
                assert await newcomer.get_status("/metadata", url=known) == 503
                assert await newcomer.get_status("/health/ready") == 200
            client.accepted |= newcomer.accepted
            await asyncio.sleep(seconds)
            await accept(client, site, "late")
            status, body = await client.get("/metadata", url=known)
            assert (status, body["status"], body["stale"]) == (200, "COMPLETED", True)
            status, health = await client.get("/health/ready")
            assert (status, health["status"]) == (200, "degraded")
        truth = await stack.ends_well(client)
    say(stack.summary(truth, client))
    assert truth.statuses.keys() == {"COMPLETED"}
    assert not truth.dead
    assert len(client.accepted) == 2 + (1 + TWO_PARTS) + 2 * (1 + 20)


POSTINGS = 10_000
EVERY_BROKER = [
    "mongodb+bullmq",
    pytest.param("mongodb+rabbitmq", marks=LARGE),
    pytest.param("mongodb+file", marks=LARGE),
]


@pytest.mark.parametrize("kind", EVERY_BROKER)
@pytest.mark.parametrize(("outage", "seconds"), OUTAGES)
async def test_urls_events_and_batches_that_come_without_the_store_are_stored_once(
    kind: str,
    outage: Literal["killed", "hanging"],
    seconds: float,
    site: Site,
    stacks: MakeStack,
    say: Say,
) -> None:
    stack = await stacks(
        kind, site, lease=10, retry_delay=0.2, slots=8, queue_limit=100_000, import_queue_limit=20
    )
    room = ImportRoom(fleet=stack.fleet, site=site)
    feed = BigFeed(jobs=list(range(POSTINGS)))
    site.page = lambda path, which: feed.page(path, which) if path == PATH else Page()
    for role in ("api", "worker", "scheduler"):
        await stack.start(role)
    async with stack.services() as services, client_of(stack.base, seconds=60) as client:
        urls = Load(client=client, site=site, per_second=20)
        events = EventLoad(client=client, site=site, per_second=20)
        async with urls.running(), events.running():
            run_id = await room.start_run(services)
            await room.under_way(services, run_id)
            async with away(stack.servers("store"), outage):
                since = time.monotonic()
                for load in (urls, events):
                    await load.answered(202, since=since)
                await asyncio.sleep(seconds)
                for load in (urls, events):
                    await load.answered(202, since=time.monotonic())
        back = time.monotonic()
        run = await room.ended(services, run_id)
        await room.check(services, run, feed, Counts(new=POSTINGS))
        await events.stored(services)
        truth = await stack.ends_well(client)
        await events.check(services)
    say(
        f"{len(client.accepted)} URLs, {len(events.accepted)} events, {POSTINGS} postings; all "
        f"stored {time.monotonic() - back:.1f} s after the store was back; "
        f"{stack.summary(truth, client)}"
    )
    assert truth.statuses.keys() == {"COMPLETED"}
    assert not truth.dead
    assert set(client.answers) == {"202"}, "none was refused"
