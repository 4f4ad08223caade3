"""Webloom and Node's BullMQ on one queue: each reads what the other wrote."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from contracts.waiting import depth_becomes, nothing_comes, take
from servers.private import Missing, program
from servers.redis import RedisServer
from timeouts import TIMEOUT_SECONDS
from webloom.adapters.bullmq.broker import BullmqBroker, open_bullmq
from webloom.adapters.system_clock import SystemClock
from webloom.ports.broker import Message, QueueDepth

pytestmark = pytest.mark.usefixtures("node", "redis_server")

QUEUE = "import-feed"
NODE = Path(__file__).parents[2] / "node"
EMPTY = QueueDepth(ready=0, delayed=0, in_flight=0, dead=0)
BATCH = {
    "runId": "run-1",
    "sourceUrl": "https://jobs.example/feed?a=1&b=ü",
    "batchIndex": 0,
    "totalBatches": 3,
    "jobs": [{"externalId": "17", "title": "Gärtner \U0001f331", "salary": 1234.5, "tags": []}],
}


@pytest.fixture
def node() -> str:
    """With the packages that the script needs."""
    if not (NODE / "node_modules" / "bullmq").is_dir():
        raise Missing(
            "Node", "make test installs the packages of tests/node where npm is installed"
        )
    return program("Node", "apt-get install nodejs npm", "node")


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path / "redis")
    with server.running():
        yield server


@pytest.fixture
async def broker(redis: RedisServer) -> AsyncIterator[BullmqBroker]:
    async with open_bullmq(redis.url, SystemClock(), limits={}, lease=15) as opened:
        yield opened


class Node:
    """Node's side of the queue."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._answers: asyncio.Queue[Any] = asyncio.Queue()
        self.seen: asyncio.Queue[dict[str, Any]] = asyncio.Queue()  # by its worker
        self.completed: asyncio.Queue[str] = asyncio.Queue()

    async def read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            said = json.loads(line)
            if "answer" in said:
                self._answers.put_nowait(said["answer"])
            elif "completed" in said:
                self.completed.put_nowait(said["completed"])
            else:
                self.seen.put_nowait({**said["seen"], "at": said["at"]})

    async def tell(self, what: str, **more: Any) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": what, **more}).encode() + b"\n")
        async with asyncio.timeout(TIMEOUT_SECONDS):
            return await self._answers.get()

    async def next_seen(self) -> dict[str, Any]:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            return await self.seen.get()

    async def next_completed(self) -> str:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            return await self.completed.get()


@asynccontextmanager
async def node_side(node: str, redis: RedisServer) -> AsyncIterator[Node]:
    process = await asyncio.create_subprocess_exec(
        node,
        str(NODE / "bullmq.mjs"),
        redis.url,
        QUEUE,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        limit=1 << 20,
    )
    side = Node(process)
    reading = asyncio.create_task(side.read())
    try:
        yield side
        assert process.stdin is not None
        process.stdin.close()
        async with asyncio.timeout(TIMEOUT_SECONDS):
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        await reading


@pytest.fixture
async def other(node: str, redis: RedisServer) -> AsyncIterator[Node]:
    async with node_side(node, redis) as side:
        yield side


async def test_a_worker_of_node_gets_a_batch_as_it_was_published(
    broker: BullmqBroker, other: Node
) -> None:
    await broker.publish(QUEUE, Message(id="run-1.0", body=json.dumps(BATCH).encode()))
    await other.tell("work")
    seen = await other.next_seen()
    assert (seen["id"], seen["name"], seen["data"]) == ("run-1.0", "IMPORT_FEED_BATCH", BATCH)
    assert await other.next_completed() == "run-1.0"
    await depth_becomes(broker, EMPTY, QUEUE)
    assert (await other.tell("counts"))["completed"] == 0  # nothing is left behind


