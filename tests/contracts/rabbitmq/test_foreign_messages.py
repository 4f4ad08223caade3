"""Messages that other programs put into RabbitMQ."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from copy import deepcopy
from datetime import UTC, datetime

import pamqp.decode
import pamqp.frame
import pytest
from aiormq import spec
from aiormq.abc import DeliveredMessage

from contracts.rabbitmq_tools import message, opened
from contracts.waiting import take
from servers.rabbitmq import RabbitServer
from webloom.adapters.rabbitmq import envelope, source
from webloom.adapters.rabbitmq.broker import RabbitBroker
from webloom.adapters.rabbitmq.failures import translating
from webloom.adapters.rabbitmq.transport import read_anything
from webloom.ports.broker import Message

FOREIGN = {
    "nothing at all": spec.Basic.Properties(),
    "headers of every kind": spec.Basic.Properties(
        headers={
            "x-webloom-attempts": "many",
            "x-webloom-wait": "soon",
            "x-webloom-redelivered": {"no": [1, None, 2.5, True]},
            "x-death": [{"count": 3, "queue": "elsewhere"}],
            "CC": ["a queue that does not exist"],
            "bytes": bytearray(b"\xff\xfe"),
            "time": datetime(2020, 1, 1, tzinfo=UTC),
        }
    ),
    "numbers out of range": spec.Basic.Properties(
        headers={"x-webloom-attempts": -5, "x-webloom-wait": "inf", "x-delivery-count": -1}
    ),
    "properties of every kind": spec.Basic.Properties(
        content_type="text/plain",
        content_encoding="gzip",
        delivery_mode=1,
        priority=9,
        correlation_id="c",
        reply_to="r",
        expiration="60000",
        timestamp=datetime(2020, 1, 1, tzinfo=UTC),
        message_type="t",
        user_id="guest",
        app_id="a",
    ),
}


@pytest.mark.parametrize("properties", FOREIGN.values(), ids=list(FOREIGN))
@pytest.mark.parametrize("body", [b"", b"\xff\x00 no JSON", b"x" * 300_000], ids=len)
async def test_messages_of_other_programs_are_handled_like_any(
    rabbitmq: RabbitServer, queue: str, properties: spec.Basic.Properties, body: bytes
) -> None:
    async with opened(rabbitmq) as broker:
        await broker.depth(queue)
        async with rabbitmq.channel() as other:
            await other.basic_publish(body, routing_key=queue, properties=deepcopy(properties))
        await is_handled_like_any(broker, queue, body)


async def is_handled_like_any(broker: RabbitBroker, queue: str, body: bytes) -> None:
    async with broker.deliveries(queue, 1) as deliveries:
        first = await take(deliveries)
        assert (first.body, first.attempt, first.redelivered) == (body, 1, False)
        await first.retry()
        second = await take(deliveries)
        assert (second.message_id, second.body) == (first.message_id, body)
        assert (second.attempt, second.redelivered) == (2, False)
        await second.retry(0.1)
        third = await take(deliveries)
        assert (third.body, third.attempt) == (body, 3)
        await third.dead_letter("\ud800" + "long " * 100_000)
    [letter] = await broker.dead_letters(queue, limit=9)
    assert (letter.id, letter.body) == (first.message_id, body)
    assert letter.reason.startswith("?long long")
    assert await broker.put_back(queue, letter.id)
    assert await broker.dead_letters(queue, limit=9) == []


class NotUtf8(str):
    """What other programs write where text belongs."""

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        return b"\xff\xfe"


class InNanoseconds(datetime):
    def timestamp(self) -> float:
        return 1e9 * super().timestamp()


LONG_AGO = InNanoseconds(2020, 1, 1, tzinfo=UTC)
UNREADABLE = {
    "an id that is not UTF-8": spec.Basic.Properties(message_id=NotUtf8("id")),
    "a header whose name is not UTF-8": spec.Basic.Properties(headers={NotUtf8("name"): 1}),
    "a time in nanoseconds": spec.Basic.Properties(timestamp=LONG_AGO),
    "a time in nanoseconds in a header": spec.Basic.Properties(headers={"at": LONG_AGO}),
    "headers as large as a frame": spec.Basic.Properties(headers={"large": "x" * 130_000}),
    "a wait of three hundred million years": spec.Basic.Properties(
        headers={"x-webloom-wait": "1e16"}
    ),
    "a wait that is hardly a number": spec.Basic.Properties(headers={"x-webloom-wait": "1e308"}),
}


@pytest.mark.parametrize("properties", UNREADABLE.values(), ids=list(UNREADABLE))
async def test_messages_that_the_library_cannot_read_or_copy_are_handled_like_any(
    rabbitmq: RabbitServer, queue: str, properties: spec.Basic.Properties
) -> None:
    async with opened(rabbitmq) as broker:
        await broker.depth(queue)
        async with rabbitmq.channel() as other:
            await other.basic_publish(b"{}", routing_key=queue, properties=deepcopy(properties))
        await is_handled_like_any(broker, queue, b"{}")


async def test_a_message_whose_routing_key_is_not_text_is_handled_like_any(
    rabbitmq: RabbitServer, queue: str
) -> None:
    async with opened(rabbitmq) as broker:
        await broker.depth(queue)
        async with rabbitmq.channel() as other:
            await other.exchange_declare(f"to {queue}", exchange_type="fanout")
            await other.queue_bind(queue, f"to {queue}")
            await other.basic_publish(b"{}", exchange=f"to {queue}", routing_key=NotUtf8("key"))
        await is_handled_like_any(broker, queue, b"{}")


def test_headers_that_are_too_deep_within_each_other_are_not_read() -> None:
    read_anything()
    table = b""
    for _ in range(2000):
        table = b"\x01aF" + len(table).to_bytes(4, "big") + table
    table = len(table).to_bytes(4, "big") + table
    assert pamqp.decode.by_type(table, "table") == (len(table), {})


async def test_a_message_that_cannot_be_taken_does_not_keep_its_slot(
    rabbitmq: RabbitServer,
    queue: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    read = envelope.read
    failures = iter([ArithmeticError("of a test")])

    def fails_once(message: DeliveredMessage) -> envelope.Envelope:
        for error in failures:
            raise error
        return read(message)

    monkeypatch.setattr(envelope, "read", fails_once)
    monkeypatch.setattr(source, "RECOVERY_PAUSE", 0.01)
    async with opened(rabbitmq) as broker, broker.deliveries(queue, 1) as deliveries:
        await broker.publish(queue, message("m"))
        delivery = await take(deliveries)
        assert (delivery.message_id, delivery.redelivered) == ("m", True)
        assert "of a test" in caplog.text
        await delivery.ack()


async def test_a_cancellation_that_the_library_swallows_is_not_lost() -> None:
    async def call() -> None:
        with translating("host"), suppress(asyncio.CancelledError):
            await asyncio.Event().wait()

    calling = asyncio.create_task(call())
    await asyncio.sleep(0)
    calling.cancel()
    await asyncio.wait([calling])
    assert calling.cancelled()


async def test_a_message_without_an_id_gets_the_same_one_each_time(
    rabbitmq: RabbitServer, queue: str
) -> None:
    async with opened(rabbitmq) as broker:
        await broker.publish(queue, Message(id="", body=b"{}"))
        async with broker.deliveries(queue, 1) as deliveries:
            first = (await take(deliveries)).message_id
        broker._connection.session().drop("a test cut it")
        async with broker.deliveries(queue, 1) as deliveries:
            second = await take(deliveries)
            assert second.redelivered
            assert second.message_id == first != ""
