"""Deliveries of a broker, as a use case gets them, and how it settled them."""

from __future__ import annotations

import asyncio
from itertools import count

from fakes.clock import FakeClock
from timeouts import TIMEOUT_SECONDS
from webloom.domain.errors import BrokerUnavailable
from webloom.ports.broker import Broker, Delivery, Message

LEASE = 3600.0  # that `Deliver` expects of its broker


class RecordedDelivery:
    """A delivery whose settlement a test can look at."""

    def __init__(self, delivery: Delivery, *, body: bytes, failures: int) -> None:
        self.settled: list[tuple[str, object]] = []  # verbs that succeeded
        self._delivery = delivery
        self._body = body
        self._failures = failures  # verbs that will not reach the broker

    @property
    def message_id(self) -> str:
        return self._delivery.message_id

    @property
    def body(self) -> bytes:
        return self._body

    @property
    def attempt(self) -> int:
        return self._delivery.attempt

    @property
    def redelivered(self) -> bool:
        return self._delivery.redelivered

    async def ack(self) -> None:
        self._reach_broker()
        await self._delivery.ack()
        self.settled.append(("ack", None))

    async def retry(self, after: float = 0.0) -> None:
        self._reach_broker()
        await self._delivery.retry(after)
        self.settled.append(("retry", after))

    async def dead_letter(self, reason: str) -> None:
        self._reach_broker()
        await self._delivery.dead_letter(reason)
        self.settled.append(("dead_letter", reason))

    def _reach_broker(self) -> None:
        if self._failures:
            self._failures -= 1
            raise BrokerUnavailable("the disk is full")


class Deliver:
    """Publishes a message on a queue of its own and takes it. No consumer runs afterwards."""

    def __init__(self, broker: Broker, clock: FakeClock) -> None:
        self._broker = broker
        self._clock = clock
        self._numbers = count(1)

    async def __call__(
        self, body: bytes, *, attempt: int = 1, redelivered: bool = False, failures: int = 0
    ) -> RecordedDelivery:
        """With `redelivered`, the consumer of the attempt before has vanished."""
        queue = f"queue {next(self._numbers)}"
        # A broker that other programs publish to may deliver bytes that are not text; SQLite can't.
        held = body if _is_text(body) else b"{}"
        await self._broker.publish(queue, Message(id=f"in {queue}", body=held))
        for number in range(1, attempt):
            if redelivered and number == attempt - 1:
                await self._take(queue)
                self._clock.advance(LEASE + 1)
                self._clock.jump_wall(-(LEASE + 1))
            else:
                await (await self._take(queue)).retry()
        delivery = await self._take(queue)
        assert (delivery.attempt, delivery.redelivered) == (attempt, redelivered)
        return RecordedDelivery(delivery, body=body, failures=failures)

    async def _take(self, queue: str) -> Delivery:
        async with asyncio.timeout(TIMEOUT_SECONDS), self._broker.deliveries(queue, 1) as taking:
            return await anext(taking)


def _is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True
