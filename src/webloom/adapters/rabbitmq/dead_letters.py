"""Reads the dead letters of a queue.

RabbitMQ can't list a queue: messages are fetched one by one, and return to their places when the
channel is closed. Meanwhile they are hidden from others, so a process reads only while it owns the
exclusive queue Q.dead.reader.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import aiormq
from aiormq.abc import DeliveredMessage
from aiormq.exceptions import ChannelLockedResource
from pamqp.commands import Basic

from webloom.adapters.rabbitmq.layout import Layout
from webloom.adapters.rabbitmq.session import ANSWER_SECONDS, Session
from webloom.domain.errors import BrokerUnavailable

LOCK_SECONDS = 10.0  # for which a reader waits for another one
LOCK_PAUSE = 0.05


class Letters:
    def __init__(self, session: Session, channel: aiormq.Channel, queue: str) -> None:
        self._session = session
        self._channel = channel
        self._queue = queue

    async def __aiter__(self) -> AsyncIterator[DeliveredMessage]:
        while True:
            with self._session.answering():
                message = await self._channel.basic_get(self._queue, timeout=ANSWER_SECONDS)
            if isinstance(message.delivery, Basic.GetEmpty):
                return
            yield message

    async def remove(self, message: DeliveredMessage) -> None:
        with self._session.answering():
            await self._channel.basic_ack(message.delivery_tag or 0)


@asynccontextmanager
async def letters(session: Session, layout: Layout) -> AsyncIterator[Letters]:
    """All dead letters, oldest first; those that are not removed stay in place."""
    await session.count(layout.dead)  # also declares it again if it was deleted
    async with _reader(session, f"{layout.dead.name}.reader") as channel:
        yield Letters(session, channel, layout.dead.name)


@asynccontextmanager
async def _reader(session: Session, name: str) -> AsyncIterator[aiormq.Channel]:
    async with session.reading:  # readers in other processes are excluded by the queue
        channel = await _locked(session, name)
        try:
            yield channel
        finally:
            with suppress(BrokerUnavailable):
                await session.close_channel(channel)
            with suppress(BrokerUnavailable):
                await session.delete_queue(name)


async def _locked(session: Session, name: str) -> aiormq.Channel:
    deadline = asyncio.get_running_loop().time() + LOCK_SECONDS
    while True:
        channel = await session.channel()
        try:
            with session.answering():
                await channel.queue_declare(name, exclusive=True, timeout=ANSWER_SECONDS)
            return channel
        except BrokerUnavailable as error:
            if not isinstance(error.__cause__, ChannelLockedResource):
                raise
            if asyncio.get_running_loop().time() > deadline:
                raise BrokerUnavailable(
                    f"another process is reading the dead letters of RabbitMQ at"
                    f" {session.address}: try again"
                ) from None
        await asyncio.sleep(LOCK_PAUSE)
