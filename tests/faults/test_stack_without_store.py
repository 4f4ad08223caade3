"""An API whose store is killed or hangs, while its broker is up: it accepts, and repeats what it
has answered before. A process that starts meanwhile accepts, too."""

from __future__ import annotations

import asyncio
from typing import Literal

import pytest

from faults.client import Client, client_of
from faults.processes import eventually_async
from faults.site import Site
from faults.stack import MakeStack, Say
from servers.private import free_port
from topologies import INVENTORY_KINDS, LARGE

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


async def accept(client: Client, site: Site, name: str) -> None:
    """One, and as many as two parts of a batch."""
    assert await client.post(site.url(f"/{name}/one")) == 202
    assert await client.post_batch([site.url(f"/{name}/{n}") for n in range(600)]) == []


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
    store = stack.servers("store")
    await stack.start("api")
    await stack.start("worker")
    known, removed, unknown = site.url("/known"), site.url("/removed"), site.url("/unknown")
    async with client_of(stack.base, seconds=60) as client:
        for url in (known, removed):
            assert await client.post(url) == 202
            await completed(client, url)
        if outage == "killed":
            await asyncio.to_thread(store.kill)
        else:
            store.pause()
        await accept(client, site, "during")
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
        if outage == "killed":
            await asyncio.to_thread(store.start)
        else:
            store.resume()
        truth = await stack.ends_well(client)
    say(stack.told(truth, client))
    assert truth.statuses.keys() == {"COMPLETED"}
    assert not truth.dead
    assert len(client.accepted) == 2 + 3 * 601
