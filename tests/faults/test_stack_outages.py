"""A broker or a store that dies and comes back, or stops for a while, under load.

Without its broker the API refuses with 503, at once or after the time that a call may take; without
its store it goes on accepting. /health says what is down; nothing has to be restarted afterwards,
and nothing accepted is lost.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import AbstractAsyncContextManager
from typing import Literal

import pytest

from faults.client import Client, client_of
from faults.processes import eventually, eventually_async
from faults.site import Page, Site
from faults.stack import Load, MakeStack, Say, Stack
from servers.redis import RedisServer

Which = Literal["store", "broker"]

LONGEST_CALL = 40.0  # seconds; RabbitMQ has ten to confirm a message, and the machine may be busy
ANSWERS: dict[Which, int] = {"store": 200, "broker": 503}  # of /health, when one is down
PAUSES = {"rabbitmq": 13.0, "bullmq": 7.0, "mongodb": 7.0}  # longer than a call may take
KILLED = [
    ("mongodb+rabbitmq", "broker"),
    ("mongodb+bullmq", "broker"),
    ("mongodb+rabbitmq", "store"),
    pytest.param("replicas+bullmq", "store", marks=pytest.mark.thorough),
]
PAUSED: list[tuple[str, Which]] = [
    ("mongodb+rabbitmq", "broker"),
    ("mongodb+bullmq", "broker"),
    ("mongodb+bullmq", "store"),
]


async def says_that_it_is_down(
    stack: Stack, client: Client, which: Which, *, is_gone: bool
) -> dict[str, str]:
    async def look() -> dict[str, str] | None:
        status, dependencies = await stack.health(client)
        found = dependencies[which]
        if status != ANSWERS[which] or found["state"] != "down":
            return None
        return None if is_gone and found["connection"] == "READY" else found

    found = await eventually_async(look, what=f"/health says that the {which} is down")
    assert found is not None
    return found


async def says_that_all_is_well(stack: Stack, client: Client) -> bool:
    status, dependencies = await stack.health(client)
    return status == 200 and all(each["connection"] == "READY" for each in dependencies.values())


def statuses(client: Client) -> set[str]:
    """Beside them there may be a connection that the API closed, long idle, as it was used."""
    return {answer for answer in client.answers if answer.isdigit()}


def expected(which: Which) -> set[str]:
    return {"202"} if which == "store" else {"202", "503"}


def loaded(client: Client, site: Site) -> AbstractAsyncContextManager[Load]:
    return Load(client=client, site=site).running()


async def start(stack: Stack) -> None:
    await asyncio.gather(*(stack.start(role) for role in ("api", "worker", "worker")))


@pytest.mark.parametrize(("kind", "which"), KILLED)
async def test_a_server_that_is_killed_twice_under_load_loses_nothing_that_was_accepted(
    kind: str, which: Which, site: Site, stacks: MakeStack, say: Say
) -> None:
    site.seconds = 0.05
    stack = await stacks(kind, site, lease=3, retry_delay=0.2, slots=8, queue_limit=100_000)
    server = stack.servers(which)
    await start(stack)
    async with (
        client_of(stack.base, seconds=60) as client,
        Load(client=client, site=site).running() as load,
    ):
        for _ in range(2):
            await load.answered(202, since=time.monotonic())
            await asyncio.sleep(1)
            await asyncio.to_thread(server.kill)
            killed = time.monotonic()
            answered = await load.answered(202 if which == "store" else 503, since=killed)
            reported = await says_that_it_is_down(stack, client, which, is_gone=True)
            await asyncio.sleep(1)
            await asyncio.to_thread(server.start)
            back = time.monotonic()
            accepted = await load.answered(202, since=back)
            say(
                f"answered after {answered:.2f} s, 202 {accepted:.2f} s after its start: {reported}"
            )
    truth = await stack.ends_well(client)
    say(f"slowest answer {load.slowest():.1f} s; {stack.summary(truth, client)}")
    assert len(stack.fleet.processes) == 3, "nothing was restarted"
    assert statuses(client) == expected(which)
    assert load.slowest() < LONGEST_CALL
    assert truth.statuses.keys() == {"COMPLETED"}
    assert not truth.dead


@pytest.mark.parametrize(("kind", "which"), PAUSED)
async def test_a_server_that_stops_for_longer_than_a_call_may_take_loses_nothing(
    kind: str, which: Which, site: Site, stacks: MakeStack, say: Say
) -> None:
    site.seconds = 0.05
    stack = await stacks(kind, site, lease=3, retry_delay=0.2, slots=8, queue_limit=100_000)
    server = stack.servers(which)
    pause = PAUSES[kind.split("+")[which == "broker"]]
    await start(stack)
    async with (
        client_of(stack.base, seconds=60) as client,
        Load(client=client, site=site).running() as load,
    ):
        await load.answered(202, since=time.monotonic())
        await asyncio.sleep(1)
        server.pause()
        paused = time.monotonic()
        reported = await says_that_it_is_down(stack, client, which, is_gone=False)
        answered = await load.answered(202 if which == "store" else 503, since=paused)
        await asyncio.sleep(max(0.0, paused + pause - time.monotonic()))
        server.resume()
        resumed = time.monotonic()
        accepted = await load.answered(202, since=resumed)
        await eventually_async(lambda: says_that_all_is_well(stack, client), what="/health is well")
    truth = await stack.ends_well(client)
    say(f"answered after {answered:.2f} s, 202 {accepted:.2f} s after it went on: {reported}")
    say(f"slowest answer {load.slowest():.1f} s; {stack.summary(truth, client)}")
    assert len(stack.fleet.processes) == 3, "nothing was restarted"
    assert statuses(client) == expected(which)
    assert load.slowest() < LONGEST_CALL
    assert truth.statuses.keys() == {"COMPLETED"}
    assert not truth.dead


async def test_a_redis_without_memory_is_answered_with_503_until_there_is_room(
    site: Site, stacks: MakeStack, say: Say
) -> None:
    site.page = lambda path, which: Page(status=503 if "/flaky" in path and which == 1 else 200)
    stack = await stacks("mongodb+bullmq", site, lease=2, retry_delay=0.2)
    assert isinstance(stack.broker, RedisServer)
    await stack.start("api")
    await stack.start("worker")
    held = ["/held/1", "/held/2", "/flaky/1", "/flaky/2"]
    for path in held:
        site.hold(path)
    async with client_of(stack.base) as client:
        await client.insist([site.url(path) for path in held], batch=4)
        await eventually(lambda: all(site.count(path) for path in held), what="four fetches")
        await stack.broker.add_ballast(64 << 20)
        await stack.broker.limit_memory(-(32 << 20))
        async with loaded(client, site) as load:
            full = time.monotonic()
            await load.answered(503, since=full)
            refused = len(client.accepted)
            for path in held:  # what is in flight has to be settled meanwhile
                site.release(path)
            await asyncio.sleep(3)
            assert len(client.accepted) == refused
            await stack.broker.drop_ballast()
            freed = time.monotonic()
            accepted = await load.answered(202, since=freed)
        truth = await stack.ends_well(client)
    say(f"202 again {accepted:.2f} s after there was room; {stack.summary(truth, client)}")
    assert client.answers.keys() == {"202", "503"}
    assert truth.statuses.keys() == {"COMPLETED"}
    assert not truth.dead
