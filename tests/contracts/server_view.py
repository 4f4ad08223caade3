"""A broker on a server that many tests share, as one test sees it.

Its queues have names of their own, and its seconds are short: such a server lives in real time, so
that a test which lets a minute pass really waits.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from webloom.domain.errors import QueueFull
from webloom.ports.broker import Broker, DeadLetter, Delivery, Message, QueueDepth


class ServerView:
    def __init__(self, broker: Broker, *, prefix: str, second: float) -> None:
        self.inner = broker
        self._prefix = prefix
        self._second = second

    def _own(self, queue: str) -> str:
        return self._prefix + queue

    async def publish(self, queue: str, message: Message, *, delay: float = 0.0) -> str:
        try:
            return await self.inner.publish(self._own(queue), message, delay=delay * self._second)
        except QueueFull as full:
            raise QueueFull(full.queue.removeprefix(self._prefix), full.limit) from None

    async def publish_many(self, queue: str, messages: Sequence[Message]) -> list[str | None]:
        return await self.inner.publish_many(self._own(queue), messages)

    @asynccontextmanager
    async def deliveries(self, queue: str, slots: int) -> AsyncIterator[AsyncIterator[Delivery]]:
        async with self.inner.deliveries(self._own(queue), slots) as deliveries:
            yield _Deliveries(deliveries, self._second)

    async def depth(self, queue: str) -> QueueDepth:
        return await self.inner.depth(self._own(queue))

    async def dead_letters(
        self, queue: str, *, limit: int, after: str | None = None
    ) -> list[DeadLetter]:
        return await self.inner.dead_letters(self._own(queue), limit=limit, after=after)

    async def put_back(self, queue: str, message_id: str) -> bool:
        return await self.inner.put_back(self._own(queue), message_id)

    async def discard(self, queue: str, message_id: str) -> bool:
        return await self.inner.discard(self._own(queue), message_id)


class _Deliveries:
    def __init__(self, inner: AsyncIterator[Delivery], second: float) -> None:
        self._inner = inner
        self._second = second

    def __aiter__(self) -> AsyncIterator[Delivery]:
        return self

    async def __anext__(self) -> Delivery:
        return _QuickDelivery(await anext(self._inner), self._second)


class _QuickDelivery:
    def __init__(self, inner: Delivery, second: float) -> None:
        self._inner = inner
        self._second = second

    @property
    def message_id(self) -> str:
        return self._inner.message_id

    @property
    def body(self) -> bytes:
        return self._inner.body

    @property
    def attempt(self) -> int:
        return self._inner.attempt

    @property
    def redelivered(self) -> bool:
        return self._inner.redelivered

    async def ack(self) -> None:
        await self._inner.ack()

    async def retry(self, after: float = 0.0) -> None:
        await self._inner.retry(after * self._second)

    async def dead_letter(self, reason: str) -> None:
        await self._inner.dead_letter(reason)