async def test_a_worker_of_node_retries_with_growing_pauses(
    broker: BullmqBroker, other: Node
) -> None:
    await broker.publish(QUEUE, Message(id="m", body=b"{}"))
    await other.tell("work", failures=2)
    tries = [await other.next_seen() for _ in range(3)]
    assert [each["attemptsMade"] for each in tries] == [0, 1, 2]
    first, second = (later["at"] - earlier["at"] for earlier, later in pairwise(tries))
    assert first >= 2000
    assert second >= 4000
    assert await other.next_completed() == "m"


async def test_a_worker_of_node_fails_a_message_for_good_after_three_attempts(
    broker: BullmqBroker, other: Node
) -> None:
    await broker.publish(QUEUE, Message(id="m", body=b'{"a":1}'))
    await other.tell("work", failures=9)
    for _ in range(3):
        await other.next_seen()
    await depth_becomes(broker, QueueDepth(ready=0, delayed=0, in_flight=0, dead=1), QUEUE)
    [letter] = await broker.dead_letters(QUEUE, limit=10)
    assert (letter.id, letter.body, letter.reason) == ("m", b'{"a":1}', "not yet")


async def test_a_delayed_message_reaches_a_worker_of_node_in_time(
    broker: BullmqBroker, other: Node
) -> None:
    await other.tell("work")
    published = SystemClock().now().timestamp() * 1000
    await broker.publish(QUEUE, Message(id="m", body=b"{}"), delay=0.5)
    seen = await other.next_seen()
    assert seen["at"] - published >= 499
    assert await other.next_completed() == "m"


@pytest.mark.parametrize(
    "data",
    [BATCH, "text", 17, 1.5, None, True, [1, {"a": None}], {}],
    ids=["batch", "text", "number", "fraction", "null", "true", "array", "empty object"],
)
async def test_what_node_adds_is_delivered_as_it_was_added(
    broker: BullmqBroker, other: Node, data: object
) -> None:
    added = await other.tell("add", job="IMPORT_FEED_BATCH", data=data)
    async with broker.deliveries(QUEUE, 1) as deliveries:
        delivery = await take(deliveries)
        assert delivery.message_id == added["id"] == "1"
        assert json.loads(delivery.body) == data
        assert (delivery.attempt, delivery.redelivered) == (1, False)
        await delivery.ack()
    await depth_becomes(broker, EMPTY, QUEUE)


@pytest.mark.parametrize(
    ("opts", "message_id"),
    [
        ({}, "1"),
        ({"attempts": 5, "backoff": {"type": "exponential", "delay": 100}}, "1"),
        ({"delay": 300}, "1"),
        ({"priority": 5}, "1"),
        ({"jobId": "my-own"}, "my-own"),
        ({"jobId": "~odd%20id"}, "~odd%20id"),
        ({"lifo": True}, "1"),
        ({"removeOnComplete": 0, "removeOnFail": True}, "1"),
    ],
    ids=lambda value: json.dumps(value),
)
async def test_jobs_of_node_are_settled_whatever_their_options(
    broker: BullmqBroker, other: Node, opts: dict[str, object], message_id: str
) -> None:
    async with broker.deliveries(QUEUE, 1) as deliveries:
        await other.tell("add", job="any", data={"a": 1}, opts=opts)
        first = await take(deliveries)
        assert (first.message_id, first.attempt) == (message_id, 1)
        await first.retry()
        second = await take(deliveries)
        assert (second.message_id, second.attempt) == (message_id, 2)
        await second.dead_letter("bad")
        [letter] = await broker.dead_letters(QUEUE, limit=10)
        assert (letter.id, json.loads(letter.body), letter.reason) == (message_id, {"a": 1}, "bad")
        assert await broker.dead_letters(QUEUE, limit=10, after=message_id) == []
        assert await broker.put_back(QUEUE, message_id)
        third = await take(deliveries)
        assert (third.message_id, third.attempt) == (message_id, 1)
        await third.dead_letter("still bad")
        assert await broker.discard(QUEUE, message_id)
        assert await broker.depth(QUEUE) == EMPTY


async def test_urgent_jobs_of_node_come_first(broker: BullmqBroker, other: Node) -> None:
    for name, priority in (("later", 9), ("sooner", 2)):
        opts = {"jobId": name, "priority": priority}
        await other.tell("add", job="any", data={}, opts=opts)
    assert (await broker.depth(QUEUE)).ready == 2
    async with broker.deliveries(QUEUE, 1) as deliveries:
        for name in ("sooner", "later"):
            delivery = await take(deliveries)
            assert delivery.message_id == name
            await delivery.ack()


