"""One message in the hands of one consumer."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress

from aiormq.abc import ConsumerCallback, DeliveredMessage
from pamqp.commands import Basic
from pamqp.common import FieldTable

from webloom.adapters.rabbitmq.envelope import Envelope
from webloom.adapters.rabbitmq.failures import speaking
from webloom.adapters.rabbitmq.layout import Layout, Route
from webloom.adapters.rabbitmq.session import (
    ANSWER_SECONDS,
    ConfirmingChannel,
    Refused,
    Session,
)
from webloom.domain.errors import BackendRefused, BrokerUnavailable
from webloom.ports.clock import Clock

# A classic queue that is deleted and declared again at once would silently keep its consumer, which
# then never gets a message (seen with RabbitMQ 3.10). Despite its name the argument has the server
# cancel the consumer whenever its queue goes away. Quorum queues refuse it, and need it not.
CANCEL_ON_DELETION: FieldTable = {"x-cancel-on-ha-failover": True}


class Grip:
    """A channel, and what is held on it: it is the server's proof of who holds what.

    Copies of what is held are published on the same channel. Once the server has given it up and
    handed the messages to others, a copy can't reach it either.
    """

    def __init__(
        self, session: Session, publisher: ConfirmingChannel, changed: Callable[[], None]
    ) -> None:
        self.session = session
        self.channel = publisher.raw
        self.publisher = publisher
        self.held = 0  # arrived and not settled
        self.tags: dict[str, str] = {}  # of the subscriptions, by queue
        self._settled: deque[int] = deque()  # and the server does not know yet
        self._changed = changed
        self._left = False

    @property
    def lost(self) -> bool:
        return self.channel.is_closed or not self.session.alive

    async def settle(self, tag: int) -> None:
        """The consumer acknowledges it: whoever leaves right afterwards is not to be sent another
        in its place."""
        self.held -= 1
        self._settled.append(tag)
        self._changed()
        if self._left:
            await self.leave()

    async def put_down(self, tag: int) -> None:
        """Back to its place in the queue, where it counts as redelivered."""
        self.held -= 1
        self._changed()
        with suppress(BrokerUnavailable), speaking(self.session.address):
            await self.channel.basic_nack(tag, requeue=True)
        if self._left:
            await self.leave()

    async def limit(self, count: int, *, whole_channel: bool) -> None:
        with self.session.answering():
            await self.channel.basic_qos(
                prefetch_count=count, global_=whole_channel, timeout=ANSWER_SECONDS
            )

    async def subscribe(self, queue: str, arrived: ConsumerCallback, *, is_quorum: bool) -> None:
        with self.session.answering():
            answer = await self.channel.basic_consume(
                queue,
                arrived,
                arguments=None if is_quorum else CANCEL_ON_DELETION,
                timeout=ANSWER_SECONDS,
            )
        self.tags[queue] = str(answer.consumer_tag)

    async def unsubscribe(self, tag: str) -> None:
        with self.session.answering():
            await self.channel.basic_cancel(tag, timeout=ANSWER_SECONDS)

    async def acknowledge(self) -> None:
        with speaking(self.session.address):
            while self._settled:
                # Closing the connection would overtake what is not written yet; unsubscribing,
                # which comes before that, would not.
                await self.channel.basic_ack(self._settled.popleft(), wait=not self.tags)

    async def leave(self) -> None:
        """Nothing more is to come; the channel stays for what is held."""
        self._left = True
        with suppress(BrokerUnavailable):  # the server gives to others what it was not told of
            await self.acknowledge()
            if self.held == 0 and not self.lost:
                await self.session.close_channel(self.channel)


class RabbitDelivery:
    def __init__(
        self, *, grip: Grip, layout: Layout, clock: Clock, message: DeliveredMessage, read: Envelope
    ) -> None:
        self._grip = grip
        self._layout = layout
        self._clock = clock
        self._message = message
        self._read = read
        self._settled = False

    @property
    def _tag(self) -> int:
        return self._message.delivery_tag or 0

    @property
    def message_id(self) -> str:
        return self._read.message_id

    @property
    def body(self) -> bytes:
        return self._message.body

    @property
    def attempt(self) -> int:
        return self._read.attempt

    @property
    def redelivered(self) -> bool:
        return self._read.redelivered

    @property
    def lost(self) -> bool:
        return self._grip.lost

    async def ack(self) -> None:
        if not self._settled and not self._grip.lost:
            self._settled = True
            await self._grip.settle(self._tag)

    async def retry(self, after: float = 0.0) -> None:
        route = self._layout.to_again(after)
        await self._move(route, self._read.given_back(route.rest))

    async def bury(self, reason: str) -> None:
        properties = self._read.buried(self._layout.queue, reason, self._clock.now())
        await self._move(self._layout.to_dead, properties)

    async def wait_on(self) -> None:
        """It came through its longest possible delay, and has a rest to wait."""
        route = self._layout.to_again(self._read.rest)
        await self._move(route, self._read.passed_on(route.rest))

    async def let_go(self) -> None:
        """No slot has had it. If it can't go back as it came, it goes back as redelivered."""
        try:
            await self._move(self._layout.to_again(0), self._read.passed_on(0))
        except (BrokerUnavailable, BackendRefused):
            if not self._grip.lost:
                self._settled = True
                await self._grip.put_down(self._tag)

    async def _move(self, route: Route, properties: Basic.Properties) -> None:
        """First the copy, then the acknowledgement: a crash in between leaves two, never none."""
        if self._settled or self._grip.lost:
            return
        try:
            await self._grip.publisher.send(self._layout, route, self.body, properties)
        except Refused as error:
            raise BrokerUnavailable(
                f"RabbitMQ at {self._grip.session.address} did not take a message of"
                f" {self._layout.queue} back"
            ) from error
        await self.ack()
