"""Another program deletes metadata_queue on RabbitMQ, or declares it in another way."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from pathlib import Path
from typing import Any

from faults.client import client_of
from faults.processes import Process, eventually, eventually_async
from faults.site import Site
from faults.stack import MakeStack, Say, Stack
from servers.rabbitmq import RabbitServer
from webloom.domain.inventory import METADATA_QUEUE

TICKS_PER_SECOND = 100  # of the kernel's account


async def declare_otherwise(stack: Stack) -> None:
    assert isinstance(stack.broker, RabbitServer)
    await stack.broker.delete_queues(METADATA_QUEUE)
    await stack.broker.declare_short_queue(METADATA_QUEUE)


def cpu_seconds(process: Process) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


async def test_a_deleted_queue_is_declared_again_and_requests_go_on(
    site: Site, stacks: MakeStack, say: Say
) -> None:
    stack = await stacks("mongodb+rabbitmq", site, retry_delay=1)
    assert isinstance(stack.broker, RabbitServer)
    await asyncio.gather(stack.start("api"), stack.start("worker"))
    async with client_of(stack.base) as client:
        for number in range(3):
            before = [site.url(f"/before/{number}/{each}") for each in range(10)]
            await client.insist(before, batch=10)
            await stack.settled()
            names = (METADATA_QUEUE, f"{METADATA_QUEUE}.again")[: 1 + number % 2]
            await stack.broker.delete_queues(*names)
            deleted = time.monotonic()
            path = f"/behind/{number}"
            await client.insist([site.url(path)], batch=1)
            await eventually(partial(site.count, path), what="it is served")
            say(f"served {site.arrivals[path][0] - deleted:.2f} s after the queue was deleted")
        truth = await stack.ends_well(client)
    assert client.answers.keys() == {"202"}
    assert truth.statuses == {"COMPLETED": 33}


async def test_a_queue_that_was_declared_otherwise_before_the_start_is_reported(
    site: Site, stacks: MakeStack, say: Say
) -> None:
    stack = await stacks("mongodb+rabbitmq", site)
    await declare_otherwise(stack)
    api = await stack.start("api")
    worker = stack.fleet.launch("worker")
    code = await worker.ended()
    async with client_of(stack.base) as client:
        assert await client.post(site.url("/")) == 503

        async def reported_by_health() -> tuple[int, dict[str, dict[str, Any]]] | None:
            status, dependencies = await stack.health(client)
            reported = str(dependencies["broker"]["detail"])
            return None if "no answer within" in reported else (status, dependencies)

        found = await eventually_async(
            reported_by_health, what="/health has an answer of the broker"
        )
        assert found is not None
        status, dependencies = found
    say(f"the worker ended with {code}: {worker.output}; /health: {status} {dependencies}")
    assert code == 1
    assert "webloom: the queue metadata_queue" in worker.output
    assert (status, dependencies["broker"]["state"]) == (503, "down")
    for reported in (worker.output, dependencies["broker"]["detail"]):
        assert "the queue metadata_queue" in reported
        assert "WEBLOOM_QUEUE_LIMIT" in reported, "it says what to do"
    assert api.alive
    stack.fleet.check()


async def test_a_queue_that_is_declared_otherwise_while_in_use_is_reported_and_waited_for(
    site: Site, stacks: MakeStack, say: Say
) -> None:
    stack = await stacks("mongodb+rabbitmq", site)
    assert isinstance(stack.broker, RabbitServer)
    api, worker = await asyncio.gather(stack.start("api"), stack.start("worker"))
    async with client_of(stack.base) as client:
        await client.insist([site.url("/before")], batch=1)
        await stack.settled()
        worker.stop()  # it would declare the queue first
        await declare_otherwise(stack)
        worker.go_on()

        async def is_reported() -> bool:
            status, dependencies = await stack.health(client)
            reported = str(dependencies["broker"]["detail"])
            return status == 503 and "the queue metadata_queue" in reported

        await eventually_async(is_reported, what="/health tells it")
        await worker.said("the queue metadata_queue")
        spent = [cpu_seconds(each) for each in (api, worker)]
        lines = worker.output.count("\n")
        await asyncio.sleep(4)
        spent = [cpu_seconds(each) - was for each, was in zip((api, worker), spent, strict=True)]
        said = worker.output.count("\n") - lines
        say(f"in 4 s: {spent} CPU seconds of API and worker, {said} lines of the worker")
        assert max(spent) < 1, "no hot loop"
        assert said < 20
        await stack.broker.delete_queues(METADATA_QUEUE)
        await client.insist([site.url("/behind")], batch=1)
        truth = await stack.ends_well(client)
    assert truth.statuses == {"COMPLETED": 2}