async def test_jobs_of_node_take_room_in_a_limited_queue(redis: RedisServer, other: Node) -> None:
    await other.tell("add", job="any", data={})
    await other.tell("add", job="any", data={}, opts={"priority": 1})
    messages = [Message(id=name, body=b"{}") for name in "abc"]
    async with open_bullmq(redis.url, SystemClock(), limits={QUEUE: 4}, lease=15) as limited:
        assert await limited.publish_many(QUEUE, messages) == ["a", "b", None]


async def test_node_sees_what_was_buried_and_can_put_it_back(
    broker: BullmqBroker, other: Node
) -> None:
    await broker.publish(QUEUE, Message(id="m", body=json.dumps(BATCH).encode()))
    async with broker.deliveries(QUEUE, 1) as deliveries:
        await (await take(deliveries)).dead_letter("the feed is broken: ä")
        [failed] = await other.tell("failed")
        assert (failed["id"], failed["data"]) == ("m", BATCH)
        assert failed["failedReason"] == "the feed is broken: ä"
        await other.tell("retry", id="m")
        again = await take(deliveries)
        assert (again.message_id, again.attempt) == ("m", 2)
        await again.ack()
    await depth_becomes(broker, EMPTY, QUEUE)


async def test_node_sees_what_waits_for_its_retry(broker: BullmqBroker, other: Node) -> None:
    await broker.publish(QUEUE, Message(id="m", body=b"{}"))
    async with broker.deliveries(QUEUE, 1) as deliveries:
        await (await take(deliveries)).retry(60)
    [delayed] = await other.tell("delayed")
    assert (delayed["id"], delayed["delay"]) == ("m", 60_000)
    assert delayed["attemptsMade"] == 0  # those are for a worker of Node's


async def test_a_queue_that_node_pauses_rests_until_it_is_resumed(
    broker: BullmqBroker, other: Node
) -> None:
    async with broker.deliveries(QUEUE, 1) as deliveries:
        await other.tell("pause")
        await broker.publish(QUEUE, Message(id="m", body=b"{}"))
        assert (await broker.depth(QUEUE)).ready == 1
        await nothing_comes(deliveries)
        await other.tell("resume")
        assert (await take(deliveries)).message_id == "m"


async def test_a_rate_limit_of_node_is_kept_and_not_overdone(
    broker: BullmqBroker, other: Node
) -> None:
    names = [f"m{n}" for n in range(20)]
    await other.tell("limit", max=1, duration=200)
    await broker.publish_many(QUEUE, [Message(id=name, body=b"{}") for name in names])
    loop = asyncio.get_running_loop()
    start = loop.time()
    async with broker.deliveries(QUEUE, 5) as deliveries:
        async with asyncio.timeout(TIMEOUT_SECONDS):  # which five seconds for each would exhaust
            for _ in names:
                await (await take(deliveries)).ack()
    assert loop.time() - start > 3.7


async def test_node_and_webloom_share_a_queue(broker: BullmqBroker, other: Node) -> None:
    names = {f"m{n}" for n in range(200)}
    await other.tell("work")
    ours: list[str] = []

    async def serve() -> None:
        while True:
            delivery = await anext(deliveries)
            ours.append(delivery.message_id)
            await delivery.ack()

    async with broker.deliveries(QUEUE, 2) as deliveries:
        slots = [asyncio.create_task(serve()) for _ in range(2)]
        await broker.publish_many(QUEUE, [Message(id=name, body=b"{}") for name in names])
        await depth_becomes(broker, EMPTY, QUEUE)
        for slot in slots:
            slot.cancel()
        await asyncio.wait(slots)
    await other.tell("counts")  # after everything that it has said before
    theirs = [other.seen.get_nowait()["id"] for _ in range(other.seen.qsize())]
    assert sorted(ours + theirs) == sorted(names)
