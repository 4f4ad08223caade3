"""Each queue on the broker that the settings give it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager

from webloom.ports.broker import Broker, DeadLetter, Delivery, Message, QueueDepth


class RoutedBroker:
    def __init__(self, routes: Mapping[str, Broker]) -> None:
        self._routes = routes

    async def publish(self, queue: str, message: Message, *, delay: float = 0.0) -> str:
        return await self._routes[queue].publish(queue, message, delay=delay)

    async def publish_many(self, queue: str, messages: Sequence[Message]) -> list[str | None]:
        return await self._routes[queue].publish_many(queue, messages)

    def deliveries(
        self, queue: str, slots: int
    ) -> AbstractAsyncContextManager[AsyncIterator[Delivery]]:
        return self._routes[queue].deliveries(queue, slots)

    async def depth(self, queue: str) -> QueueDepth:
        return await self._routes[queue].depth(queue)

    async def dead_letters(
        self, queue: str, *, limit: int, after: str | None = None
    ) -> list[DeadLetter]:
        return await self._routes[queue].dead_letters(queue, limit=limit, after=after)

    async def put_back(self, queue: str, message_id: str) -> bool:
        return await self._routes[queue].put_back(queue, message_id)

    async def discard(self, queue: str, message_id: str) -> bool:
        return await self._routes[queue].discard(queue, message_id)
