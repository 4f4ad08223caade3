"""One connection to RabbitMQ, which reconnects whenever it is lost.

DISCONNECTED -> CONNECTING -> CONNECTED -> CHANNEL_OPEN -> READY
     ^              |             |             |            |
     '--------------+-------------+-------------+------------'
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from enum import StrEnum

import aiormq
from yarl import URL

from webloom.adapters.rabbitmq.failures import refusal, translating
from webloom.adapters.rabbitmq.session import ConfirmingChannel, Session
from webloom.adapters.rabbitmq.transport import Transport
from webloom.cancellation import cancel_and_wait
from webloom.domain.backoff import RECONNECT
from webloom.domain.errors import BackendRefused, BrokerUnavailable
from webloom.jitter import jitter
from webloom.parsing.backend_url import shown
from webloom.ports.connection import Connection

log = logging.getLogger(__name__)

OLDEST_VERSION = (3, 10)
# Where a prefetch limit over several queues (global QoS) is deprecated; 4.3 does not permit it.
NO_CHANNEL_LIMITS = (4, 0)
CONNECT_SECONDS = 10.0
HEARTBEAT = 15  # seconds
QUICK_PAUSE = 0.1  # before the first attempt to reconnect
STABLE_SECONDS = 5.0  # after which a connection counts as a success


class State(StrEnum):
    DISCONNECTED = "DISCONNECTED"
    CONNECTING = "CONNECTING"
    CONNECTED = "CONNECTED"
    CHANNEL_OPEN = "CHANNEL_OPEN"
    READY = "READY"


class RabbitConnection:
    def __init__(self, url: str) -> None:
        self.address = shown(url)
        self.heartbeat = float(HEARTBEAT)
        self._url = _with_heartbeat(url, self.address)
        self._state = State.DISCONNECTED
        self._failure: BrokerUnavailable | BackendRefused | None = None
        self._session: Session | None = None
        self._publisher: ConfirmingChannel | None = None
        self.watchers: set[asyncio.Event] = set()  # set at each change of the state

    def status(self) -> Connection:
        detail = None
        if self._state is not State.READY and self._failure is not None:
            detail = str(self._failure)
        return Connection(kind="rabbitmq", address=self.address, state=self._state, detail=detail)

    @property
    def is_ready(self) -> bool:
        publisher = self._publisher
        return self._is_connected and publisher is not None and not publisher.raw.is_closed

    @property
    def _is_connected(self) -> bool:
        session = self._session
        return self._state is State.READY and session is not None and session.alive

    def session(self) -> Session:
        self.publisher()
        assert self._session is not None  # noqa: S101 - READY means that there is one
        return self._session

    def publisher(self) -> ConfirmingChannel:
        """Raises at once if there is none: the caller can ask its client to retry later."""
        if self.is_ready and self._publisher is not None:
            return self._publisher
        if self._is_connected:
            raise BrokerUnavailable(f"the channel to RabbitMQ at {self.address} is being reopened")
        if isinstance(self._failure, BackendRefused):
            raise BackendRefused(str(self._failure)) from self._failure
        reason = f" ({self._failure})" if self._failure else ""
        raise BrokerUnavailable(
            f"not connected to RabbitMQ at {self.address}{reason}; trying again"
        ) from self._failure

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Raises BackendRefused if the first attempt shows that a person has to act."""
        try:
            await self._connect()
        except BrokerUnavailable as error:
            self._disconnected(error)
        keeper = asyncio.create_task(self._keep())
        try:
            yield
        finally:
            await cancel_and_wait(keeper)
            session, self._session = self._session, None
            if session is not None:
                await session.close()
            self._move(State.DISCONNECTED)

    def _move(self, state: State) -> None:
        self._state = state
        for watcher in self.watchers:
            watcher.set()

    async def _keep(self) -> None:
        failures = 0
        while True:
            since = time.monotonic()
            if self._session is not None and self._publisher is not None:
                await self._attempt(self._stay(self._session, self._publisher))
            stable = time.monotonic() - since > STABLE_SECONDS
            failures = 1 if stable else failures + 1
            await asyncio.sleep(pause(failures))
            await self._attempt(self._connect())

    async def _attempt(self, step: Coroutine[object, object, None]) -> None:
        try:
            await step
        except (BrokerUnavailable, BackendRefused) as error:
            self._disconnected(error)
        except Exception as error:  # otherwise nothing would reconnect
            log.exception("unexpected error of a connection", extra={"broker": self.address})
            self._disconnected(BrokerUnavailable(f"unexpected {type(error).__name__}"))

    async def _stay(self, session: Session, publisher: ConfirmingChannel) -> None:
        """Until the connection is lost; a lost channel is reopened."""
        connection_lost = asyncio.create_task(session.lost())
        try:
            while session.alive:
                channel_lost = asyncio.ensure_future(publisher.raw.closing)
                await asyncio.wait(
                    {connection_lost, channel_lost}, return_when=asyncio.FIRST_COMPLETED
                )
                channel_lost.cancel()
                if session.alive:
                    self._move(State.CONNECTED)
                    self._publisher = publisher = await self._open_publisher(session)
        finally:
            connection_lost.cancel()
        raise BrokerUnavailable(
            f"the connection to RabbitMQ at {self.address} is lost: {await session.lost()}"
        )

    def _disconnected(self, error: BrokerUnavailable | BackendRefused) -> None:
        if self._session is not None:
            self._session.drop("it was closed")
        self._session = self._publisher = None
        self._failure = error
        self._move(State.DISCONNECTED)
        log.warning(
            "not connected to RabbitMQ", extra={"broker": self.address, "error": str(error)}
        )

    async def _connect(self) -> None:
        self._move(State.CONNECTING)
        transport = Transport()
        try:
            connection = aiormq.Connection(self._url, transport_factory=transport)
            with translating(self.address):
                async with asyncio.timeout(CONNECT_SECONDS):
                    await self._shake_hands(connection, transport)
            version = self._checked_version(connection)
            session = Session(
                connection, transport, self.address, limits_channels=version < NO_CHANNEL_LIMITS
            )
            self._session = session
            self._move(State.CONNECTED)
            self._publisher = await self._open_publisher(session)
        except BaseException:
            transport.abort()
            raise

    async def _shake_hands(self, connection: aiormq.Connection, transport: Transport) -> None:
        try:
            await connection.connect()
        except Exception as error:
            if refused := refusal(error, transport, self.address):
                raise refused from error
            raise

    async def _open_publisher(self, session: Session) -> ConfirmingChannel:
        channel = await session.channel()
        self._move(State.CHANNEL_OPEN)
        publisher = await session.confirming(channel)
        self._failure = None
        self._move(State.READY)
        log.info("connected to RabbitMQ", extra={"broker": self.address})
        return publisher

    def _checked_version(self, connection: aiormq.Connection) -> tuple[int, ...]:
        properties = connection.server_properties
        product, version = str(properties.get("product")), str(properties.get("version"))
        numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
        if product != "RabbitMQ" or numbers < OLDEST_VERSION:
            oldest = ".".join(map(str, OLDEST_VERSION))
            raise BackendRefused(
                f"the server at {self.address} is {product} {version}: Webloom needs RabbitMQ"
                f" {oldest} or newer"
            )
        return numbers


def _with_heartbeat(url: str, address: str) -> URL:
    try:
        parsed = URL(url).update_query(heartbeat=str(HEARTBEAT))
        if not parsed.host:
            raise ValueError
        return parsed
    except ValueError:
        raise BackendRefused(
            f"{address} is not a valid address: write amqp://user:password@host:port/vhost, with"
            " special characters of the password percent-encoded"
        ) from None  # the library's message repeats the address, password and all


def pause(failures: int) -> float:
    """Seconds until the next attempt."""
    if failures <= 1:
        return QUICK_PAUSE
    return RECONNECT.delay(failures - 1, jitter=jitter())
