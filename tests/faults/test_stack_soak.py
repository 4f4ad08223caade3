"""A minute of steady load: nothing that a process or a server keeps grows with what was done."""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from faults.client import client_of
from faults.processes import Process
from faults.site import Page, Site
from faults.stack import BOTH, Load, MakeStack, Say, Stack
from servers.rabbitmq import RabbitServer
from servers.redis import RedisServer

SECONDS = 50.0
WARM_UP = 10.0
PER_SECOND = 50.0  # on each of two stacks


@dataclass(frozen=True, kw_only=True)
class Figures:
    memory: list[float]  # MB of the API and the workers
    server: dict[str, int]


def megabytes(process: Process) -> float:
    status = Path(f"/proc/{process.pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) / 1024


async def figures(stack: Stack) -> Figures:
    memory = [round(megabytes(process), 1) for process in stack.fleet.processes]
    if isinstance(stack.broker, RabbitServer):
        server = {
            what: await asyncio.to_thread(stack.broker.listed, what)
            for what in ("connections", "channels", "queues")
        }
    else:
        assert stack.broker is not None
        keys = await stack.broker.keys(expiring=True)
        server = {
            "keys": len(keys),
            "events": sum(length for key, length in keys.items() if key.endswith(":events")),
            "clients": await stack.broker.client_count(),
        }
    return Figures(memory=memory, server=server)


def sometimes_failing(path: str, which: int) -> Page:
    """One in ten fails: half of them once, half for good."""
    number = int(path.rpartition("/")[2])
    fails = number % 10 == 0 and (which == 1 or number % 20 == 0)
    return Page(status=503 if fails else 200)


@pytest.mark.thorough
@pytest.mark.timeout(900)  # a load that takes minutes
async def test_what_processes_and_servers_keep_stays_bounded_under_steady_load(
    site: Site, stacks: MakeStack, say: Say
) -> None:
    site.page = sometimes_failing
    installations = [
        await stacks(kind, site, slots=8, retry_delay=0.5, queue_limit=10_000) for kind in BOTH
    ]
    await asyncio.gather(
        *(stack.start(role) for stack in installations for role in ("api", "worker", "worker"))
    )
    for stack, ran in zip(
        installations, await asyncio.gather(*map(soak, installations)), strict=True
    ):
        (early, late), load = ran
        truth = await stack.ends_well(load.client)
        say(f"{stack.kind}: {early} -> {late}; slowest answer {load.slowest():.2f} s")
        say(f"{stack.kind}: {dict(truth.statuses)}, {dict(truth.attempts)}")
        assert len(load.client.accepted) == load.requested
        assert load.requested > 500, "there was a load"
        assert truth.statuses["FAILED_PERMANENT"] == len(range(0, load.requested, 20))
        assert not truth.dead
        for before, after in zip(early.memory, late.memory, strict=True):
            assert after < before + 40, "MB"
        if isinstance(stack.broker, RabbitServer):
            assert late.server == early.server
            assert late.server["connections"] <= 3
        else:
            assert late.server["keys"] < 300, "jobs that are done are gone"
            assert late.server["events"] < 12_000
            assert late.server["clients"] <= early.server["clients"] + 3


async def soak(stack: Stack) -> tuple[tuple[Figures, Figures], Load]:
    until = time.monotonic() + SECONDS
    async with client_of(stack.base) as client:
        name = stack.kind.replace("+", "-")
        load = Load(
            client=client,
            site=stack.site,
            per_second=PER_SECOND,
            slow_rate=PER_SECOND,
            name=name,
        )
        async with load.running():
            await asyncio.sleep(WARM_UP)
            early = await figures(stack)
            await asyncio.sleep(until - time.monotonic())
            late = await figures(stack)
        await stack.settled()
    if isinstance(stack.broker, RedisServer):  # what a slow machine still had to do is not a leak
        late = replace(late, server=(await figures(stack)).server)
    return (early, late), load
