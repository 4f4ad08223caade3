"""Durable queues on a RabbitMQ server. How they are laid out there: layout.py."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

from webloom.adapters.consumer import Consumer
from webloom.adapters.rabbitmq import envelope
from webloom.adapters.rabbitmq.connection import RabbitConnection
from webloom.adapters.rabbitmq.dead_letters import letters
from webloom.adapters.rabbitmq.layout import Layout
from webloom.adapters.rabbitmq.session import ConfirmingChannel, Refused
from webloom.adapters.rabbitmq.source import RabbitSource
from webloom.adapters.rabbitmq.transport import read_anything
from webloom.domain.errors import BrokerUnavailable, QueueFull
from webloom.ports.broker import DeadLetter, Delivery, Message, QueueDepth
from webloom.ports.clock import Clock
from webloom.ports.connection import Connection


@asynccontextmanager
async def open_rabbitmq(
    url: str, clock: Clock, *, limits: Mapping[str, int], quorum: bool = False
) -> AsyncIterator[RabbitBroker]:
    """An unreachable server is retried in the background; until then every call raises
    BrokerUnavailable at once. Raises BackendRefused for what a retry can't fix.

    `limits` are the queues' numbers of ready messages; queues without one are unbounded. With
    `quorum` the queues are replicated; then concurrent publishes can exceed a limit.
    """
    read_anything()
    connection = RabbitConnection(url)
    async with connection.opened():
        yield RabbitBroker(connection, clock, limits=limits, quorum=quorum)


class RabbitBroker:
    def __init__(
        self, connection: RabbitConnection, clock: Clock, *, limits: Mapping[str, int], quorum: bool
    ) -> None:
        self._connection = connection
        self._clock = clock
        self._limits = limits
        self._quorum = quorum
        self._layouts: dict[str, Layout] = {}

    def connection(self) -> Connection:
        return self._connection.status()

    async def publish(self, queue: str, message: Message, *, delay: float = 0.0) -> str:
        layout = self._layout(queue)
        if not await self._publish(self._connection.publisher(), layout, message, delay):
            raise QueueFull(queue, layout.limit or 0)
        return message.id

    async def publish_many(self, queue: str, messages: Sequence[Message]) -> list[str | None]:
        layout = self._layout(queue)
        publisher = self._connection.publisher()
        await self._connection.session().declare(
            layout
        )  # before all, so that they keep their order
        answers = await asyncio.gather(
            *(self._publish(publisher, layout, message, 0.0) for message in messages),
            return_exceptions=True,
        )
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        return [
            message.id if taken else None for message, taken in zip(messages, answers, strict=True)
        ]

    async def _publish(
        self, publisher: ConfirmingChannel, layout: Layout, message: Message, delay: float
    ) -> bool:
        """Whether there was room."""
        route = layout.to_again(delay) if delay > 0 else layout.to_ready
        try:
            await publisher.send(
                layout, route, message.body, envelope.new(message, rest=route.rest)
            )
        except Refused as error:
            if layout.limit is None or delay > 0:
                raise BrokerUnavailable(
                    f"RabbitMQ at {self._connection.address} did not take a message for"
                    f" {layout.queue}"
                ) from error
            return False
        return True

    @asynccontextmanager
    async def deliveries(self, queue: str, slots: int) -> AsyncIterator[AsyncIterator[Delivery]]:
        """Raises BackendRefused if a queue was declared with other arguments."""
        layout = self._layout(queue)
        with suppress(BrokerUnavailable):
            await self._connection.session().declare(layout)
        source = RabbitSource(self._connection, layout, slots, self._clock)
        consumer = Consumer(source, queue, slots)
        source.offer = consumer.offer
        async with consumer.running():
            yield consumer

    async def depth(self, queue: str) -> QueueDepth:
        layout = self._layout(queue)
        ready, again, dead, *waiting = await self._connection.session().count(
            layout.ready, layout.again, layout.dead, *layout.waits
        )
        return QueueDepth(ready=ready + again, delayed=sum(waiting), in_flight=None, dead=dead)

    async def dead_letters(
        self, queue: str, *, limit: int, after: str | None = None
    ) -> list[DeadLetter]:
        found: dict[str, DeadLetter] = {}
        awaited = after  # None: the following letters are wanted
        async with letters(self._connection.session(), self._layout(queue)) as dead:
            async for message in dead:
                letter = envelope.dead_letter(message)
                if letter.id == awaited:
                    awaited = None
                    found.clear()
                elif len(found) < limit:
                    found.setdefault(letter.id, letter)
                elif awaited is None:
                    break
        return list(found.values())

    async def put_back(self, queue: str, message_id: str) -> bool:
        return await self._remove(queue, message_id, revive=True)

    async def discard(self, queue: str, message_id: str) -> bool:
        return await self._remove(queue, message_id, revive=False)

    async def _remove(self, queue: str, message_id: str, *, revive: bool) -> bool:
        """The oldest with this id: a message may have been dead-lettered twice."""
        layout = self._layout(queue)
        publisher = self._connection.publisher()
        async with letters(self._connection.session(), layout) as dead:
            async for message in dead:
                read = envelope.read(message)
                if read.message_id != message_id:
                    continue
                if revive:
                    # Like a retry, not refused by a full queue.
                    await publisher.send(layout, layout.to_again(0), message.body, read.revived())
                await dead.remove(message)
                return True
        return False

    def _layout(self, queue: str) -> Layout:
        layout = self._layouts.get(queue)
        if layout is None:
            layout = Layout(queue=queue, limit=self._limits.get(queue), quorum=self._quorum)
            self._layouts[queue] = layout
        return layout
