"""Dying processes and servers, lost answers, idling: nothing accepted is lost, nothing is late."""

from __future__ import annotations

import asyncio
import json
import sys
import textwrap
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from redis.asyncio import Redis

from contracts.waiting import depth_becomes, nothing_comes, take, until
from servers.redis import RedisServer
from timeouts import TIMEOUT_SECONDS
from webloom.adapters.bullmq import source
from webloom.adapters.bullmq.broker import BullmqBroker, open_bullmq
from webloom.adapters.system_clock import SystemClock
from webloom.domain.errors import BrokerUnavailable
from webloom.ports.broker import Delivery, Message, QueueDepth

pytestmark = pytest.mark.usefixtures("redis_server")  # left out where there is none

QUEUE = "queue"
EMPTY = QueueDepth(ready=0, delayed=0, in_flight=0, dead=0)


def message(name: str) -> Message:
    return Message(id=name, body=b"{}")


@asynccontextmanager
async def opened(
    url: str, *, lease: float = 15, limit: int | None = None
) -> AsyncIterator[BullmqBroker]:
    limits = {} if limit is None else {QUEUE: limit}
    async with open_bullmq(url, SystemClock(), limits=limits, lease=lease) as broker:
        yield broker


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path / "redis")
    with server.running():
        yield server


async def start_process(body: str, *arguments: str) -> asyncio.subprocess.Process:
    """A process that runs `body` with an open `broker` and `arguments`."""
    program = f"""
import asyncio, json, sys
from webloom.adapters.bullmq.broker import open_bullmq
from webloom.adapters.system_clock import SystemClock
from webloom.ports.broker import Message

async def main(url, *arguments):
    async with open_bullmq(url, SystemClock(), limits={{"queue": 100}}, lease=0.5) as broker:
{textwrap.indent(textwrap.dedent(body), "        ")}

asyncio.run(main(*sys.argv[1:]))
"""
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, *arguments, stdin=-1, stdout=-1
    )


