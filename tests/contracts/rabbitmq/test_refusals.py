"""What the RabbitMQ broker says when it can't work."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from urllib.parse import quote

import pamqp.decode
import pamqp.frame
import pytest
from aiormq import spec
from pamqp.base import Frame
from pamqp.common import FieldTable

from contracts.rabbitmq_tools import becomes, message, opened
from contracts.waiting import take
from servers.private import free_port
from servers.rabbitmq import RabbitServer
from timeouts import TIMEOUT_SECONDS
from webloom.adapters.rabbitmq.broker import open_rabbitmq
from webloom.adapters.rabbitmq.connection import RabbitConnection, State
from webloom.adapters.system_clock import SystemClock
from webloom.domain.errors import BackendRefused, BrokerUnavailable

PASSWORD = "sesame-open-please"
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listening(serve: Serve) -> AsyncIterator[str]:
    """Something else than RabbitMQ; yields its address."""

    async def end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(end, "127.0.0.1", 0)
    async with server:
        yield f"amqp://user:{PASSWORD}@127.0.0.1:{server.sockets[0].getsockname()[1]}/"


async def refusal(url: str) -> str:
    with pytest.raises(BackendRefused) as refused:
        async with open_rabbitmq(url, SystemClock(), limits={}):
            pass
    assert PASSWORD not in str(refused.value)
    return str(refused.value)


async def test_a_wrong_password_is_said_and_not_shown(
    rabbitmq: RabbitServer, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        answer = await refusal(f"amqp://guest:{PASSWORD}@127.0.0.1:{rabbitmq.port}/")
    assert f"127.0.0.1:{rabbitmq.port}" in answer
    assert "user or the password" in answer
    assert "WEBLOOM_BROKER" in answer
    assert PASSWORD not in caplog.text


async def test_a_virtual_host_that_does_not_exist_is_named(rabbitmq: RabbitServer) -> None:
    answer = await refusal(f"{rabbitmq.url}elsewhere")
    assert "vhost elsewhere not found" in answer
    assert "add_vhost" in answer


async def test_a_virtual_host_that_is_closed_to_the_user_is_named(rabbitmq: RabbitServer) -> None:
    await asyncio.to_thread(rabbitmq.ctl, "add_vhost", "closed")
    await asyncio.to_thread(rabbitmq.ctl, "clear_permissions", "-p", "closed", "guest")
    answer = await refusal(f"{rabbitmq.url}closed")
    assert "access to vhost 'closed' refused" in answer
    assert "set_permissions" in answer


async def test_the_error_for_a_user_that_may_not_declare_names_what_is_missing(
    rabbitmq: RabbitServer, queue: str
) -> None:
    for words in (
        ("add_user", "reader", PASSWORD),
        ("set_permissions", "reader", "nothing", ".*", ".*"),
    ):
        await asyncio.to_thread(rabbitmq.ctl, *words)
    url = f"amqp://reader:{PASSWORD}@127.0.0.1:{rabbitmq.port}/"
    async with open_rabbitmq(url, SystemClock(), limits={}) as broker:
        with pytest.raises(BackendRefused, match="set_permissions") as refused:
            await broker.publish(queue, message("m"))
    assert PASSWORD not in str(refused.value)


async def test_another_kind_of_server_is_recognised() -> None:
    async def http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(8)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()

    async with listening(http) as url:
        answer = await refusal(url)
    assert "is not RabbitMQ" in answer


async def test_a_server_without_tls_is_distinguished_from_one_that_is_not_there(
    rabbitmq: RabbitServer,
) -> None:
    answer = await refusal(f"amqps://guest:{PASSWORD}@127.0.0.1:{rabbitmq.port}/")
    assert "no TLS connection" in answer


@pytest.mark.parametrize(
    ("product", "version"), [("RabbitMQ", "3.9.27"), ("RabbitMQ", "soon"), ("Qpid", "9.2.0")]
)
async def test_a_server_that_is_too_old_is_refused(product: str, version: str) -> None:
    async with listening(rabbitmq_handshake(product, version)) as url:
        answer = await refusal(url)
    assert f"{product} {version}" in answer
    assert "RabbitMQ 3.10 or newer" in answer


async def test_a_new_server_is_not_taken_for_an_old_one() -> None:
    async with (
        listening(rabbitmq_handshake("RabbitMQ", "4.10.0")) as url,
        open_rabbitmq(url, SystemClock(), limits={}) as broker,
    ):
        assert broker.connection().state == "READY"


def rabbitmq_handshake(product: str, version: str) -> Serve:
    """The first words of a RabbitMQ server of any age, and no more than that."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(8)
        properties: FieldTable = {
            "product": product,
            "version": version,
            "capabilities": {"publisher_confirms": True},
        }
        frames: list[tuple[int, Frame]] = [
            (0, spec.Connection.Start(server_properties=properties, mechanisms="PLAIN")),
            (0, spec.Connection.Tune(channel_max=10, frame_max=131072, heartbeat=60)),
            (0, spec.Connection.OpenOk()),
            (1, spec.Channel.OpenOk()),
            (1, spec.Confirm.SelectOk()),
        ]
        for channel, frame in frames:
            writer.write(pamqp.frame.marshal(frame, channel))
            await reader.read(4096)

    return serve


@pytest.mark.parametrize(
    "url", [f"amqp://user:{PASSWORD}@host:port/", f"amqp://user:{PASSWORD}@/", "amqp:///"]
)
async def test_an_address_that_is_none_is_refused(url: str) -> None:
    assert "percent-encoded" in await refusal(url)


