"""What the RabbitMQ broker says when it can't work, and what it makes of foreign messages."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import pamqp.decode
import pamqp.frame
import pytest
from aiormq import spec
from aiormq.abc import DeliveredMessage
from aiormq.exceptions import ChannelNotFoundEntity
from pamqp.base import Frame
from pamqp.common import FieldTable
from pamqp.header import ContentHeader

from contracts.rabbitmq_tools import bare_channel, becomes, message, opened
from contracts.waiting import take
from patience import PATIENCE_SECONDS
from servers.private import free_port
from servers.rabbitmq import RabbitServer
from webloom.adapters.rabbitmq import envelope, source
from webloom.adapters.rabbitmq.broker import RabbitBroker, open_rabbitmq
from webloom.adapters.rabbitmq.connection import RabbitConnection, State
from webloom.adapters.rabbitmq.failures import translating
from webloom.adapters.rabbitmq.transport import read_anything
from webloom.adapters.system_clock import SystemClock
from webloom.domain.errors import BackendRefused, BrokerUnavailable, SettingsError
from webloom.entrypoints.cli import dead
from webloom.ports.broker import Message

PASSWORD = "sesame-open-please"
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture
def queue() -> str:
    return f"queue {uuid.uuid4().hex[:8]}"


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


async def test_a_user_that_may_not_declare_is_told_what_is_missing(
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


async def test_a_server_without_tls_is_told_from_one_that_is_not_there(
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
        await becomes(lambda: broker.connection().state == "READY", PATIENCE_SECONDS)
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
    async with bare_channel(rabbitmq) as other:
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
    async with bare_channel(rabbitmq) as other:
        declared = await other.queue_declare(
            queue,
            durable=True,
            arguments={"x-max-length": 1000, "x-overflow": "reject-publish"},
        )
        assert declared.message_count == 1
        found = await other.basic_get(queue)
        assert found.header.properties.delivery_mode == 2
        assert found.header.properties.message_id == "m"


FOREIGN = {
    "nothing at all": spec.Basic.Properties(),
    "headers of every kind": spec.Basic.Properties(
        headers={
            "x-webloom-attempts": "many",
            "x-webloom-wait": "soon",
            "x-webloom-redelivered": {"no": [1, None, 2.5, True]},
            "x-death": [{"count": 3, "queue": "elsewhere"}],
            "CC": ["a queue that nobody has"],
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
        async with bare_channel(rabbitmq) as other:
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
        await third.bury("\ud800" + "long " * 100_000)
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
        async with bare_channel(rabbitmq) as other:
            await other.basic_publish(b"{}", routing_key=queue, properties=deepcopy(properties))
        await is_handled_like_any(broker, queue, b"{}")


async def test_a_message_whose_routing_key_is_not_text_is_handled_like_any(
    rabbitmq: RabbitServer, queue: str
) -> None:
    async with opened(rabbitmq) as broker:
        await broker.depth(queue)
        async with bare_channel(rabbitmq) as other:
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


async def test_dead_letters_of_other_programs_can_be_seen_and_removed(
    rabbitmq: RabbitServer, queue: str
) -> None:
    async with opened(rabbitmq) as broker, bare_channel(rabbitmq) as other:
        await broker.depth(queue)
        await other.basic_publish(b"foreign", routing_key=f"{queue}.dead")
        [letter] = await broker.dead_letters(queue, limit=9)
        assert (letter.body, letter.reason) == (b"foreign", "put there by another program")
        assert await broker.discard(queue, letter.id)
        assert (await broker.depth(queue)).dead == 0


def test_headers_that_the_library_reads_and_cannot_write_are_left_behind_by_a_copy() -> None:
    properties = spec.Basic.Properties(
        headers={"legacy": b"\xff", "kept": "é", "deep": [b"\xff"], "double": 1e300}
    )
    message = DeliveredMessage(
        delivery=spec.Basic.Deliver(consumer_tag="c", delivery_tag=1, redelivered=False),
        header=ContentHeader(properties=properties),
        body=b"",
        channel=None,  # type: ignore[arg-type]
    )
    copy = envelope.read(message).given_back(0.0)
    assert copy.headers == {"kept": "é", envelope.ATTEMPTS: 1}
    copy.marshal()


async def test_dead_letters_after_one_that_is_gone_begin_anew(
    rabbitmq: RabbitServer, queue: str
) -> None:
    async with opened(rabbitmq) as broker:
        await broker.publish_many(queue, [message(name) for name in "abc"])
        async with broker.deliveries(queue, 1) as deliveries:
            for _ in "abc":
                await (await take(deliveries)).bury("bad")
        for after, expected in (("a", ["b", "c"]), ("gone", ["a", "b"]), ("c", [])):
            letters = await broker.dead_letters(queue, limit=2, after=after)
            assert [letter.id for letter in letters] == expected


async def test_a_letter_that_was_buried_twice_is_removed_one_by_one(
    rabbitmq: RabbitServer, queue: str
) -> None:
    async with opened(rabbitmq) as broker:
        await broker.publish_many(queue, [message(name) for name in ("twin", "single", "twin")])
        async with broker.deliveries(queue, 1) as deliveries:
            for _ in range(3):
                await (await take(deliveries)).bury("bad")
        assert await broker.put_back(queue, "twin")
        left = [letter.id for letter in await broker.dead_letters(queue, limit=9)]
        assert left == ["single", "twin"]
        assert await broker.discard(queue, "twin")
        assert not await broker.discard(queue, "twin")
        depth = await broker.depth(queue)
        assert (depth.ready, depth.dead) == (1, 1)


async def test_a_queue_of_dead_letters_that_somebody_deletes_is_made_again(
    rabbitmq: RabbitServer, queue: str
) -> None:
    async with opened(rabbitmq) as broker, opened(rabbitmq) as other:
        await broker.publish(queue, message("m"))
        async with broker.deliveries(queue, 1) as deliveries:
            await (await take(deliveries)).bury("bad")
        for look in (broker.dead_letters(queue, limit=9), broker.put_back(queue, "m")):
            async with bare_channel(rabbitmq) as channel:
                await channel.queue_delete(f"{queue}.dead")
            assert not await look
        assert await other.dead_letters(queue, limit=9) == []


@pytest.mark.parametrize("command", [dead.list_letters, dead.put_back, dead.discard])
async def test_the_dead_letters_of_a_queue_that_there_is_not_are_refused(
    rabbitmq: RabbitServer,
    queue: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: Callable[..., None],
) -> None:
    monkeypatch.setenv("WEBLOOM_BROKER", rabbitmq.url)
    monkeypatch.setenv("WEBLOOM_DATA_DIR", str(tmp_path))
    (tmp_path / "webloom.db").touch()
    chosen = {} if command is dead.list_letters else {"every": True}
    with pytest.raises(SettingsError) as refused:
        await asyncio.to_thread(command, queue=queue, **chosen)
    for name in (queue, "metadata_queue", "import-feed", "storage-agent"):
        assert name in str(refused.value)
    async with bare_channel(rabbitmq) as other:
        with pytest.raises(ChannelNotFoundEntity):
            await other.queue_declare(f"{queue}.dead", passive=True)


async def test_dead_letters_are_listed_by_many_at_once(rabbitmq: RabbitServer, queue: str) -> None:
    names = [f"m{n}" for n in range(20)]
    async with opened(rabbitmq) as one, opened(rabbitmq) as two:
        await one.publish_many(queue, [message(name) for name in names])
        async with one.deliveries(queue, 1) as deliveries:
            for _ in names:
                await (await take(deliveries)).bury("bad")
        lists = await asyncio.gather(
            *(broker.dead_letters(queue, limit=50) for broker in (one, two, one, two))
        )
    assert [[letter.id for letter in letters] for letters in lists] == [names] * 4
