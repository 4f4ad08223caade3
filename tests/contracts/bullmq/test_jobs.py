"""Messages as BullMQ's jobs: ids, repeats, and what is left in Redis."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis.asyncio import Redis
from redis.utils import str_if_bytes

from contracts.waiting import depth_becomes, take
from servers.redis import RedisServer
from webloom.adapters.bullmq.broker import open_bullmq
from webloom.adapters.bullmq.job_ids import (
    job_id_from,
    possible_job_ids,
    to_job_id,
    to_message_id,
)
from webloom.adapters.bullmq.jobs import Jobs
from webloom.adapters.bullmq.lua import MOST_EVENTS
from webloom.adapters.bullmq.server import Server
from webloom.adapters.system_clock import SystemClock
from webloom.domain.errors import QueueFull
from webloom.ports.broker import Broker, Message, QueueDepth

EMPTY = QueueDepth(ready=0, delayed=0, in_flight=0, dead=0)
DEAD = QueueDepth(ready=0, delayed=0, in_flight=0, dead=1)


@pytest.fixture
def queue(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)


@pytest.fixture
async def broker(redis_server: RedisServer, queue: str, patient: None) -> AsyncIterator[Broker]:
    async with open_bullmq(redis_server.url, SystemClock(), limits={queue: 3}, lease=15) as opened:
        yield opened


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_every_message_id_can_be_a_job_id_and_is_read_back(message_id: str) -> None:
    job_id = to_job_id(message_id)
    assert to_message_id(job_id) == message_id
    assert job_id
    assert ":" not in job_id
    assert not job_id.removeprefix("-").isdecimal()
    assert possible_job_ids(message_id)[0] == job_id


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_a_job_of_any_id_is_found_by_the_message_id_that_it_is_shown_with(job_id: str) -> None:
    assert job_id in possible_job_ids(to_message_id(job_id))


@given(st.binary(min_size=1))
def test_a_job_whose_id_is_no_text_is_shown_as_text_and_found(raw: bytes) -> None:
    job_id = job_id_from(raw)
    message_id = to_message_id(job_id)
    assert message_id.encode(errors="replace").decode() == message_id
    assert job_id in possible_job_ids(message_id)


@pytest.mark.parametrize(
    "message_id",
    ["17", "a:b", "wait", "meta", "events", "~17", "~", "", "ä%20 \U0001f600", "nothing", "0:1"],
)
async def test_a_message_with_an_odd_id_goes_all_the_way(broker: Broker, message_id: str) -> None:
    queue = "odd ids"
    body = f'"{message_id}"'.encode()
    assert await broker.publish(queue, Message(id=message_id, body=body)) == message_id
    async with broker.deliveries(queue, 1) as deliveries:
        await (await take(deliveries)).dead_letter("odd")
        assert await broker.put_back(queue, message_id)
        delivery = await take(deliveries)
        assert (delivery.message_id, delivery.body) == (message_id, body)
        await delivery.dead_letter("odd")
        [letter] = await broker.dead_letters(queue, limit=9)
        assert (letter.id, letter.body) == (message_id, body)
        assert await broker.dead_letters(queue, limit=9, after=message_id) == []
        assert await broker.discard(queue, message_id)
    await depth_becomes(broker, EMPTY, queue)


async def test_a_queue_with_a_colon_in_its_name_is_refused(broker: Broker) -> None:
    with pytest.raises(ValueError, match="no colon"):
        await broker.publish("a:b", Message(id="m", body=b"{}"))


async def test_a_repeated_publish_is_one_job_and_needs_no_room(broker: Broker, queue: str) -> None:
    async with broker.deliveries(queue, 1) as deliveries:
        await broker.publish(queue, Message(id="held", body=b"1"))
        held = await take(deliveries)
        for name in ("a", "b", "c"):
            await broker.publish(queue, Message(id=name, body=b"1"))
        with pytest.raises(QueueFull):
            await broker.publish(queue, Message(id="d", body=b"1"))
        for name in ("held", "a", "b", "c"):
            assert await broker.publish(queue, Message(id=name, body=b"2")) == name
        assert await broker.depth(queue) == QueueDepth(ready=3, delayed=0, in_flight=1, dead=0)
        await held.ack()
        first = await take(deliveries)
        assert (first.message_id, first.body) == ("a", b"1")


async def test_a_repeated_delayed_publish_is_one_job(broker: Broker, queue: str) -> None:
    for _ in range(3):
        assert await broker.publish(queue, Message(id="m", body=b"1"), delay=60) == "m"
    assert await broker.depth(queue) == QueueDepth(ready=0, delayed=1, in_flight=0, dead=0)


@pytest.mark.parametrize("delay", [0.0, 0.01])
async def test_publishing_a_dead_letter_again_takes_its_place(
    broker: Broker, queue: str, delay: float
) -> None:
    await broker.publish(queue, Message(id="m", body=b"1"))
    async with broker.deliveries(queue, 1) as deliveries:
        await (await take(deliveries)).retry()
        await (await take(deliveries)).dead_letter("bad")
        await broker.publish(queue, Message(id="m", body=b"2"), delay=delay)
        delivery = await take(deliveries)
        assert (delivery.body, delivery.attempt) == (b"2", 1)
        assert await broker.dead_letters(queue, limit=9) == []
        await delivery.ack()
    await depth_becomes(broker, EMPTY, queue)


async def test_a_full_queue_leaves_the_dead_letter_that_would_be_replaced(
    broker: Broker, queue: str
) -> None:
    await broker.publish(queue, Message(id="m", body=b"1"))
    async with broker.deliveries(queue, 1) as deliveries:
        await (await take(deliveries)).dead_letter("bad")
    await broker.publish_many(queue, [Message(id=name, body=b"1") for name in "abc"])
    with pytest.raises(QueueFull):
        await broker.publish(queue, Message(id="m", body=b"2"))
    [letter] = await broker.dead_letters(queue, limit=9)
    assert (letter.body, letter.reason) == (b"1", "bad")


async def test_delayed_messages_that_are_due_take_room(broker: Broker, queue: str) -> None:
    for n in range(3):
        await broker.publish(queue, Message(id=f"m{n}", body=b"1"), delay=0.001)
    await depth_becomes(broker, QueueDepth(ready=3, delayed=0, in_flight=0, dead=0), queue)
    with pytest.raises(QueueFull):
        await broker.publish(queue, Message(id="too much", body=b"1"))


async def test_an_unseen_job_that_goes_back_was_never_taken(
    redis_server: RedisServer, broker: Broker, queue: str
) -> None:
    await broker.publish_many(queue, [Message(id=name, body=b"1") for name in "ab"])
    async with Server(redis_server.url, SystemClock()).opened() as server:
        jobs = Jobs(server, queue, limit=None, lease=15)
        held = await jobs.take("a token")
        assert not isinstance(held, tuple)
        await jobs.give_back(held)
        await jobs.give_back(held)  # a repeat changes nothing
    async with broker.deliveries(queue, 2) as deliveries:
        first, second = await take(deliveries), await take(deliveries)
        assert [first.message_id, second.message_id] == ["a", "b"]
        assert (first.attempt, first.redelivered) == (1, False)


async def test_a_reason_is_cut(broker: Broker, queue: str) -> None:
    await broker.publish(queue, Message(id="m", body=b"1"))
    async with broker.deliveries(queue, 1) as deliveries:
        await (await take(deliveries)).dead_letter("\U0001f600" * 4000 + "end")
    [letter] = await broker.dead_letters(queue, limit=9)
    assert letter.reason == "\U0001f600" * 4000


async def test_an_ack_that_was_not_accepted_can_be_repeated(
    broker: Broker, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await broker.publish(queue, Message(id="m", body=b"1"))
    async with broker.deliveries(queue, 1) as deliveries:
        held = await take(deliveries)
        with monkeypatch.context() as patch:
            patch.setattr(Jobs, "complete", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                await held.ack()
        await held.ack()
        await depth_becomes(broker, EMPTY, queue)


async def test_a_job_that_others_gave_up_becomes_a_dead_letter(
    broker: Broker, raw: Redis, queue: str
) -> None:
    await broker.publish(queue, Message(id="m", body=b"1"))
    await raw.hset(f"bull:{queue}:m", "defa", "job stalled more than allowable limit")
    await broker.publish(queue, Message(id="next", body=b"1"))
    async with broker.deliveries(queue, 1) as deliveries:
        assert (await take(deliveries)).message_id == "next"
    [letter] = await broker.dead_letters(queue, limit=9)
    assert (letter.id, letter.reason) == ("m", "job stalled more than allowable limit")


async def test_a_job_that_was_taken_apart_becomes_a_dead_letter_and_stops_nobody(
    broker: Broker, raw: Redis, queue: str
) -> None:
    for name in ("gone", "scribbled", "next"):
        await broker.publish(queue, Message(id=name, body=b"1"))
    await raw.delete(f"bull:{queue}:gone")
    await raw.hset(f"bull:{queue}:scribbled", "opts", "[no json")
    async with broker.deliveries(queue, 1) as deliveries:
        scribbled = await take(deliveries)
        assert scribbled.message_id == "scribbled"
        await scribbled.ack()
        assert (await take(deliveries)).message_id == "next"
    [letter] = await broker.dead_letters(queue, limit=9)
    assert (letter.id, letter.body) == ("gone", b"null")
    assert "removed" in letter.reason


async def test_what_is_done_leaves_nothing_behind_but_a_short_stream(
    broker: Broker, raw: Redis, queue: str
) -> None:
    unlimited = f"{queue} unlimited"
    async with broker.deliveries(unlimited, 8) as deliveries:
        served = 0

        async def serve() -> None:
            nonlocal served
            while True:
                delivery = await anext(deliveries)
                if delivery.attempt == 1 and served % 10 == 0:
                    await delivery.retry(0.001)
                else:
                    await delivery.ack()
                served += 1

        slots = [asyncio.create_task(serve()) for _ in range(8)]
        for start in range(0, 2000, 500):
            names = [f"m{n}" for n in range(start, start + 500)]
            await broker.publish_many(unlimited, [Message(id=name, body=b"{}") for name in names])
        await depth_becomes(broker, EMPTY, unlimited)
        for slot in slots:
            slot.cancel()
        await asyncio.wait(slots)
    assert served > 2000
    prefix = f"bull:{unlimited}:"
    expected = {"id", "meta", "events", "marker", "stalled-check", "stalled"}
    left = {str_if_bytes(key) for key in await raw.keys("*")}
    for key in [each for each in left if each.startswith(f"{prefix}wake:")]:
        assert await raw.ttl(key) != -1, "it goes by itself"  # or has gone
        left.remove(key)
    assert {key for key in left if key.startswith(prefix)} <= {prefix + key for key in expected}
    assert await raw.xlen(f"bull:{unlimited}:events") < MOST_EVENTS + 500
