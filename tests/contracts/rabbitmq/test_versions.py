"""What the RabbitMQ broker asks of servers of other versions than the one that is installed."""

from __future__ import annotations

import asyncio
import re
import uuid
from contextlib import suppress

import pytest

from contracts.rabbitmq_tools import message
from contracts.waiting import take
from servers.proxy import CHUNK, Proxy
from servers.rabbitmq import RabbitServer
from webloom.adapters.rabbitmq.broker import open_rabbitmq
from webloom.adapters.system_clock import SystemClock

# A method frame's class and method: basic.qos, then its size, count and flags.
QOS = re.compile(rb"\x00\x3c\x00\x0a.{4}.{2}(.)", re.DOTALL)
VERSION = re.compile(rb"(?<=\x07versionS\x00\x00\x00).([\d.]+)")


class OtherVersion(Proxy):
    """The server names another version, and its clients' prefetch limits are noted."""

    def __init__(self, server_port: int, version: str) -> None:
        super().__init__(server_port)
        self._version = version.encode()
        self.limits: list[str] = []  # what each is for

    async def _pass(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, *, replies: bool
    ) -> None:
        with suppress(OSError):
            while data := await source.read(CHUNK):
                if replies:
                    data = VERSION.sub(self._named, data)
                for flags in () if replies else QOS.findall(data):
                    self.limits.append("channel" if flags[0] & 1 else "queue")
                target.write(data)

    def _named(self, found: re.Match[bytes]) -> bytes:
        """As long as the real one: the lengths of the frame and its tables stay right."""
        version = self._version.ljust(len(found[1]), b"0")
        assert len(version) == len(found[1])
        return found[0][:1] + version


@pytest.mark.parametrize(
    ("version", "limit"),
    [("3.10.", "channel"), ("3.13.", "channel"), ("4.0.", "queue"), ("4.3.", "queue")],
)
async def test_a_prefetch_limit_is_one_that_the_version_allows(
    rabbitmq: RabbitServer, version: str, limit: str
) -> None:
    """RabbitMQ 4.3 does not permit a limit over several queues (global QoS)."""
    queue = f"queue {uuid.uuid4().hex[:8]}"
    async with OtherVersion(rabbitmq.port, version).running() as proxy:
        url = rabbitmq.url.replace(str(rabbitmq.port), str(proxy.port))
        async with (
            open_rabbitmq(url, SystemClock(), limits={}) as broker,
            broker.deliveries(queue, 2) as deliveries,
        ):
            await broker.publish_many(queue, [message(f"m{n}") for n in range(5)])
            for n in range(5):
                delivery = await take(deliveries)
                assert delivery.message_id == f"m{n}"
                await delivery.ack()
        assert isinstance(proxy, OtherVersion)
        assert proxy.limits == [limit]
