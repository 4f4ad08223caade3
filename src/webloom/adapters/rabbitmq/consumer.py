"""One process's hands on a queue.

A slot that waits is what lets a message come: the server may have given out here as many as are
held and waited for, and no more. So nothing lies in a process that nobody there is about to serve,
where others could serve it. While a slot is between two deliveries, the acknowledgement that would
bring the next one lingers for a moment: a busy consumer has nothing else to tell the server.

Quorum queues know no such bound over two queues. There each queue has its own, and a message may
wait here for a slot that is busy; leaving gives it back.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TypeVar

from aiormq.abc import DeliveredMessage
from pamqp.commands import Basic

from webloom.adapters.rabbitmq import envelope
from webloom.adapters.rabbitmq.delivery import Grip, RabbitDelivery
from webloom.adapters.rabbitmq.layout import Layout
from webloom.adapters.rabbitmq.link import Link, pause
from webloom.adapters.rabbitmq.session import Session
from webloom.domain.errors import BackendRefused, BrokerUnavailable
from webloom.ports.broker import Delivery
from webloom.ports.clock import Clock

log = logging.getLogger(__name__)

LINGER = 0.005  # seconds
IDLE_SECONDS = 0.25  # after which a message that waits for a slot is given back
RECOVERY_PAUSE = 1.0

T = TypeVar("T")


class Consumer:
    """Iterate it from as many slots as there are: each `anext` waits for one delivery."""

    def __init__(self, link: Link, layout: Layout, slots: int, clock: Clock) -> None:
        self._link = link
        self._layout = layout
        self._slots = slots
        self._clock = clock
        self._waiting: deque[asyncio.Future[Delivery]] = deque()
        self._arrived: deque[RabbitDelivery] = deque()  # and no slot has it yet
        self._changed = asyncio.Event()
        self._stopping = asyncio.Event()

    def __aiter__(self) -> AsyncIterator[Delivery]:
        return self

    async def __anext__(self) -> Delivery:
        future: asyncio.Future[Delivery] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        self._changed.set()
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():  # handed over too late
                delivery = future.result()
                assert isinstance(delivery, RabbitDelivery)  # noqa: S101 - what _match hands over
                if self._stopping.is_set():
                    await delivery.let_go()
                else:
                    self._arrived.appendleft(delivery)
            with suppress(ValueError):
                self._waiting.remove(future)
            self._changed.set()
            raise

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Consumer]:
        """Raises BackendRefused when a queue was declared in another way."""
        with suppress(BrokerUnavailable):
            await self._link.session().declare(self._layout)
        tending = asyncio.create_task(self._tend())
        try:
            yield self
        finally:
            self._stopping.set()
            self._changed.set()
            await tending

    async def _tend(self) -> None:
        failures = 0
        while (session := await self._unless_stopping(self._link.ready())) is not None:
            try:
                await self._tend_with(session)
                failures = 0
            except BrokerUnavailable as error:
                if session.alive:
                    failures += 1
                    self._complain(error)
            except Exception as error:  # nobody else would notice that nothing comes any more
                failures += 1
                self._complain(error)
            if failures:
                await self._unless_stopping(asyncio.sleep(pause(failures)))

    def _complain(self, error: Exception) -> None:
        expected = isinstance(error, (BrokerUnavailable, BackendRefused))
        log.warning(
            "cannot take messages",
            extra={"queue": self._layout.queue, "error": str(error)},
            exc_info=None if expected else error,
        )

    async def _unless_stopping(self, work: Coroutine[object, object, T]) -> T | None:
        task, stopping = asyncio.create_task(work), asyncio.create_task(self._stopping.wait())
        await asyncio.wait({task, stopping}, return_when=asyncio.FIRST_COMPLETED)
        for each in (task, stopping):
            each.cancel()
        return None if self._stopping.is_set() else task.result()

    async def _tend_with(self, session: Session) -> None:
        await session.declare(self._layout)
        publisher = await session.confirming(await session.channel())
        grip = Grip(session, publisher, self._changed.set)
        publisher.raw.closing.add_done_callback(lambda _: self._changed.set())
        publisher.raw.on_consumer_cancel_callbacks.add(partial(self._unsubscribed, grip))
        try:
            await self._balance(grip)
        finally:
            await self._release(grip)

    def _unsubscribed(self, grip: Grip, frame: Basic.Cancel) -> None:
        """The server ended a subscription, because its queue was deleted."""
        for queue, tag in list(grip.tags.items()):
            if tag == frame.consumer_tag:
                del grip.tags[queue]
        grip.session.forget(self._layout)
        self._changed.set()

    async def _balance(self, grip: Grip) -> None:
        """Keep what the server may send equal to what is held and waited for."""
        now = asyncio.get_running_loop().time
        too_many_since: float | None = None
        idle_since: float | None = None
        while not self._stopping.is_set() and not grip.lost:
            self._changed.clear()
            self._match(grip)
            wanted = self._wanted(grip)
            if wanted > grip.allowed or (wanted and len(grip.tags) < 2):
                await self._allow(grip, wanted)
            if wanted >= grip.allowed:
                too_many_since = None
            elif too_many_since is None:
                too_many_since = now()
            elif now() - too_many_since >= self._linger:
                await self._allow(grip, wanted)
                too_many_since = None
            await grip.acknowledge(self._covered(grip))
            if not self._arrived or self._waiting or self._handed_out(grip) >= self._slots:
                idle_since = None
            elif idle_since is None:
                idle_since = now()
            elif now() - idle_since >= IDLE_SECONDS:
                await self._give_back()
                idle_since = None
            ends = []
            if too_many_since is not None:
                ends.append(too_many_since + self._linger)
            if idle_since is not None:
                ends.append(idle_since + IDLE_SECONDS)
            await self._change(min(ends, default=None))

    @property
    def _linger(self) -> float:
        return IDLE_SECONDS if self._layout.quorum else LINGER

    async def _change(self, until: float | None) -> None:
        if until is None:
            await self._changed.wait()
            return
        with suppress(TimeoutError):
            async with asyncio.timeout_at(until):
                await self._changed.wait()

    def _match(self, grip: Grip) -> None:
        while self._arrived and self._arrived[0].lost:
            self._arrived.popleft()
        while self._arrived and self._waiting and self._handed_out(grip) < self._slots:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(self._arrived.popleft())

    def _handed_out(self, grip: Grip) -> int:
        return grip.held - len(self._arrived)

    def _wanted(self, grip: Grip) -> int:
        if not self._layout.quorum:
            return min(self._slots, grip.held + len(self._waiting))
        idle = not self._waiting and self._handed_out(grip) < self._slots
        return 0 if idle else self._slots

    def _covered(self, grip: Grip) -> int:
        """How many acknowledgements bring no more messages than are waited for."""
        if self._layout.quorum or grip.allowed == 0:
            return grip.unacknowledged
        room = grip.allowed - grip.held - grip.unacknowledged
        return max(0, len(self._waiting) - room)

    async def _allow(self, grip: Grip, wanted: int) -> None:
        queues = (self._layout.ready.name, self._layout.again.name)
        if wanted == 0:
            for queue in queues:
                if (tag := grip.tags.pop(queue, None)) is not None:
                    await grip.unsubscribe(tag)
            grip.allowed = 0
            return
        await grip.session.declare(self._layout)
        if wanted != grip.allowed:
            await grip.limit(wanted, whole_channel=not self._layout.quorum)
            grip.allowed = wanted
        for queue in queues:
            if queue not in grip.tags:
                await grip.subscribe(queue, partial(self._on_message, grip))

    async def _on_message(self, grip: Grip, message: DeliveredMessage) -> None:
        grip.held += 1
        read = envelope.read(message)
        delivery = RabbitDelivery(
            grip=grip, layout=self._layout, clock=self._clock, message=message, read=read
        )
        if read.rest > 0:
            await self._wait_on(delivery)
        else:
            self._arrived.append(delivery)
            self._match(grip)
            if self._arrived or self._layout.quorum:
                self._changed.set()

    async def _wait_on(self, delivery: RabbitDelivery) -> None:
        while not delivery.lost:
            try:
                await delivery.wait_on()
                break
            except (BrokerUnavailable, BackendRefused) as error:
                log.warning(
                    "cannot delay a message any further",
                    extra={"queue": self._layout.queue, "error": str(error)},
                )
                await asyncio.sleep(RECOVERY_PAUSE)

    async def _give_back(self) -> None:
        while self._arrived:
            await self._arrived.popleft().let_go()

    async def _release(self, grip: Grip) -> None:
        with suppress(BrokerUnavailable):
            if not grip.lost:
                await self._allow(grip, 0)
        await self._give_back()
        await grip.leave()
