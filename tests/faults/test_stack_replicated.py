"""The replicated kinds of everything: a replica set, and quorum queues."""

from __future__ import annotations

import pytest

from faults.client import client_of
from faults.processes import eventually
from faults.site import Site
from faults.stack import MakeStack, Say


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["replicas+rabbitmq"])
async def test_every_url_is_answered_over_a_replica_set_and_quorum_queues(
    kind: str, site: Site, stacks: MakeStack, say: Say
) -> None:
    site.seconds = 0.02
    stack = await stacks(kind, site, lease=2, slots=8, quorum_queues=True)
    urls = [site.url(f"/page/{number}") for number in range(400)]
    await stack.start("api")
    worker = await stack.start("worker")
    async with client_of(stack.base) as client:
        await client.insist(urls[:200], batch=50)
        await eventually(lambda: site.requests > 50, what="it fetches")
        worker.kill()
        await stack.start("worker")
        await client.insist(urls[200:], batch=1)
        truth = await stack.ends_well(client)
    say(stack.summary(truth, client))
    assert client.accepted == set(urls)
    assert truth.statuses == {"COMPLETED": len(urls)}
    assert site.requests <= len(urls) + 8, "what the killed worker had in its slots comes again"
