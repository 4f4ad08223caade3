"""The channel of one consumer, and the messages held on it."""

from __future__ import annotations

from collections import deque
from contextlib import suppress

from webloom.adapters.rabbitmq.failures import translating
from webloom.adapters.rabbitmq.session import ANSWER_SECONDS, ConfirmingChannel, Session
from webloom.domain.errors import BrokerUnavailable

QUEUES = 2  # ready, again: a consumer subscribes to both


class ConsumerChannel:
    """For the server, the channel identifies the holder of a message.

    Copies of held messages are published on the same channel. Once the server has closed it and
    delivered the messages to others, it accepts no copy either.
    """

    def __init__(self, session: Session, publisher: ConfirmingChannel) -> None:
        self.session = session
        self.publisher = publisher
        self.held = 0  # messages that arrived and are not settled
        self.subscriptions: dict[str, str] = {}  # consumer tags by queue
        self.is_leaving = False
        self.raw = publisher.raw
        self._settled: deque[int] = deque()  # delivery tags to acknowledge

    @property
    def lost(self) -> bool:
        return self.raw.is_closed or not self.session.alive

    @property
    def is_receiving(self) -> bool:
        """Whether messages can arrive without further steps."""
        return len(self.subscriptions) == QUEUES and not self._settled and not self.lost

    def settle(self, tag: int) -> None:
        """`acknowledge` sends the acknowledgement later: a consumer that stops right afterwards
        should not be sent another message."""
        self.held -= 1
        self._settled.append(tag)

    async def acknowledge(self) -> None:
        with translating(self.session.address):
            while self._settled:
                # Closing the connection would overtake unwritten data; unsubscribing, which comes
                # before that, would not.
                wait = not self.subscriptions
                await self.raw.basic_ack(self._settled.popleft(), wait=wait)

    async def requeue(self, tag: int) -> None:
        """Return the message to its place in the queue, as redelivered."""
        self.held -= 1
        with suppress(BrokerUnavailable), translating(self.session.address):
            await self.raw.basic_nack(tag, requeue=True)
        if self.is_leaving:
            await self.leave()

    async def unsubscribe(self) -> None:
        while self.subscriptions and not self.lost:
            _, tag = self.subscriptions.popitem()
            with self.session.answering():
                await self.raw.basic_cancel(tag, timeout=ANSWER_SECONDS)

    async def leave(self) -> None:
        """No more messages arrive; the channel stays open for those that are held."""
        self.is_leaving = True
        with suppress(BrokerUnavailable):  # the server redelivers what is not settled
            await self.acknowledge()
            if self.held == 0 and not self.lost:
                await self.session.close_channel(self.raw)
