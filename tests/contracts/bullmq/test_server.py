"""A Redis server that is not as it must be, or not there."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
import trustme
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from contracts.waiting import depth_becomes, take, until
from servers.private import free_port
from servers.redis import RedisServer
from timeouts import TIMEOUT_SECONDS
from webloom.adapters.bullmq.broker import BullmqBroker, open_bullmq
from webloom.adapters.bullmq.refusals import check_server, translated
from webloom.adapters.bullmq.server import QUIET_SECONDS
from webloom.adapters.system_clock import SystemClock
from webloom.domain.errors import BackendRefused, BrokerUnavailable
from webloom.ports.broker import Message, QueueDepth
from webloom.ports.connection import Connection

pytestmark = pytest.mark.usefixtures("redis_server")  # left out where there is none

QUEUE = "queue"
SECRET = "s3cret@x"
EMPTY = QueueDepth(ready=0, delayed=0, in_flight=0, dead=0)
GOOD_INFO = {"redis_version": "7.0.15", "maxmemory_policy": "noeviction", "cluster_enabled": 0}


def message(name: str, body: bytes = b"{}") -> Message:
    return Message(id=name, body=body)


@asynccontextmanager
async def opened(url: str, lease: float = 15) -> AsyncIterator[BullmqBroker]:
    async with open_bullmq(url, SystemClock(), limits={}, lease=lease) as broker:
        yield broker


async def refusal_of(url: str) -> str:
    with pytest.raises(BackendRefused) as refusal:
        async with opened(url):
            pass
    return str(refusal.value)


@contextmanager
def running(folder: Path, *options: str) -> Iterator[RedisServer]:
    server = RedisServer(folder / "redis", *options)
    with server.running():
        yield server


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    with running(tmp_path) as server:
        yield server


@asynccontextmanager
async def client_of(server: RedisServer) -> AsyncIterator[Redis]:
    client = Redis.from_url(server.url)
    try:
        yield client
    finally:
        await client.aclose()


async def state_becomes(broker: BullmqBroker, state: str) -> Connection:
    async def reached() -> bool:
        return broker.connection().state == state

    await until(reached)
    return broker.connection()


async def test_a_ready_connection_says_where_it_leads(redis: RedisServer) -> None:
    async with opened(redis.url) as broker:
        assert broker.connection() == Connection(
            kind="bullmq", address=f"redis://127.0.0.1:{redis.port}/0", state="READY"
        )


@pytest.mark.parametrize(
    "credentials", ["", f":wrong{SECRET}@", f"stranger:{SECRET}@"], ids=["none", "wrong", "user"]
)
async def test_wrong_credentials_are_refused_without_showing_them(
    tmp_path: Path, credentials: str
) -> None:
    with running(tmp_path, "--requirepass", SECRET) as server:
        text = await refusal_of(f"redis://{credentials}127.0.0.1:{server.port}/0")
        assert f"redis://127.0.0.1:{server.port}/0 refuses the user or password" in text
        assert "s3cret" not in text
        async with opened(f"redis://:s3cret%40x@127.0.0.1:{server.port}/0") as broker:
            await broker.publish(QUEUE, message("m"))
            assert "s3cret" not in str(broker.connection())


async def test_a_user_without_the_rights_is_refused(redis: RedisServer) -> None:
    admin = Redis.from_url(redis.url)
    await admin.acl_setuser("poor", enabled=True, nopass=True, commands=["+ping", "+info", "+time"])
    await admin.aclose()
    async with opened(f"redis://poor:x@127.0.0.1:{redis.port}/0") as broker:
        with pytest.raises(BackendRefused, match=r"denies commands .* ~bull:\*"):
            await broker.publish(QUEUE, message("m"))


async def test_the_rights_that_are_advised_are_enough(redis: RedisServer) -> None:
    admin = Redis.from_url(redis.url)
    await admin.execute_command(  # type: ignore[no-untyped-call]
        "ACL", "SETUSER", "good", "on", "nopass", "~bull:*", "+@all", "-@dangerous", "+info"
    )
    await admin.aclose()
    async with opened(f"redis://good:x@127.0.0.1:{redis.port}/0", lease=1.5) as broker:
        async with broker.deliveries(QUEUE, 2) as deliveries:
            waiter = asyncio.create_task(take(deliveries))
            await broker.publish(QUEUE, message("m"))
            await (await waiter).retry(0.3)
            await asyncio.sleep(0.6)  # a renewal and a look for stalled jobs
            await (await take(deliveries)).dead_letter("bad")
            assert await broker.put_back(QUEUE, "m")
            await (await take(deliveries)).dead_letter("bad")
        assert len(await broker.dead_letters(QUEUE, limit=9)) == 1
        assert await broker.discard(QUEUE, "m")
        assert await broker.depth(QUEUE) == EMPTY


async def test_a_policy_that_throws_messages_away_is_refused(tmp_path: Path) -> None:
    with running(tmp_path, "--maxmemory-policy", "allkeys-lru") as server:
        text = await refusal_of(server.url)
    assert "maxmemory-policy is allkeys-lru; set it to noeviction" in text
    assert server.url in text


async def test_a_policy_is_checked_of_a_server_that_comes_later(tmp_path: Path) -> None:
    server = RedisServer(tmp_path / "redis", "--maxmemory-policy", "volatile-ttl")
    async with opened(server.url) as broker:
        with pytest.raises(BrokerUnavailable):
            await broker.publish(QUEUE, message("m"))
        with server.running():
            with pytest.raises(BackendRefused, match="volatile-ttl"):
                await broker.publish(QUEUE, message("m"))
            detail = broker.connection().detail
            assert detail is not None
            assert "volatile-ttl" in detail


async def test_a_node_of_a_cluster_is_refused(tmp_path: Path) -> None:
    options = ("--cluster-enabled", "yes", "--cluster-port", str(free_port()))
    with running(tmp_path, *options) as server:
        assert "is a node of a cluster" in await refusal_of(server.url)


@pytest.mark.parametrize(
    ("said", "match"),
    [
        ({"redis_version": "6.2.14"}, "is version 6.2.14: Webloom needs 7.0 or newer"),
        ({"redis_version": "6-rc7"}, "is version 6-rc7"),
        ({"redis_version": "unknown"}, "is version unknown"),
        ({"maxmemory_policy": "allkeys-random"}, "allkeys-random"),
    ],
    ids=str,
)
def test_what_a_server_says_of_itself_can_rule_it_out(said: dict[str, str], match: str) -> None:
    check_server(GOOD_INFO, "redis://there")
    with pytest.raises(BackendRefused, match=match):
        check_server(GOOD_INFO | said, "redis://there")


@pytest.mark.parametrize("version", ["7.0", "7", "7.0-rc1", "7.2.4-v1", "8.0.0", "10.1"])
def test_a_redis_that_is_new_enough_is_accepted(version: str) -> None:
    check_server(GOOD_INFO | {"redis_version": version}, "redis://there")


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("NOREPLICAS Not enough good replicas to write.", BrokerUnavailable),
        ("MISCONF Redis is configured to save RDB snapshots", BrokerUnavailable),
        ("user_script:656: attempt to perform arithmetic", BackendRefused),
    ],
)
def test_only_what_does_not_pass_needs_a_person(said: str, kind: type[Exception]) -> None:
    assert isinstance(translated(ResponseError(said), "redis://there"), kind)


async def test_a_lack_of_replicas_passes(redis: RedisServer) -> None:
    raw = Redis.from_url(redis.url)
    async with opened(redis.url) as broker, broker.deliveries(QUEUE, 1) as deliveries:
        await broker.publish(QUEUE, message("m"))
        held = await take(deliveries)
        await raw.config_set("min-replicas-to-write", 1)
        for call in (broker.publish(QUEUE, message("n")), held.retry(), held.dead_letter("bad")):
            with pytest.raises(BrokerUnavailable, match="NOREPLICAS"):
                await call
        await held.ack()
        await raw.config_set("min-replicas-to-write", 0)
        await depth_becomes(broker, EMPTY)
    await raw.aclose()


@pytest.mark.parametrize(
    "option",
    [
        "decode_responses=true", "socket_timeout=0.05", "socket_connect_timeout=9", "protocol=3",
        "retry_on_timeout=true", "retry=5", "encoding=utf-16", "encoding_errors=ignore",
        "health_check_interval=1", "client_name=someone",
    ],
)  # fmt: skip
async def test_an_address_changes_nothing_about_how_redis_is_spoken_to(
    redis: RedisServer, option: str
) -> None:
    async with opened(f"{redis.url}?{option}") as broker, broker.deliveries(QUEUE, 1) as deliveries:
        waiter = asyncio.create_task(take(deliveries))
        await asyncio.sleep(0.2)
        await broker.publish(QUEUE, message("\xe4"))
        delivery = await waiter
        assert delivery.message_id == "\xe4"
        await delivery.ack()
        await depth_becomes(broker, EMPTY)
        assert broker.connection().state == "READY"


@pytest.mark.parametrize(
    "option",
    [
        "nonsense=1", "host=elsewhere", "connection_class=x", "credential_provider=x",
        "max_connections=1", "ssl_ca_certs=not-with-redis", "ssl_cert_reqs=s3cret",
    ],
)  # fmt: skip
async def test_an_unknown_option_is_refused_without_showing_it(
    redis: RedisServer, option: str
) -> None:
    text = await refusal_of(f"redis://:s3cret@127.0.0.1:{redis.port}/0?{option}")
    assert f"redis://127.0.0.1:{redis.port}/0 has an unknown option" in text
    assert "s3cret" not in text


async def test_a_server_without_an_append_only_file_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with running(tmp_path, "--appendonly", "no") as server:
        async with opened(server.url):
            assert "set appendonly yes" in caplog.text


async def test_something_else_than_redis_is_refused() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        await reader.read()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        assert "is not Redis" in await refusal_of(f"redis://127.0.0.1:{port}/0")


@pytest.mark.parametrize("place", ["127.0.0.1:port", "127.0.0.1:99999999", "[::1"])
async def test_an_address_that_is_none_is_refused(place: str) -> None:
    text = await refusal_of(f"redis://:s3cret%40x@{place}/0")
    assert "is not the address of a Redis server" in text
    assert "s3cret" not in text


async def test_tls_is_spoken_and_an_unknown_authority_is_refused(tmp_path: Path) -> None:
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    certificate.private_key_pem.write_to_path(tmp_path / "key.pem")
    certificate.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    tls_port = free_port()
    options = (
        "--tls-port", str(tls_port), "--tls-auth-clients", "no",
        "--tls-cert-file", str(tmp_path / "cert.pem"), "--tls-key-file", str(tmp_path / "key.pem"),
        "--tls-ca-cert-file", str(tmp_path / "ca.pem"),
    )  # fmt: skip
    with running(tmp_path, *options):
        url = f"rediss://127.0.0.1:{tls_port}/0"
        assert "is not trusted" in await refusal_of(url)
        async with opened(f"{url}?ssl_ca_certs={tmp_path / 'ca.pem'}") as broker:
            async with broker.deliveries(QUEUE, 1) as deliveries:
                await broker.publish(QUEUE, message("m"))
                await (await take(deliveries)).ack()
            await depth_becomes(broker, EMPTY)
            assert broker.connection().address == url


async def test_without_a_server_calls_fail_at_once_and_later_work(tmp_path: Path) -> None:
    server = RedisServer(tmp_path / "redis")
    async with opened(server.url) as broker:
        assert broker.connection().state == "DISCONNECTED"
        # Less than so many unanswered calls take.
        async with asyncio.timeout(TIMEOUT_SECONDS):
            for _ in range(20):
                with pytest.raises(BrokerUnavailable, match=f"{server.url} does not answer"):
                    await broker.publish(QUEUE, message("m"))
            with pytest.raises(BrokerUnavailable):
                await broker.depth(QUEUE)
        async with broker.deliveries(QUEUE, 1) as deliveries:
            waiter = asyncio.create_task(take(deliveries))
            await asyncio.sleep(0.05)  # no server answers
            with server.running():
                assert (await state_becomes(broker, "READY")).detail is None
                await broker.publish(QUEUE, message("m"))
                delivery = await waiter
                assert delivery.message_id == "m"
                await delivery.ack()
                await depth_becomes(broker, EMPTY)


async def test_a_lost_server_is_noticed_though_nobody_calls(
    redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(redis.url) as broker:
        caplog.set_level(logging.INFO)
        redis.kill()
        detail = (await state_becomes(broker, "DISCONNECTED")).detail
        assert detail is not None
        assert "does not answer" in detail
        redis.start()
        await state_becomes(broker, "READY")


async def test_a_paused_server_does_not_hold_a_call_for_ever(redis: RedisServer) -> None:
    async with opened(redis.url) as broker, broker.deliveries(QUEUE, 1) as deliveries:
        await broker.publish(QUEUE, message("before"))
        held = await take(deliveries)
        redis.pause()
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                calls = [broker.publish(QUEUE, message(f"m{n}")) for n in range(20)]
                answers = await asyncio.gather(
                    *calls, broker.depth(QUEUE), held.retry(), return_exceptions=True
                )
        finally:
            redis.resume()
        assert {type(answer) for answer in answers} == {BrokerUnavailable}
        await state_becomes(broker, "READY")
        await held.ack()
        await broker.publish(QUEUE, message("after"))

        async def all_came() -> bool:
            delivery = await take(deliveries)
            await delivery.ack()
            return delivery.message_id == "after"

        await until(all_came)  # a publish that failed may still have arrived


async def test_a_server_that_hangs_is_tried_now_and_then_and_keeps_nobody_else_waiting(
    redis: RedisServer,
) -> None:
    async with opened(redis.url) as broker:
        redis.pause()
        try:
            with pytest.raises(BrokerUnavailable, match="does not answer"):
                await broker.publish(QUEUE, message("first"))
            async with asyncio.timeout(TIMEOUT_SECONDS):
                for _ in range(50):
                    with pytest.raises(BrokerUnavailable, match="does not answer"):
                        await broker.depth(QUEUE)
            await asyncio.sleep(QUIET_SECONDS)
            probe = asyncio.create_task(
                broker.publish_many(QUEUE, [message(f"m{n}") for n in range(9)])
            )
            await asyncio.sleep(0.05)
            async with asyncio.timeout(TIMEOUT_SECONDS):
                for _ in range(50):
                    with pytest.raises(BrokerUnavailable, match="does not answer"):
                        await broker.depth(QUEUE)
            assert not probe.done()
        finally:
            redis.resume()
        assert await probe == [f"m{n}" for n in range(9)]  # they came back with the server
        assert broker.connection().state == "READY"
        assert (await broker.depth(QUEUE)).ready > 0


async def test_a_context_can_be_left_while_the_server_is_away(redis: RedisServer) -> None:
    async with opened(redis.url) as broker:
        async with broker.deliveries(QUEUE, 2) as deliveries:
            await broker.publish(QUEUE, message("m"))
            held = await take(deliveries)
            waiter = asyncio.ensure_future(anext(deliveries))
            await asyncio.sleep(0.05)
            redis.kill()
            await held.ack()
            waiter.cancel()
            await asyncio.wait([waiter])
        redis.start()


async def test_a_full_server_takes_nothing_new_and_is_emptied(tmp_path: Path) -> None:
    with running(tmp_path, "--maxmemory", "6mb") as server:
        async with opened(server.url, lease=6) as broker, client_of(server) as raw:
            accepted: list[str] = []
            body = b'"' + b"x" * 100_000 + b'"'

            async def fill() -> None:
                for n in range(1000):
                    accepted.append(await broker.publish(QUEUE, message(f"m{n}", body)))

            with pytest.raises(BrokerUnavailable, match="is full"):
                await fill()
            assert accepted
            assert broker.connection().state == "READY"  # it answers
            served: list[str] = []
            async with broker.deliveries(QUEUE, 1) as deliveries:
                held = await take(deliveries)
                lock = f"bull:{QUEUE}:{held.message_id}:lock"
                taken_until = await raw.pexpiretime(lock)

                async def is_renewed() -> bool:
                    return bool(await raw.pexpiretime(lock) > taken_until)

                await until(is_renewed)
                await held.retry(0.01)
                while len(served) < len(accepted):
                    delivery = await take(deliveries)
                    assert not delivery.redelivered
                    served.append(delivery.message_id)
                    await delivery.ack()
            assert sorted(served) == sorted(accepted)
            await broker.publish(QUEUE, message("room again", body))
