"""One process's hands on a queue.

It takes as many messages as it has slots while one of them waits. When none has waited for a
moment though some are free, it takes nothing more, and gives back what no slot has asked for:
others could serve it.

Quorum queues have no prefetch limit over two queues, and from RabbitMQ 4 on none is asked for.
There each queue has its own, and a message may wait here for a slot that is busy.
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

IDLE_SECONDS = 0.25  # without a slot that waits
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
            shared = session.limits_channels and not self._layout.quorum
            await grip.limit(self._slots, whole_channel=shared)
            await self._balance(grip)
        except BrokerUnavailable:
            session.forget(self._layout)  # a queue may be gone
            raise
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
        """Take messages for slots that wait, and stop when there are none."""
        now = asyncio.get_running_loop().time
        idle_since: float | None = None
        while not self._stopping.is_set() and not grip.lost:
            self._changed.clear()
            self._match(grip)
            await grip.acknowledge()
            if self._waiting:
                await self._subscribe(grip)
            if not self._idle(grip) or not (grip.tags or self._arrived):
                idle_since = None
            elif idle_since is None:
                idle_since = now()
            elif now() - idle_since >= IDLE_SECONDS:
                await self._unsubscribe(grip)
                await self._give_back()
                idle_since = None
            await self._change(None if idle_since is None else idle_since + IDLE_SECONDS)

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

    def _idle(self, grip: Grip) -> bool:
        return not self._waiting and self._handed_out(grip) < self._slots

    async def _subscribe(self, grip: Grip) -> None:
        for queue in (self._layout.ready.name, self._layout.again.name):
            if queue not in grip.tags:
                await grip.session.declare(self._layout)
                arrived = partial(self._on_message, grip)
                await grip.subscribe(queue, arrived, is_quorum=self._layout.quorum)

    async def _unsubscribe(self, grip: Grip) -> None:
        while grip.tags:
            _, tag = grip.tags.popitem()
            await grip.unsubscribe(tag)

    async def _on_message(self, grip: Grip, message: DeliveredMessage) -> None:
        grip.held += 1
        try:
            await self._receive(grip, message)
        except Exception:  # or it would keep its place here for as long as the connection lives
            log.exception("cannot take a message", extra={"queue": self._layout.queue})
            await asyncio.sleep(RECOVERY_PAUSE)
            await grip.put_down(message.delivery_tag or 0)

    async def _receive(self, grip: Grip, message: DeliveredMessage) -> None:
        read = envelope.read(message)
        delivery = RabbitDelivery(
            grip=grip, layout=self._layout, clock=self._clock, message=message, read=read
        )
        if read.rest > 0:
            await self._wait_on(delivery)
            return
        self._arrived.append(delivery)
        self._match(grip)
        if not self._waiting:
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
                await self._unsubscribe(grip)
        await self._give_back()
        await grip.leave()
