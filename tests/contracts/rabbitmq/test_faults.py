"""The RabbitMQ broker while its server is killed, paused, cut off and tampered with.

What was confirmed is served in the end, however often; nothing else is asked of a fault.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress

import pytest
from aiormq.exceptions import ChannelNotFoundEntity

from contracts.rabbitmq_tools import (
    becomes,
    message,
    opened,
    serving,
)
from contracts.waiting import depth_becomes, take, until
from servers.rabbitmq import RabbitServer
from servers.shared import SharedServers
from timeouts import TIMEOUT_SECONDS
from webloom.adapters.rabbitmq import session
from webloom.adapters.rabbitmq.broker import RabbitBroker, open_rabbitmq
from webloom.adapters.system_clock import SystemClock
from webloom.domain.errors import BrokerUnavailable, QueueFull
from webloom.ports.broker import QueueDepth


@pytest.fixture
def server(shared_servers: SharedServers) -> RabbitServer:
    """One that these tests may kill."""
    server = shared_servers.get("rabbitmq-to-kill", RabbitServer)
    assert isinstance(server, RabbitServer)
    server.ensure_running()
    return server


class MemoryAlarm:
    def __init__(self, server: RabbitServer) -> None:
        self._server = server
        self.is_on = False

    def set(self) -> None:
        self.is_on = True  # even if the command fails: it may have been carried out
        self._server.ctl("set_vm_memory_high_watermark", "0.0000001")

    def clear(self) -> None:
        self._server.ctl("set_vm_memory_high_watermark", "0.4")
        self.is_on = False


@pytest.fixture
def memory_alarm(server: RabbitServer) -> Iterator[MemoryAlarm]:
    """Off after the test, however that ends: other tests use the same server."""
    alarm = MemoryAlarm(server)
    yield alarm
    if alarm.is_on:
        alarm.clear()


@asynccontextmanager
async def publishing(broker: RabbitBroker, queue: str) -> AsyncIterator[list[str]]:
    """Ten publishers that never give up; yields what was confirmed so far."""
    confirmed: list[str] = []

    async def publish(publisher: int) -> None:
        n = 0
        while True:
            n += 1
            with suppress(BrokerUnavailable):
                confirmed.append(await broker.publish(queue, message(f"m{publisher}.{n}")))
            await asyncio.sleep(0.03)  # or consumers have far more than they can serve

    tasks = [asyncio.create_task(publish(publisher)) for publisher in range(10)]
    try:
        yield confirmed
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def serve_all(broker: RabbitBroker, queue: str, expected: set[str]) -> list[str]:
    served: list[str] = []
    async with broker.deliveries(queue, 20) as deliveries, serving(deliveries, 20, served):
        with suppress(TimeoutError):
            await becomes(lambda: expected <= set(served), TIMEOUT_SECONDS)
    missing = sorted(expected - set(served))
    assert not missing, f"not served: {missing}; {await broker.depth(queue)}"
    return served


async def restart(server: RabbitServer) -> None:
    await asyncio.to_thread(server.restart)


async def test_three_thousand_at_once_fill_the_queue_to_exactly_a_thousand(
    server: RabbitServer, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "ANSWER_SECONDS", TIMEOUT_SECONDS)  # all that wait in one line
    async with opened(server, **{queue: 1000}) as broker:
        answers = await asyncio.gather(
            *(broker.publish(queue, message(f"m{n}")) for n in range(3000)), return_exceptions=True
        )
        assert sum(isinstance(answer, str) for answer in answers) == 1000
        assert sum(isinstance(answer, QueueFull) for answer in answers) == 2000
        assert (await broker.depth(queue)).ready == 1000


async def test_confirmed_messages_survive_the_death_of_the_server(
    server: RabbitServer, queue: str
) -> None:
    async with opened(server) as broker:
        async with publishing(broker, queue) as confirmed:
            await becomes(lambda: len(confirmed) >= 200)
            await restart(server)
            before = len(confirmed)
            await becomes(lambda: len(confirmed) >= before + 200, TIMEOUT_SECONDS)
        await serve_all(broker, queue, set(confirmed))


async def test_a_server_that_is_gone_refuses_at_once_and_is_found_again(
    server: RabbitServer, queue: str
) -> None:
    async with opened(server) as broker:
        await broker.publish(queue, message("before"))
        server.kill()
        await becomes(lambda: broker.connection().state != "READY")
        for attempt in (
            broker.publish(queue, message("m")),
            broker.publish_many(queue, [message("m")]),
            broker.depth(queue),
            broker.dead_letters(queue, limit=1),
            broker.put_back(queue, "m"),
        ):
            async with asyncio.timeout(TIMEOUT_SECONDS):  # by what it says, it did not wait
                with pytest.raises(BrokerUnavailable, match="not connected to RabbitMQ"):
                    await attempt
        assert broker.connection().detail is not None
        await asyncio.to_thread(server.start)
        await becomes(lambda: broker.connection().state == "READY", TIMEOUT_SECONDS)
        assert broker.connection().detail is None
        await broker.publish(queue, message("after"))
        assert set(await serve_all(broker, queue, {"before", "after"})) == {"before", "after"}


async def test_a_consumer_comes_back_after_every_forced_close(
    server: RabbitServer, queue: str
) -> None:
    served: list[str] = []
    async with opened(server) as publisher, opened(server) as consumer:
        async with (
            consumer.deliveries(queue, 8) as deliveries,
            serving(deliveries, 8, served),
            publishing(publisher, queue) as confirmed,
        ):
            for _ in range(3):
                more = len(served) + 50
                await becomes(lambda more=more: len(served) >= more, TIMEOUT_SECONDS)  # type: ignore[misc]
                await asyncio.to_thread(server.ctl, "close_all_connections", "for a test")
        async with consumer.deliveries(queue, 8) as deliveries, serving(deliveries, 8, served):
            await becomes(lambda: set(confirmed) <= set(served), TIMEOUT_SECONDS)
    duplicates = len(served) - len(set(served))
    assert duplicates <= 3 * (8 + 10)  # held by a slot, or published again, at each close


async def test_a_paused_server_is_given_up_and_found_again(
    server: RabbitServer, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[str] = []
    async with (
        opened(server) as broker,
        broker.deliveries(queue, 4) as deliveries,
        serving(deliveries, 4, served),
    ):
        await broker.publish(queue, message("before"))
        server.pause()
        try:
            with monkeypatch.context() as patch:
                patch.setattr(session, "ANSWER_SECONDS", 1.0)
                with pytest.raises(BrokerUnavailable):
                    await broker.publish(queue, message("lost or not"))
            await becomes(lambda: broker.connection().state != "READY")
        finally:
            server.resume()
        await becomes(lambda: broker.connection().state == "READY", TIMEOUT_SECONDS)
        await broker.publish(queue, message("after"))
        await becomes(lambda: {"before", "after"} <= set(served), TIMEOUT_SECONDS)


async def test_a_memory_alarm_is_reported_and_the_connection_stays_open(
    server: RabbitServer,
    queue: str,
    memory_alarm: MemoryAlarm,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with opened(server) as broker, broker.deliveries(queue, 1) as deliveries:
        await broker.publish(queue, message("held"))
        held = await take(deliveries)
        await asyncio.to_thread(memory_alarm.set)
        with monkeypatch.context() as patch:
            patch.setattr(session, "ANSWER_SECONDS", 5.0)
            with pytest.raises(BrokerUnavailable):
                await broker.publish(queue, message("makes the server block us"))
        for attempt in (broker.publish(queue, message("m")), broker.depth(queue)):
            async with asyncio.timeout(TIMEOUT_SECONDS):  # the message proves that it did not wait
                with pytest.raises(BrokerUnavailable, match="short of memory"):
                    await attempt
        await asyncio.to_thread(memory_alarm.clear)

        async def published() -> bool:
            try:
                await broker.publish(queue, message("after"))
            except BrokerUnavailable:
                return False
            return True

        await until(published)
        await held.retry()  # the connection is the same one
        names: set[str] = set()
        while not {"held", "after"} <= names:
            delivery = await take(deliveries)
            assert not delivery.redelivered
            names.add(delivery.message_id)
            await delivery.ack()


async def test_a_retry_that_falls_due_while_the_queue_is_full_is_not_lost(
    server: RabbitServer, queue: str
) -> None:
    async with opened(server, **{queue: 10}) as broker:
        await broker.publish_many(queue, [message(f"held {n}") for n in range(5)])
        async with broker.deliveries(queue, 5) as deliveries:
            for held in [await take(deliveries) for _ in range(5)]:
                await held.retry(0.2)
        answers = await broker.publish_many(queue, [message(f"fills {n}") for n in range(12)])
        assert answers.count(None) == 2
        await depth_becomes(
            broker, QueueDepth(ready=15, delayed=0, in_flight=None, dead=0), queue=queue
        )
        expected = {f"held {n}" for n in range(5)} | {f"fills {n}" for n in range(10)}
        assert sorted(await serve_all(broker, queue, expected)) == sorted(expected)


async def test_retries_that_wait_and_move_survive_the_death_of_the_server(
    server: RabbitServer, queue: str
) -> None:
    names = {f"m{n}" for n in range(60)}
    async with opened(server) as broker:
        await broker.publish_many(queue, [message(name) for name in sorted(names)])
        async with broker.deliveries(queue, 60) as deliveries:
            for n, held in enumerate([await take(deliveries) for _ in names]):
                await held.retry(0.2 + n * 0.1)  # some move at any moment for six seconds
        await asyncio.sleep(0.5)
        await restart(server)
        await becomes(lambda: broker.connection().state == "READY", TIMEOUT_SECONDS)
        served = await serve_all(broker, queue, names)
    assert set(served) == names


async def test_mixed_delays_do_not_wait_for_each_other_and_are_never_early(
    server: RabbitServer, queue: str
) -> None:
    delays = (5.0, 0.1, 1.3, 0.7, 2.1, 0.25, 0.0)
    arrived: dict[str, float] = {}
    async with opened(server) as broker, broker.deliveries(queue, 7) as deliveries:
        await broker.publish(queue, message("declares everything"), delay=0.01)
        await (await take(deliveries)).ack()
        published: dict[str, float] = {}
        for delay in delays:
            published[str(delay)] = time.monotonic()
            await broker.publish(queue, message(str(delay)), delay=delay)
        for _ in delays:
            delivery = await take(deliveries)
            arrived[delivery.message_id] = time.monotonic()
            await delivery.ack()
    for delay in delays:
        assert arrived[str(delay)] - published[str(delay)] >= delay
    assert [*arrived][-1] == "5.0", "the first, and the longest"


async def test_a_delay_longer_than_the_longest_is_waited_in_parts(
    server: RabbitServer, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webloom.adapters.rabbitmq.layout.LONGEST", 0.25)
    async with opened(server) as broker, broker.deliveries(queue, 1) as deliveries:
        since = time.monotonic()
        await broker.publish(queue, message("m"), delay=0.6)
        delivery = await take(deliveries)
        assert time.monotonic() - since >= 0.6
        assert (delivery.message_id, delivery.attempt, delivery.redelivered) == ("m", 1, False)
        await delivery.retry(0.6)
        delivery = await take(deliveries)
        assert time.monotonic() - since >= 1.2
        assert (delivery.attempt, delivery.redelivered) == (2, False)
        await delivery.ack()
        await depth_becomes(
            broker, QueueDepth(ready=0, delayed=0, in_flight=None, dead=0), queue=queue
        )


async def test_a_queue_that_is_deleted_and_declared_again_at_once_keeps_delivering(
    server: RabbitServer, queue: str
) -> None:
    """The server may have the new queue before it looks after the consumers of the old one."""
    async with (
        opened(server) as broker,
        broker.deliveries(queue, 2) as deliveries,
        server.channel() as other,
    ):

        async def is_consumed() -> bool:
            return (await other.queue_declare(queue, durable=True)).consumer_count == 1

        for n in range(60):
            waiter = asyncio.create_task(take(deliveries))
            await until(is_consumed)
            await other.queue_delete(queue, nowait=True)
            await other.queue_declare(queue, durable=True)
            await broker.publish(queue, message(f"m{n}"))
            delivery = await waiter
            assert delivery.message_id == f"m{n}"
            await delivery.ack()


async def test_queues_that_somebody_deletes_are_made_again(
    server: RabbitServer, queue: str
) -> None:
    async with opened(server) as broker, broker.deliveries(queue, 2) as deliveries:
        await broker.publish(queue, message("first"))
        await (await take(deliveries)).retry(0.1)
        waiter = asyncio.create_task(take(deliveries))
        await waiter
        async with server.channel() as other:
            waiter = asyncio.create_task(take(deliveries))
            for name in (queue, f"{queue}.again", f"{queue}.dead", f"{queue}.wait.125ms"):
                await other.queue_delete(name)
        await broker.publish(queue, message("second"))
        second = await waiter
        assert second.message_id == "second"
        await second.retry(0.1)
        again = await take(deliveries)
        assert (again.message_id, again.attempt) == ("second", 2)
        await again.dead_letter("bad")
        assert [letter.id for letter in await broker.dead_letters(queue, limit=9)] == ["second"]


@pytest.mark.parametrize("deleted", ["", ".again"])
async def test_a_queue_that_is_deleted_while_nobody_subscribes_is_made_again(
    server: RabbitServer, queue: str, deleted: str
) -> None:
    async with opened(server) as broker, broker.deliveries(queue, 1) as deliveries:
        await broker.publish(queue, message("first"))
        await (await take(deliveries)).ack()
        await subscribers(server, queue, 0)
        async with server.channel() as other:
            await other.queue_delete(f"{queue}{deleted}")
        waiter = asyncio.create_task(take(deliveries))
        await subscribers(server, queue, 1)
        await broker.publish(queue, message("second"))
        second = await waiter
        assert (second.message_id, second.redelivered) == ("second", False)
        await second.ack()


async def subscribers(server: RabbitServer, queue: str, count: int) -> None:
    async def are() -> bool:
        try:
            async with server.channel() as other:
                names = (queue, f"{queue}.again")
                found = [await other.queue_declare(name, passive=True) for name in names]
        except ChannelNotFoundEntity:
            return False
        return all(each.consumer_count == count for each in found)

    await until(are)


async def test_twins_that_are_returned_by_a_deleted_queue_are_all_published_again(
    server: RabbitServer, queue: str
) -> None:
    async with opened(server) as broker, server.channel() as other:
        await broker.publish(queue, message("declares the queue"))
        await other.queue_delete(queue)
        answers = await broker.publish_many(queue, [message("twin")] * 5 + [message("single")])
        assert answers == ["twin"] * 5 + ["single"]
        assert (await broker.depth(queue)).ready == 6


async def test_a_message_that_no_slot_asks_for_is_left_to_others(
    server: RabbitServer, queue: str
) -> None:
    async with (
        opened(server) as idle,
        opened(server) as busy,
        idle.deliveries(queue, 5) as not_asked,
        busy.deliveries(queue, 5) as deliveries,
    ):
        await idle.publish(queue, message("held"))
        held = await take(not_asked)
        for n in range(20):
            await idle.publish(queue, message(f"m{n}"))
            delivery = await take(deliveries)
            assert (delivery.message_id, delivery.attempt) == (f"m{n}", 1)
            await delivery.ack()
            if n == 10:
                await held.ack()


@pytest.mark.parametrize("quorum", [False, True], ids=["classic", "quorum"])
async def test_a_consumer_whose_slots_go_away_takes_no_more_and_gives_back(
    server: RabbitServer, queue: str, quorum: bool
) -> None:
    names = [f"m{n}" for n in range(20)]
    async with (
        open_rabbitmq(server.url, SystemClock(), limits={}, quorum=quorum) as draining,
        open_rabbitmq(server.url, SystemClock(), limits={}, quorum=quorum) as other,
    ):
        async with draining.deliveries(queue, 8) as deliveries:
            await other.publish_many(queue, [message("busy"), message("done soon")])
            busy, done_soon = await take(deliveries), await take(deliveries)
            idle = [asyncio.ensure_future(anext(deliveries)) for _ in range(6)]
            await subscribers(server, queue, 1)
            for slot in idle:
                slot.cancel()
            await asyncio.wait(idle)
            await other.publish_many(queue, [message(name) for name in names])
            await done_soon.ack()
            async with other.deliveries(queue, 20) as others:
                served = [await take(others) for _ in names]
                assert sorted(each.message_id for each in served) == sorted(names)
                assert not any(each.redelivered or each.attempt > 1 for each in served)
                for each in served:
                    await each.ack()
            await busy.ack()
            await subscribers(server, queue, 0)
        await depth_becomes(
            other, QueueDepth(ready=0, delayed=0, in_flight=None, dead=0), queue=queue
        )


async def test_a_message_for_a_slot_that_went_away_goes_to_others(
    server: RabbitServer, queue: str
) -> None:
    async with opened(server) as left, opened(server) as other:
        async with left.deliveries(queue, 1) as deliveries:
            waiter = asyncio.ensure_future(anext(deliveries))
            await left.publish(queue, message("m"))
            await becomes(waiter.done)
            held = waiter.result()
            waiter = asyncio.ensure_future(anext(deliveries))
            await left.publish(queue, message("late"))
            await held.ack()
            await becomes(waiter.done)
        await waiter.result().retry()
        async with other.deliveries(queue, 1) as others:
            delivery = await take(others)
            assert (delivery.message_id, delivery.attempt) == ("late", 2)
            await delivery.ack()
        await depth_becomes(
            other, QueueDepth(ready=0, delayed=0, in_flight=None, dead=0), queue=queue
        )


async def test_an_exchange_that_somebody_deletes_is_made_again(
    server: RabbitServer, queue: str
) -> None:
    async with opened(server) as broker, broker.deliveries(queue, 2) as deliveries:
        await broker.publish(queue, message("first"), delay=0.1)
        await (await take(deliveries)).ack()
        async with server.channel() as other:
            await other.exchange_delete(f"{queue}.wait.125ms")
        with pytest.raises(BrokerUnavailable):
            await broker.publish(queue, message("second"), delay=0.1)

        async def published() -> bool:
            try:
                await broker.publish(queue, message("second"), delay=0.1)
            except BrokerUnavailable:
                return False
            return True

        await until(published)
        assert (await take(deliveries)).message_id == "second"