async def said(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    async with asyncio.timeout(TIMEOUT_SECONDS):
        return (await process.stdout.readline()).decode().strip()


async def tell(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    process.stdin.write(b"go\n")
    await process.stdin.drain()


async def test_publishers_in_two_processes_fill_the_queue_to_exactly_its_limit(
    redis: RedisServer,
) -> None:
    body = """
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    async def publish(n):
        return await broker.publish_many("queue", [Message(id=f"{arguments[0]}.{n}", body=b"1")])
    answers = await asyncio.gather(*(publish(n) for n in range(300)))
    print(json.dumps([id for [id] in answers if id is not None]), flush=True)
    """
    processes = [await start_process(body, redis.url, name) for name in ("a", "b")]
    for process in processes:
        assert await said(process) == "ready"
    for process in processes:
        await tell(process)
    accepted = [json.loads(await said(process)) for process in processes]
    for process in processes:
        assert await process.wait() == 0
    assert sum(map(len, accepted)) == 100
    async with opened(redis.url) as broker:
        assert await broker.depth(QUEUE) == QueueDepth(ready=100, delayed=0, in_flight=0, dead=0)


async def test_the_message_of_a_killed_process_comes_again_however_often(
    redis: RedisServer,
) -> None:
    body = """
    async with broker.deliveries("queue", 1) as deliveries:
        delivery = await anext(deliveries)
        print(json.dumps([delivery.message_id, delivery.attempt, delivery.redelivered]), flush=True)
        await asyncio.sleep(600)
    """
    async with opened(redis.url, lease=0.5) as broker:
        await broker.publish(QUEUE, message("poison"))
        for attempt in (1, 2, 3, 4):
            victim = await start_process(body, redis.url)
            assert json.loads(await said(victim)) == ["poison", attempt, attempt > 1]
            victim.kill()
            await victim.wait()
        async with broker.deliveries(QUEUE, 1) as deliveries:
            survivor = await take(deliveries)
            assert (survivor.attempt, survivor.redelivered) == (5, True)
            await survivor.ack()
        await depth_becomes(broker, EMPTY)


async def retry_until_done(delivery: Delivery) -> None:
    async def buried() -> bool:
        try:
            await delivery.dead_letter("seven")
        except BrokerUnavailable:
            return False
        return True

    await until(buried)


async def test_a_killed_server_loses_nothing_that_was_accepted(redis: RedisServer) -> None:
    accepted: set[str] = set()
    served: Counter[str] = Counter()
    running = True

    async def publish(broker: BullmqBroker, publisher: int) -> None:
        n = 0
        while running:
            n += 1
            with suppress(BrokerUnavailable):
                accepted.add(await broker.publish(QUEUE, message(f"m{publisher}.{n}")))
            await asyncio.sleep(0.002)

    async with opened(redis.url, lease=2) as broker, opened(redis.url, lease=2) as publisher:
        async with broker.deliveries(QUEUE, 8) as deliveries:

            async def serve() -> None:
                while True:
                    delivery = await anext(deliveries)
                    served[delivery.message_id] += 1
                    if delivery.message_id.endswith("7"):
                        await retry_until_done(delivery)
                    else:
                        await delivery.ack()

            slots = [asyncio.create_task(serve()) for _ in range(8)]
            publishers = [asyncio.create_task(publish(publisher, n)) for n in range(4)]
            for round_ in range(4):
                goal = len(accepted) + 100, served.total() + 100

                async def more(goal: tuple[int, int] = goal) -> bool:
                    return len(accepted) > goal[0] and served.total() > goal[1]

                await until(more)
                if round_ < 3:
                    await asyncio.to_thread(redis.restart)
            running = False
            await asyncio.gather(*publishers)

            async def nothing_left() -> bool:
                try:
                    depth = await broker.depth(QUEUE)
                except BrokerUnavailable:
                    return False
                return (depth.ready, depth.delayed, depth.in_flight) == (0, 0, 0)

            await until(nothing_left)
            for slot in slots:
                slot.cancel()
            await asyncio.wait(slots)
        dead = {letter.id for letter in await broker.dead_letters(QUEUE, limit=100_000)}
    assert accepted <= served.keys()
    assert {name for name in accepted if name.endswith("7")} <= dead
    twice = sum(times > 1 for times in served.values())
    assert twice < len(served) / 4  # it comes again only around a kill


async def test_an_outage_longer_than_a_lease_takes_nobodys_work_away(redis: RedisServer) -> None:
    lease = 6.0  # it is renewed despite a stall of seconds
    async with (
        opened(redis.url, lease=lease) as broker,
        opened(redis.url, lease=lease) as other,
        broker.deliveries(QUEUE, 1) as deliveries,
        other.deliveries(QUEUE, 1) as others,
    ):
        await broker.publish(QUEUE, message("m"))
        both = [asyncio.ensure_future(anext(each)) for each in (deliveries, others)]
        async with asyncio.timeout(TIMEOUT_SECONDS):
            [done], [waiter] = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        held = done.result()
        await asyncio.to_thread(redis.kill)
        await asyncio.sleep(lease + 0.5)
        await asyncio.to_thread(redis.start)
        await asyncio.wait([waiter], timeout=2 * lease)
        assert not waiter.done()
        await held.ack()
        await depth_becomes(other, EMPTY)
        waiter.cancel()
        await asyncio.wait([waiter])


class LossyProxy:
    """Passes on to Redis, and back unless it has to lose the answers of scripts."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._serving: set[asyncio.Task[None]] = set()
        self.losing = False

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._serving.add(asyncio.create_task(self._serve(reader, writer)))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self._port)
        doomed = False

        async def back() -> None:
            while (data := await server_reader.read(1 << 16)) and not doomed:
                writer.write(data)
            writer.close()

        answers = asyncio.create_task(back())
        with suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                doomed = doomed or (self.losing and b"EVALSHA" in data)
                server_writer.write(data)
        server_writer.close()
        await asyncio.wait([answers])

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        async with await asyncio.start_server(self._accept, "127.0.0.1", 0) as listening:
            yield f"redis://127.0.0.1:{listening.sockets[0].getsockname()[1]}/0"
        await asyncio.wait(self._serving)  # all connections are closed


async def test_a_publish_whose_answer_was_lost_can_be_repeated(redis: RedisServer) -> None:
    proxy = LossyProxy(redis.port)
    async with (
        opened(redis.url) as witness,
        proxy.running() as url,
        opened(url, limit=2) as broker,
    ):
        await broker.publish(QUEUE, message("before"))
        await broker.publish(QUEUE, message("delayed before"), delay=60)
        lost = [("lost", 0.0, 2, 1), ("delayed", 60.0, 2, 2)]
        for name, delay, ready, delayed in lost:
            proxy.losing = True
            with pytest.raises(BrokerUnavailable):
                await broker.publish(QUEUE, message(name), delay=delay)
            proxy.losing = False
            expected = QueueDepth(ready=ready, delayed=delayed, in_flight=0, dead=0)
            assert await witness.depth(QUEUE) == expected  # it had arrived
            assert await broker.publish(QUEUE, message(name), delay=delay) == name
            assert await witness.depth(QUEUE) == expected


@pytest.mark.parametrize("verb", ["retry", "dead_letter"])
async def test_a_verb_whose_answer_was_lost_can_be_repeated(redis: RedisServer, verb: str) -> None:
    proxy = LossyProxy(redis.port)
    async with (
        proxy.running() as url,
        opened(url) as broker,
        broker.deliveries(QUEUE, 1) as deliveries,
    ):
        await broker.publish(QUEUE, message("m"))
        delivery = await take(deliveries)

        def settle() -> Awaitable[None]:
            return delivery.retry(60) if verb == "retry" else delivery.dead_letter("x")

        proxy.losing = True
        with pytest.raises(BrokerUnavailable):
            await settle()
        proxy.losing = False
        await settle()
        await settle()
        depth = await broker.depth(QUEUE)
        assert (depth.delayed, depth.dead) == ((1, 0) if verb == "retry" else (0, 1))


async def test_scripts_that_redis_has_forgotten_are_brought_again(redis: RedisServer) -> None:
    raw = Redis.from_url(redis.url)
    async with opened(redis.url) as broker, broker.deliveries(QUEUE, 3) as deliveries:
        names = [f"m{n}" for n in range(30)]
        for name in names:
            await raw.script_flush()
            await broker.publish_many(QUEUE, [message(name), message(name)])
            await raw.script_flush()
            delivery = await take(deliveries)
            assert delivery.message_id == name
            await raw.script_flush()
            await delivery.ack()
        await depth_becomes(broker, EMPTY)
    await raw.aclose()


class OffClock(SystemClock):
    """Of a machine whose clock was set wrongly, unlike the one of Redis."""

    def __init__(self, off: float) -> None:
        super().__init__()
        self._off = timedelta(seconds=off)

    def now(self) -> datetime:
        return super().now() + self._off


@pytest.mark.parametrize("off", [0.0, -3600.0, 3600.0])
async def test_delayed_messages_are_on_time(
    redis: RedisServer, monkeypatch: pytest.MonkeyPatch, off: float
) -> None:
    loop = asyncio.get_running_loop()
    due: dict[str, tuple[float, float]] = {}  # not before, and not after
    true_time = time.time
    monkeypatch.setattr(time, "time", lambda: true_time() + off)  # that the bullmq package reads
    async with (
        open_bullmq(redis.url, OffClock(off), limits={}, lease=15) as broker,
        broker.deliveries(QUEUE, 20) as deliveries,
    ):
        for delay in (1.1, 0.35, 0.7, 0.36, 0.9, 0.05):
            begun = loop.time()
            await broker.publish(QUEUE, message(f"after {delay}"), delay=delay)
            due[f"after {delay}"] = (begun + delay, loop.time() + delay)
        given_back = await take(deliveries)
        begun = loop.time()
        await given_back.retry(0.5)
        due[given_back.message_id] = (begun + 0.5, loop.time() + 0.5)
        order = []
        for _ in due:
            delivery = await take(deliveries)
            assert loop.time() > due[delivery.message_id][0] - 0.01, "too early"
            order.append(delivery.message_id)
            await delivery.ack()
    for one, next_one in pairwise(order):
        assert due[one][0] < due[next_one][1] + 0.01, "out of turn"


@pytest.fixture
def woken_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A consumer that is not woken does not look by itself for as long as a test waits."""
    monkeypatch.setattr(source, "BLOCK_SECONDS", 5 * TIMEOUT_SECONDS)


@pytest.mark.usefixtures("woken_only")
async def test_a_consumer_that_nobody_waits_at_wakes_the_next(redis: RedisServer) -> None:
    async with (
        opened(redis.url) as busy,
        opened(redis.url) as idle,
        busy.deliveries(QUEUE, 2) as first,
        idle.deliveries(QUEUE, 2) as second,
    ):
        await nothing_comes(first)  # it is the first that Redis will wake
        waiter = asyncio.ensure_future(anext(second))
        await asyncio.sleep(0.05)
        await busy.publish(QUEUE, message("m"))
        async with asyncio.timeout(TIMEOUT_SECONDS):
            assert (await waiter).message_id == "m"


@pytest.mark.usefixtures("woken_only")
async def test_a_consumer_that_ends_wakes_the_next(redis: RedisServer) -> None:
    async with (
        opened(redis.url) as leaving,
        opened(redis.url) as staying,
        staying.deliveries(QUEUE, 2) as deliveries,
    ):
        for n in range(10):
            async with leaving.deliveries(QUEUE, 1) as others:
                await nothing_comes(others, 0.02)
                waiter = asyncio.ensure_future(anext(deliveries))
                await asyncio.sleep(0.01)
                await leaving.publish(QUEUE, message(f"m{n}"))
            async with asyncio.timeout(TIMEOUT_SECONDS):
                delivery = await waiter
            assert delivery.message_id == f"m{n}"
            await delivery.ack()
