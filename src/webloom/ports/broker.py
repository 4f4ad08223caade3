from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    id: str  # chosen by the publisher, unique
    body: bytes  # JSON, and so UTF-8
    key: str | None = None  # two messages of one queue with the same key are one


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueDepth:
    ready: int  # can be delivered now; what the limit counts
    delayed: int  # waiting for their time
    in_flight: int | None  # delivered, not settled; None: the broker can't say
    dead: int


@dataclass(frozen=True, kw_only=True, slots=True)
class DeadLetter:
    id: str
    body: bytes
    reason: str
    buried_at: datetime


class Delivery(Protocol):
    """One message in the hands of one consumer, until it is settled.

    It is settled once, by one of the three verbs. The broker extends its lease while the process
    lives. After a lost lease the verbs change nothing: another consumer has the message by then.
    `retry` and `dead_letter` return once the broker has stored the change. If they raise
    BrokerUnavailable, they can be repeated. Once started they finish, even if the caller is
    cancelled.
    """

    @property
    def message_id(self) -> str: ...

    @property
    def body(self) -> bytes: ...

    @property
    def attempt(self) -> int:
        """1 for the first delivery of the message."""

    @property
    def redelivered(self) -> bool:
        """A consumer vanished without settling the message. This stays true after a retry: a
        delivery that was only deferred is as suspicious as before."""

    async def ack(self) -> None:
        """Done: the message is gone for good.

        The acknowledgement is on its way to the broker when this returns. If a crash overtakes it,
        the message is redelivered."""

    async def retry(self, after: float = 0.0) -> None:
        """Give it back, to be delivered again after `after` seconds.

        Never refused, not even by a full queue."""

    async def dead_letter(self, reason: str) -> None:
        """Move it to the queue's dead letters."""


class Broker(Protocol):
    """Durable queues, delivered at least once.

    A message whose publish returned is never lost; a delivery is never silently dropped. Messages
    published without a delay are delivered in that order; messages that were delayed, given back
    or lost by their consumer may come in anywhere. Everything raises BrokerUnavailable when the
    broker can't be reached, and BackendRefused when only a person can fix the cause.
    """

    async def publish(self, queue: str, message: Message, *, delay: float = 0.0) -> str:
        """Returns only when the message is durable.

        Returns the id of the message that now stands for it: its own, or, on a broker that knows
        keys, that of the message with the same key which waits in the queue; then nothing was
        added. A message in flight never stands for a new one: its work may be done already.
        Raises QueueFull.
        """

    async def publish_many(self, queue: str, messages: Sequence[Message]) -> list[str | None]:
        """As publish, for each message in order; None stands for one that did not fit."""

    def deliveries(
        self, queue: str, slots: int
    ) -> AbstractAsyncContextManager[AsyncIterator[Delivery]]:
        """Hand out deliveries, at most `slots` of them unsettled at any time.

        A message published anywhere is handed out promptly, however long the queue was idle.
        Leaving the context takes nothing new; what is unsettled then can still be settled.
        """

    async def depth(self, queue: str) -> QueueDepth: ...

    async def dead_letters(
        self, queue: str, *, limit: int, after: str | None = None
    ) -> list[DeadLetter]:
        """Oldest first, from behind the one with id `after`."""

    async def put_back(self, queue: str, message_id: str) -> bool:
        """Deliver a dead letter again, as if new. False: there is no such dead letter."""

    async def discard(self, queue: str, message_id: str) -> bool:
        """Remove a dead letter. False: there is no such dead letter."""