async def test_an_absent_server_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    url = f"amqp://user:{PASSWORD}@127.0.0.1:{free_port()}/"
    with caplog.at_level(logging.DEBUG):
        async with open_rabbitmq(url, SystemClock(), limits={}) as broker:
            with pytest.raises(BrokerUnavailable, match="trying again") as unavailable:
                await broker.publish("queue", message("m"))
            answer = broker.connection()
            async with broker.deliveries("queue", 1):
                pass  # neither entering nor leaving waits for the server
    assert answer.kind == "rabbitmq"
    assert answer.address == url.replace(f"user:{PASSWORD}@", "")
    assert answer.state in ("DISCONNECTED", "CONNECTING")
    assert "Connect call failed" in (answer.detail or "")
    for text in (str(unavailable.value), str(answer), caplog.text):
        assert PASSWORD not in text


async def test_a_password_that_is_changed_while_running_is_reported_and_can_heal(
    rabbitmq: RabbitServer, queue: str
) -> None:
    password = "ö/@:%+ ?#"
    await asyncio.to_thread(rabbitmq.ctl, "add_user", "changing", password)
    await asyncio.to_thread(rabbitmq.ctl, "set_permissions", "changing", ".*", ".*", ".*")
    url = f"amqp://changing:{quote(password, safe='')}@127.0.0.1:{rabbitmq.port}/"
    async with open_rabbitmq(url, SystemClock(), limits={}) as broker:
        await broker.publish(queue, message("before"))
        await asyncio.to_thread(rabbitmq.ctl, "change_password", "changing", "another")
        broker._connection.session().drop("a test cut it")
        await becomes(lambda: "password" in (broker.connection().detail or ""))
        with pytest.raises(BackendRefused, match="user or the password"):
            await broker.publish(queue, message("refused"))
        await asyncio.to_thread(rabbitmq.ctl, "change_password", "changing", password)
        await becomes(lambda: broker.connection().state == "READY", TIMEOUT_SECONDS)
        await broker.publish(queue, message("after"))


async def test_every_state_is_passed_in_order_on_the_way_up_and_back(
    rabbitmq: RabbitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    move = RabbitConnection._move

    def noted(connection: RabbitConnection, state: State) -> None:
        move(connection, state)
        shown.append(connection.status().state)

    monkeypatch.setattr(RabbitConnection, "_move", noted)
    way_up = ["CONNECTING", "CONNECTED", "CHANNEL_OPEN", "READY"]
    async with opened(rabbitmq) as broker:
        assert shown == way_up
        broker._connection.session().drop("a test cut it")
        await becomes(lambda: shown[4:] == ["DISCONNECTED", *way_up])
    assert shown[9:] == ["DISCONNECTED"]


async def test_a_publishing_channel_that_the_server_closes_is_opened_again(
    rabbitmq: RabbitServer, queue: str
) -> None:
    async with opened(rabbitmq) as broker, broker.deliveries(queue, 1) as deliveries:
        await broker.publish(queue, message("held"))
        held = await take(deliveries)
        channel = broker._connection.publisher().raw
        with pytest.raises(Exception, match="no exchange"):
            await channel.basic_publish(b"", exchange="there is none", routing_key="")
        await becomes(lambda: broker.connection().state == "READY" and channel.is_closed)
        await becomes(lambda: not broker._connection._publisher.raw.is_closed)  # type: ignore[union-attr]
        await broker.publish(queue, message("next"))
        await held.retry()  # its own channel was not touched
        names = set()
        for _ in range(2):
            delivery = await take(deliveries)
            names.add((delivery.message_id, delivery.redelivered))
            await delivery.ack()
    assert names == {("held", False), ("next", False)}


@pytest.mark.parametrize(
    ("limit", "arguments", "argument"),
    [
        (1000, {}, "x-max-length"),
        (1000, {"x-max-length": 500, "x-overflow": "reject-publish"}, "x-max-length"),
        (None, {"x-queue-type": "quorum"}, "x-queue-type"),
    ],
)
async def test_a_queue_that_was_declared_otherwise_is_explained(
    rabbitmq: RabbitServer,
    queue: str,
    limit: int | None,
    arguments: Mapping[str, str | int],
    argument: str,
) -> None:
    async with rabbitmq.channel() as other:
        await other.queue_declare(queue, durable=True, arguments=dict(arguments))
        limits = {} if limit is None else {queue: limit}
        async with opened(rabbitmq, **limits) as broker:
            with pytest.raises(BackendRefused) as refused:
                await broker.publish(queue, message("m"))
            with pytest.raises(BackendRefused):
                await broker.depth(queue)
            with pytest.raises(BackendRefused):
                async with broker.deliveries(queue, 1):
                    pass
            for part in (queue, argument, str(rabbitmq.port), "WEBLOOM_QUEUE_LIMIT", "Delete"):
                assert part in str(refused.value)
            await broker.publish("another queue", message("m"))  # nothing else is harmed
            await other.queue_delete(queue)
            await broker.publish(queue, message("m"))


async def test_a_queue_is_declared_as_its_limit_and_name_say(
    rabbitmq: RabbitServer, queue: str
) -> None:
    async with opened(rabbitmq, **{queue: 1000}) as broker:
        await broker.publish(queue, message("m"))
    async with rabbitmq.channel() as other:
        declared = await other.queue_declare(
            queue,
            durable=True,
            arguments={"x-max-length": 1000, "x-overflow": "reject-publish"},
        )
        assert declared.message_count == 1
        found = await other.basic_get(queue)
        assert found.header.properties.delivery_mode == 2
        assert found.header.properties.message_id == "m"
