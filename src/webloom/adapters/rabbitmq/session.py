"""State that belongs to one connection to RabbitMQ."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import aiormq
from aiormq.exceptions import ChannelNotFoundEntity, DeliveryError, PublishError
from pamqp.commands import Basic

from webloom.adapters.rabbitmq.failures import translating
from webloom.adapters.rabbitmq.layout import Layout, QueueSpec, Route
from webloom.adapters.rabbitmq.transport import Transport
from webloom.domain.errors import BrokerUnavailable

ANSWER_SECONDS = 10.0  # after which the server counts as lost
CLOSE_SECONDS = 3.0
REDECLARE_PAUSE = 0.1  # a quorum queue redeclared while being deleted loses confirmed messages


class Refused(Exception):
    """The server rejected a message: the queue is full, or can't be written."""


class Unroutable(Exception):
    """The queue of the message was deleted."""


class Session:
    def __init__(
        self,
        connection: aiormq.Connection,
        transport: Transport,
        address: str,
        *,
        limits_channels: bool,
    ) -> None:
        self.address = address
        self.limits_channels = limits_channels  # a prefetch limit can cover several queues
        self._connection = connection
        self._transport = transport
        self._declaring = asyncio.Lock()
        self._declarer: aiormq.Channel | None = None
        self._declared: set[tuple[str, bool]] = set()  # queues, without and with their delays
        self._why_dropped: str | None = None
        self.reading = asyncio.Lock()  # of dead letters

    @property
    def alive(self) -> bool:
        return self._why_dropped is None and self._connection.is_opened

    async def lost(self) -> str:
        """Returns when the connection is lost, with the reason."""
        closing = self._connection.closing
        await asyncio.wait([closing])
        error = None if closing.cancelled() else closing.exception()
        return self._why_dropped or (str(error) if error else "") or "it was closed"

    def drop(self, why: str) -> None:
        self._why_dropped = self._why_dropped or why
        self._transport.abort()

    async def close(self) -> None:
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                with translating(self.address):
                    await self._connection.close(ConnectionError("closed"))
        except (BrokerUnavailable, TimeoutError):
            pass
        finally:
            self._transport.abort()

    async def channel(self) -> aiormq.Channel:
        with self.answering():
            channel = await self._connection.channel(
                publisher_confirms=False, timeout=ANSWER_SECONDS
            )
        assert isinstance(channel, aiormq.Channel)  # noqa: S101 - the library promises less
        return channel

    async def confirming(self, channel: aiormq.Channel) -> ConfirmingChannel:
        with self.answering():
            await channel.confirm_delivery(timeout=ANSWER_SECONDS)
        return ConfirmingChannel(channel, self)

    async def close_channel(self, channel: aiormq.Channel) -> None:
        with self.answering():
            await channel.close(ConnectionError("closed"), timeout=ANSWER_SECONDS)

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Around calls that the server has to answer: after a timeout the connection is dropped."""
        with translating(self.address):
            try:
                yield
            except TimeoutError:
                self.unanswered()
                raise

    async def declare(self, layout: Layout, *, delays: bool = False) -> None:
        plain, delayed = (layout.queue, False), (layout.queue, True)
        if (delayed if delays else plain) in self._declared:
            return
        async with self._declarations() as channel:
            if plain not in self._declared:
                for spec in (layout.ready, layout.again, layout.dead):
                    await _declare(channel, spec)
                self._declared.add(plain)
            if delays and delayed not in self._declared:
                await _declare_delays(channel, layout)
                self._declared.add(delayed)

    async def count(self, *specs: QueueSpec) -> list[int]:
        """Ready messages in each queue. A declaration returns that without an error."""
        async with self._declarations() as channel:
            return [await _declare(channel, spec) for spec in specs]

    async def delete_queue(self, name: str) -> None:
        async with self._declarations() as channel:
            await channel.queue_delete(name, timeout=ANSWER_SECONDS)

    def forget(self, layout: Layout) -> None:
        """One of its queues was deleted: declare all of them again."""
        self._declared -= {(layout.queue, False), (layout.queue, True)}

    def forget_all(self) -> None:
        self._declared.clear()

    @asynccontextmanager
    async def _declarations(self) -> AsyncIterator[aiormq.Channel]:
        """A separate channel, because the server closes it to refuse a declaration."""
        async with self._declaring:
            self.check_blocked()
            if self._declarer is None or self._declarer.is_closed:
                self._declarer = await self.channel()
            try:
                with self.answering():
                    yield self._declarer
            except BaseException:
                self._declarer = None  # a refused or cancelled call closes it
                raise

    def check_blocked(self) -> None:
        """Raises BrokerUnavailable while the server blocks publishers because of an alarm."""
        if _is_blocked(self._connection):
            raise BrokerUnavailable(
                f"RabbitMQ at {self.address} takes no messages: it is short of memory or disk space"
            )

    def unanswered(self) -> None:
        """After a timeout: the server has blocked us, or the connection is dead."""
        if not _is_blocked(self._connection):
            self.drop(f"no answer within {ANSWER_SECONDS:.0f} s")


class ConfirmingChannel:
    """Publishes messages with confirmation that the server has them on disk."""

    def __init__(self, channel: aiormq.Channel, session: Session) -> None:
        channel.publisher_confirms = True
        self.raw = channel
        self._session = session
        # The library identifies returned messages by their ids: one of each at a time.
        self._under_way: dict[str, asyncio.Future[None]] = {}

    async def send(
        self, layout: Layout, route: Route, body: bytes, properties: Basic.Properties
    ) -> None:
        """Raises Refused, BrokerUnavailable, BackendRefused."""
        try:
            await self._send(layout, route, body, properties)
        except Unroutable:
            self._session.forget(layout)
            await asyncio.sleep(REDECLARE_PAUSE)
            try:
                await self._send(layout, route, body, properties)
            except Unroutable:
                raise BrokerUnavailable(
                    f"a queue of {layout.queue} on RabbitMQ at {self._session.address} vanishes as"
                    " soon as it is declared"
                ) from None

    async def _send(
        self, layout: Layout, route: Route, body: bytes, properties: Basic.Properties
    ) -> None:
        session = self._session
        await session.declare(layout, delays=route.exchange != "")
        session.check_blocked()
        message_id = str(properties.message_id)
        while (twin := self._under_way.get(message_id)) is not None:
            await asyncio.wait([twin])
        sent = self._under_way[message_id] = asyncio.get_running_loop().create_future()
        try:
            await self._publish(route, body, properties)
        finally:
            del self._under_way[message_id]
            sent.set_result(None)

    async def _publish(self, route: Route, body: bytes, properties: Basic.Properties) -> None:
        try:
            await self.raw.basic_publish(
                body,
                exchange=route.exchange,
                routing_key=route.key,
                properties=properties,
                mandatory=True,
                timeout=ANSWER_SECONDS,
                wait=False,
            )
        except PublishError as error:  # which is a DeliveryError too
            raise Unroutable from error
        except DeliveryError as error:
            raise Refused from error
        except BaseException as error:
            if isinstance(error, TimeoutError):
                self._session.unanswered()
            elif isinstance(error, ChannelNotFoundEntity):
                self._session.forget_all()  # an exchange was deleted
            with translating(self._session.address):
                raise


async def _declare(channel: aiormq.Channel, spec: QueueSpec) -> int:
    answer = await channel.queue_declare(
        spec.name, durable=True, arguments=dict(spec.arguments), timeout=ANSWER_SECONDS
    )
    return answer.message_count or 0


async def _declare_delays(channel: aiormq.Channel, layout: Layout) -> None:
    for spec in layout.waits:
        await _declare(channel, spec)
    for exchange in layout.exchanges:
        await channel.exchange_declare(
            exchange, exchange_type="topic", durable=True, timeout=ANSWER_SECONDS
        )
    for binding in layout.bindings:
        bind = channel.exchange_bind if binding.to_exchange else channel.queue_bind
        await bind(binding.target, binding.exchange, binding.key, timeout=ANSWER_SECONDS)


def _is_blocked(connection: aiormq.Connection) -> bool:
    """The library only makes its caller wait. Remove this when it has a property for it:
    tests/unit/test_patched_libraries.py then fails."""
    waiting = connection.ready()
    try:
        waiting.send(None)
    except StopIteration:
        return False
    finally:
        waiting.close()
    return True
