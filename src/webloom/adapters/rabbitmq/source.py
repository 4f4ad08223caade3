"""Messages of a RabbitMQ queue for one consumer.

The server sends as many messages as there are slots while one of them waits. When none has waited
for a moment although some are free, the consumer unsubscribes and gives back what no slot has asked
for: another consumer could serve it.

Quorum queues have no prefetch limit over two queues, and RabbitMQ 4 has none at all. There each
queue has its own, and a message may wait here for a slot that is busy.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Collection, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple, TypeVar

from aiormq.abc import DeliveredMessage
from pamqp.commands import Basic

from webloom.adapters.consumer import FAILURES, RECOVERY_PAUSE, Received
from webloom.adapters.rabbitmq import envelope as envelopes
from webloom.adapters.rabbitmq.connection import RabbitConnection
from webloom.adapters.rabbitmq.consumer_channel import ConsumerChannel
from webloom.adapters.rabbitmq.envelope import Envelope
from webloom.adapters.rabbitmq.layout import Layout, Route
from webloom.adapters.rabbitmq.session import Refused
from webloom.domain.errors import BrokerUnavailable
from webloom.ports.clock import Clock

log = logging.getLogger(__name__)

# Without a slot that waits: until acknowledgements are sent (a consumer that stops right after one
# is not to be sent another message in its place), and until it unsubscribes.
ACK_SECONDS, IDLE_SECONDS = 0.01, 0.25

T = TypeVar("T")


class Handle(NamedTuple):
    channel: ConsumerChannel
    tag: int
    body: bytes
    envelope: Envelope


class RabbitSource:
    def __init__(
        self, connection: RabbitConnection, layout: Layout, slots: int, clock: Clock
    ) -> None:
        self.woken = asyncio.Event()
        self.lease = connection.heartbeat  # which renews it
        self._connection = connection
        self._layout = layout
        self._slots = slots
        self._clock = clock
        self._channel: ConsumerChannel | None = None
        self._arrived: deque[Handle] = deque()  # for which no slot has asked
        self._idle_since: float | None = None
        connection.watchers.add(self.woken)

    @property
    def is_connected(self) -> bool:
        return self._connection.is_ready

    async def receive(self, most: int) -> tuple[Sequence[Received[Handle]], float | None]:
        self._idle_since = None
        await self._or_leave(self._subscribe())
        found: list[Received[Handle]] = []
        while self._arrived and len(found) < most:
            held = self._arrived.popleft()
            if not held.channel.lost:
                read = held.envelope
                found.append(
                    Received(held, read.message_id, held.body, read.attempt, read.redelivered)
                )
        return found, None

    async def idle(self) -> float | None:
        return await self._or_leave(self._unsubscribe_if_idle())

    async def _or_leave(self, step: Coroutine[object, object, T]) -> T:
        """The channel is useless after an error, and a queue may be gone."""
        try:
            return await step
        except BaseException:
            if self._channel is not None:
                self._channel.session.forget(self._layout)
            await self._leave()
            raise

    async def _leave(self) -> None:
        channel, self._channel = self._channel, None
        if channel is not None:
            with suppress(*FAILURES):
                await channel.unsubscribe()
            await self._give_back()
            await channel.leave()

    async def _give_back(self) -> None:
        while self._arrived:
            await self.release(self._arrived.popleft())

    async def _subscribe(self) -> None:
        if self._channel is None or self._channel.lost:
            self._channel = None
            if not self._connection.is_ready:
                return
            await self._open_channel()
        channel = self._channel
        assert channel is not None  # noqa: S101 - it was opened
        await channel.acknowledge()
        for queue in (self._layout.ready.name, self._layout.again.name):
            if queue not in channel.subscriptions:
                await channel.session.declare(self._layout)
                arrived = partial(self._on_message, channel)
                await channel.subscribe(queue, arrived, is_quorum=self._layout.quorum)

    async def _open_channel(self) -> None:
        session = self._connection.session()
        await session.declare(self._layout)
        publisher = await session.confirming(await session.channel())
        channel = self._channel = ConsumerChannel(session, publisher)
        publisher.raw.closing.add_done_callback(lambda _: self.woken.set())
        publisher.raw.on_consumer_cancel_callbacks.add(partial(self._unsubscribed, channel))
        shared = session.limits_channels and not self._layout.quorum
        await channel.limit(self._slots, whole_channel=shared)

    def _unsubscribed(self, channel: ConsumerChannel, frame: Basic.Cancel) -> None:
        """The server ended a subscription, because its queue was deleted."""
        for queue, tag in list(channel.subscriptions.items()):
            if tag == frame.consumer_tag:
                del channel.subscriptions[queue]
        channel.session.forget(self._layout)
        self.woken.set()

    async def _unsubscribe_if_idle(self) -> float | None:
        channel, since, self._idle_since = self._channel, self._idle_since, None
        if channel is None or channel.lost:
            return None
        now = asyncio.get_running_loop().time()
        since = now if since is None else since
        if now - since < ACK_SECONDS:
            self._idle_since = since
            return since + ACK_SECONDS - now
        await channel.acknowledge()
        all_busy = channel.held - len(self._arrived) >= self._slots
        if all_busy or not (channel.subscriptions or self._arrived):
            return None
        if now - since < IDLE_SECONDS:
            self._idle_since = since
            return since + IDLE_SECONDS - now
        await channel.unsubscribe()
        await self._give_back()
        return None

    async def _on_message(self, channel: ConsumerChannel, message: DeliveredMessage) -> None:
        channel.held += 1
        tag = message.delivery_tag or 0
        try:
            held = Handle(channel, tag, message.body, envelopes.read(message))
            if held.envelope.rest > 0:
                await self._delay_further(held)
            else:
                self._arrived.append(held)
                self.woken.set()
        except Exception:  # or it would keep its place here for as long as the connection lives
            log.exception("cannot take a message", extra={"queue": self._layout.queue})
            await asyncio.sleep(RECOVERY_PAUSE)
            await channel.requeue(tag)

    async def _delay_further(self, held: Handle) -> None:
        """It waited for the longest possible delay, and has to wait for the rest."""
        route = self._layout.to_again(held.envelope.rest)
        while not held.channel.lost:
            try:
                return await self._move(held, route, held.envelope.passed_on(route.rest))
            except FAILURES as error:
                extra = {"queue": self._layout.queue, "error": str(error)}
                log.warning("cannot delay a message any further", extra=extra)
                await asyncio.sleep(RECOVERY_PAUSE)
        return None

    async def renew(self, held: Sequence[Handle]) -> Collection[Handle]:
        return [each for each in held if each.channel.lost]

    def ack(self, held: Handle) -> asyncio.Future[None] | None:
        channel = held.channel
        if channel.lost:
            return None
        channel.settle(held.tag)
        self.woken.set()
        return asyncio.ensure_future(channel.leave()) if channel.is_leaving else None

    async def retry(self, held: Handle, after: float) -> None:
        route = self._layout.to_again(after)
        await self._move(held, route, held.envelope.given_back(route.rest))

    async def dead_letter(self, held: Handle, reason: str) -> None:
        properties = held.envelope.buried(self._layout.queue, reason, self._clock.now())
        await self._move(held, self._layout.to_dead, properties)

    async def release(self, held: Handle) -> None:
        """If it can't go back as it came, it goes back as redelivered."""
        try:
            await self._move(held, self._layout.to_again(0), held.envelope.passed_on(0))
        except FAILURES:
            if not held.channel.lost:
                await held.channel.requeue(held.tag)

    async def _move(self, held: Handle, route: Route, properties: Basic.Properties) -> None:
        """First the copy, then the acknowledgement: a crash in between leaves two, never none."""
        if held.channel.lost:
            return
        try:
            await held.channel.publisher.send(self._layout, route, held.body, properties)
        except Refused as error:
            raise BrokerUnavailable(
                f"RabbitMQ at {self._connection.address} did not take a message of"
                f" {self._layout.queue} back"
            ) from error
        if (leaving := self.ack(held)) is not None:
            await leaving

    async def close(self) -> None:
        self._connection.watchers.discard(self.woken)
        await self._leave()
