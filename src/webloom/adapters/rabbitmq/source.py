"""Messages of a RabbitMQ queue for one consumer.

While a slot waits, the server sends as many messages as there are slots. If none has waited for a
moment although some are free, the consumer unsubscribes and returns messages that no slot has
taken: another consumer could serve them.

Quorum queues have no prefetch limit over two queues, and RabbitMQ 4 has none at all. There each
queue has its own limit, and a message may wait here for a busy slot.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple, TypeVar

from aiormq.abc import DeliveredMessage
from pamqp.commands import Basic
from pamqp.common import FieldTable

from webloom.adapters.consumer import FAILURES, RECOVERY_PAUSE, Received
from webloom.adapters.rabbitmq import envelope as envelopes
from webloom.adapters.rabbitmq.connection import RabbitConnection
from webloom.adapters.rabbitmq.consumer_channel import ConsumerChannel
from webloom.adapters.rabbitmq.envelope import Envelope
from webloom.adapters.rabbitmq.layout import Layout, Route
from webloom.adapters.rabbitmq.session import ANSWER_SECONDS, Refused
from webloom.domain.errors import BrokerUnavailable
from webloom.ports.clock import Clock

log = logging.getLogger(__name__)

# A classic queue that is deleted and declared again at once silently keeps its consumer, which then
# never gets a message (seen with RabbitMQ 3.10). Despite its name, this argument makes the server
# cancel the consumer whenever its queue is deleted. Quorum queues refuse it, and don't need it.
CANCEL_ON_DELETION: FieldTable = {"x-cancel-on-ha-failover": True}
# While no slot waits: until acknowledgements are sent (a consumer that stops right after one should
# not be sent another message), and until it unsubscribes.
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
        self._arrived: deque[Received[Handle]] = deque()  # not yet handed to a slot
        self.offer: Callable[[Received[Handle]], bool] = lambda _: False  # to a waiting slot
        self._idle_since: float | None = None
        connection.watchers.add(self.woken)

    @property
    def is_connected(self) -> bool:
        return self._connection.is_ready

    async def receive(self, most: int) -> tuple[Sequence[Received[Handle]], float | None]:
        self._idle_since = None
        if self._channel is None or not self._channel.is_receiving:
            await self._or_leave(self._subscribe())
        # Slots that waited when this was called may have a message by now.
        while self._arrived:
            received = self._arrived[0]
            if not (received.handle.channel.lost or self.offer(received)):
                break
            self._arrived.popleft()
        return (), None

    async def idle(self) -> float | None:
        return await self._or_leave(self._unsubscribe_if_idle())

    async def _or_leave(self, step: Coroutine[object, object, T]) -> T:
        """After an error the channel is unusable, and a queue may be gone."""
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
            await self.release(self._arrived.popleft().handle)

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
                with channel.session.answering():
                    answer = await channel.raw.basic_consume(
                        queue,
                        partial(self._on_message, channel),
                        arguments=None if self._layout.quorum else CANCEL_ON_DELETION,
                        timeout=ANSWER_SECONDS,
                    )
                channel.subscriptions[queue] = str(answer.consumer_tag)

    async def _open_channel(self) -> None:
        session = self._connection.session()
        await session.declare(self._layout)
        publisher = await session.confirming(await session.channel())
        channel = self._channel = ConsumerChannel(session, publisher)
        publisher.raw.closing.add_done_callback(lambda _: self.woken.set())
        publisher.raw.on_consumer_cancel_callbacks.add(partial(self._unsubscribed, channel))
        with session.answering():
            await channel.raw.basic_qos(
                prefetch_count=self._slots,
                global_=session.limits_channels and not self._layout.quorum,
                timeout=ANSWER_SECONDS,
            )

    def _unsubscribed(self, channel: ConsumerChannel, frame: Basic.Cancel) -> None:
        """The server cancelled a subscription, because its queue was deleted."""
        for queue, tag in list(channel.subscriptions.items()):
            if tag == frame.consumer_tag:
                del channel.subscriptions[queue]
        channel.session.forget(self._layout)
        self.woken.set()

    async def _unsubscribe_if_idle(self) -> float | None:
        channel, since, self._idle_since = self._channel, self._idle_since, None
        if channel is None or channel.lost:
            return None
        if channel.held - len(self._arrived) >= self._slots:  # no slot is free
            return None
        now = asyncio.get_running_loop().time()
        since = now if since is None else since
        if now - since < ACK_SECONDS:
            self._idle_since = since
            return since + ACK_SECONDS - now
        await channel.acknowledge()
        if not (channel.subscriptions or self._arrived):
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
            read = envelopes.read(message)
            held = Handle(channel, tag, message.body, read)
            if read.rest > 0:
                return await self._delay_further(held)
            received = Received(held, read.message_id, held.body, read.attempt, read.redelivered)
            if self._arrived or not self.offer(received):
                self._arrived.append(received)
                self.woken.set()
        except Exception:  # otherwise it would stay held until the connection ends
            log.exception("cannot receive a message", extra={"queue": self._layout.queue})
            await asyncio.sleep(RECOVERY_PAUSE)
            await channel.requeue(tag)

    async def _delay_further(self, held: Handle) -> None:
        """It has waited for the longest possible delay, and has to wait for the rest."""
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
        properties = held.envelope.dead_lettered(self._layout.queue, reason, self._clock.now())
        await self._move(held, self._layout.to_dead, properties)

    async def release(self, held: Handle) -> None:
        """If that fails, the message returns as redelivered."""
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
                f"RabbitMQ at {self._connection.address} did not accept a returned message of"
                f" {self._layout.queue}"
            ) from error
        if (leaving := self.ack(held)) is not None:
            await leaving

    async def close(self) -> None:
        self._connection.watchers.discard(self.woken)
        await self._leave()
