"""Durable queues as BullMQ keeps them in Redis, so that Node's workers and producers take part.

A message is a job with the message's id. It waits (`wait`, or `delayed`), is held (`active`, with a
lock that its holder renews), is dead (`failed`) or gone. A job whose lock has expired has
*stalled*: it waits again, and its stall counter never resets.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from webloom.adapters.bullmq import lua
from webloom.adapters.bullmq.job_ids import job_id_from, to_message_id
from webloom.adapters.bullmq.jobs import Jobs
from webloom.adapters.bullmq.server import Server
from webloom.adapters.bullmq.source import BullmqSource
from webloom.adapters.consumer import Consumer
from webloom.domain.errors import QueueFull
from webloom.ports.broker import DeadLetter, Delivery, Message, QueueDepth
from webloom.ports.clock import Clock
from webloom.ports.connection import Connection


@asynccontextmanager
async def open_bullmq(
    url: str, clock: Clock, *, limits: Mapping[str, int], lease: float
) -> AsyncIterator[BullmqBroker]:
    """Raises BackendRefused. An unreachable server is retried in the background."""
    async with Server(url, clock).opened() as server:
        yield BullmqBroker(server, limits=limits, lease=lease)


class BullmqBroker:
    def __init__(self, server: Server, *, limits: Mapping[str, int], lease: float) -> None:
        self._server = server
        self._limits = limits  # queues without one are unbounded
        self._lease = lease
        self._queues: dict[str, Jobs] = {}

    def connection(self) -> Connection:
        return self._server.connection()

    async def publish(self, queue: str, message: Message, *, delay: float = 0.0) -> str:
        [standing] = await self._publish(queue, [message], delay)
        if standing is None:
            raise QueueFull(queue, self._limits[queue])
        return standing

    async def publish_many(self, queue: str, messages: Sequence[Message]) -> list[str | None]:
        return await self._publish(queue, messages, 0.0)

    async def _publish(
        self, queue: str, messages: Sequence[Message], delay: float
    ) -> list[str | None]:
        jobs = self._jobs(queue)
        answers = await asyncio.gather(*(jobs.add(message, delay) for message in messages))
        return [
            None if answer == lua.FULL else message.id
            for message, answer in zip(messages, answers, strict=True)
        ]

    @asynccontextmanager
    async def deliveries(self, queue: str, slots: int) -> AsyncIterator[AsyncIterator[Delivery]]:
        source = BullmqSource(self._jobs(queue), self._lease)
        async with Consumer(source, queue, slots).running() as consumer:
            yield consumer

    async def depth(self, queue: str) -> QueueDepth:
        ready, delayed, in_flight, dead = await self._jobs(queue).depth()
        return QueueDepth(ready=ready, delayed=delayed, in_flight=in_flight, dead=dead)

    async def dead_letters(
        self, queue: str, *, limit: int, after: str | None = None
    ) -> list[DeadLetter]:
        return [
            DeadLetter(
                id=to_message_id(job_id_from(job_id)),
                body=b"null" if body is None else body,
                reason=(reason or b"").decode(errors="replace"),
                buried_at=_time(finished or b"0"),
            )
            for job_id, body, reason, finished in await self._jobs(queue).dead_letters(limit, after)
        ]

    async def put_back(self, queue: str, message_id: str) -> bool:
        return await self._jobs(queue).put_back(message_id)

    async def discard(self, queue: str, message_id: str) -> bool:
        return await self._jobs(queue).discard(message_id)

    def _jobs(self, queue: str) -> Jobs:
        if queue not in self._queues:
            self._queues[queue] = Jobs(
                self._server, queue, limit=self._limits.get(queue), lease=self._lease
            )
        return self._queues[queue]


def _time(milliseconds: bytes) -> datetime:
    try:
        return datetime.fromtimestamp(int(milliseconds) / 1000, UTC)
    except (ValueError, OverflowError, OSError):  # written by others
        return datetime.fromtimestamp(0, UTC)
