"""One process's consumer of a queue, over any broker.

It hands messages to the slots that wait, extends their leases until they are settled, repeats
acknowledgements that failed, gives back what no slot waits for, and shuts down without
losing any of it. What differs between brokers is their `Source`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from webloom.cancellation import cancel_and_wait
from webloom.domain.errors import BackendRefused, BrokerUnavailable
from webloom.ports.broker import Delivery

log = logging.getLogger(__name__)

RECOVERY_PAUSE = 1.0  # seconds after a failure
RENEWALS = 4  # in the time of one lease
FAILURES = (BrokerUnavailable, BackendRefused)


class Refused(BackendRefused):
    """The broker will never do this to this message, however often it is asked."""


H = TypeVar("H")  # proves to the broker who holds a message
Step = Callable[[], Awaitable[object]]


class Received(NamedTuple, Generic[H]):
    handle: H
    message_id: str
    body: bytes
    attempt: int
    redelivered: bool


class Source(Protocol[H]):
    """What a broker provides to one consumer of one queue.

    Each call raises BrokerUnavailable or BackendRefused, and can be repeated then. A call about a
    message whose lease was lost changes nothing.
    """

    @property
    def woken(self) -> asyncio.Event:
        """Set, by the source or the consumer, when there is a reason to receive or be idle again.
        Only the consumer clears it."""

    @property
    def lease(self) -> float:
        """Seconds for which a message is kept without a renewal."""

    @property
    def is_connected(self) -> bool:
        """False: the loss of the broker has been logged, so its consequences need not be."""

    async def receive(self, most: int) -> tuple[Sequence[Received[H]], float | None]:
        """Take up to `most` messages, without waiting for them to arrive. The second value is the
        pause in seconds until the next call if nothing wakes the consumer. None: no limit."""

    async def idle(self) -> float | None:
        """Called instead of `receive` while no slot waits. Returns the pause."""

    async def renew(self, held: Sequence[H]) -> Collection[H]:
        """Extend the leases, and return those that were lost. Called `RENEWALS` times per lease,
        even if nothing is held."""

    def ack(self, handle: H) -> asyncio.Future[Any] | None:
        """None: it will be sent. The future raises Refused if a repeat can't help."""

    def retry(self, handle: H, after: float) -> Awaitable[object]: ...

    def dead_letter(self, handle: H, reason: str) -> Awaitable[object]: ...

    def release(self, handle: H) -> Awaitable[object]:
        """Give it back as if it had never been received."""

    async def close(self) -> None:
        """Receive nothing more; what is held can still be settled. Raises nothing."""


class Consumer(Generic[H]):
    """Iterate it from as many slots as there are: each `anext` waits for one delivery."""

    def __init__(self, source: Source[H], queue: str, slots: int) -> None:
        self.source = source
        self._queue = queue
        self._free = slots
        self._waiting: deque[asyncio.Future[HeldDelivery[H]]] = deque()
        self._held: set[HeldDelivery[H]] = set()  # whose leases are extended
        self._unfinished: set[asyncio.Future[Any]] = set()  # on their way to the broker
        self._stopping = asyncio.Event()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Consumer[H]]:
        pump = asyncio.create_task(self._pump())
        renewal = asyncio.create_task(self._renew())
        try:
            yield self
        finally:
            self._stopping.set()
            self.source.woken.set()
            await pump
            await self.source.close()
            while self._unfinished:
                await asyncio.wait(self._unfinished)
            await cancel_and_wait(renewal)

    def __aiter__(self) -> AsyncIterator[Delivery]:
        return self

    async def __anext__(self) -> Delivery:
        future: asyncio.Future[HeldDelivery[H]] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        self.source.woken.set()
        try:
            return await future
        except asyncio.CancelledError:
            with suppress(ValueError):
                self._waiting.remove(future)
            if future.done() and not future.cancelled():  # handed over too late
                self._hand_over(future.result())
            raise

    async def _pump(self) -> None:
        source = self.source
        while not self._stopping.is_set():
            source.woken.clear()
            try:
                most = min(self._free, sum(not future.done() for future in self._waiting))
                if most > 0:
                    found, pause = await source.receive(most)
                    for received in found:
                        self._hold(received)
                else:
                    pause = await source.idle()
            except Exception as error:  # otherwise no more messages would arrive
                self._warn("cannot receive messages", error, traced=not isinstance(error, FAILURES))
                await _set_within(self._stopping, RECOVERY_PAUSE)
            else:
                await _set_within(source.woken, pause)

    def offer(self, received: Received[H]) -> bool:
        """For a source to which its broker pushes: hand the message over if a slot waits for it."""
        if self._stopping.is_set() or self._free <= 0 or not self._waiting:
            return False
        self._hold(received)
        return True

    def _hold(self, received: Received[H]) -> None:
        self._free -= 1
        delivery = HeldDelivery(self, received)
        self._held.add(delivery)
        self._hand_over(delivery)

    def _hand_over(self, delivery: HeldDelivery[H]) -> None:
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(delivery)
                return
        self._start(self._insist(delivery, partial(self.source.release, delivery.handle)))

    async def _renew(self) -> None:
        pause = self.source.lease / RENEWALS
        while True:
            await asyncio.sleep(pause)
            pause = self.source.lease / RENEWALS
            deliveries = list(self._held)
            try:
                lost = await self.source.renew([delivery.handle for delivery in deliveries])
            except Exception as error:
                pause = min(pause, RECOVERY_PAUSE / 10)
                self._warn("cannot extend leases", error, traced=not isinstance(error, FAILURES))
                continue
            for delivery in deliveries:
                if any(delivery.handle is each for each in lost):
                    self._drop(delivery)
                    log.warning(
                        "lost a message to another consumer",
                        extra={"queue": self._queue, "message_id": delivery.message_id},
                    )

    async def ack(self, delivery: HeldDelivery[H]) -> None:
        acked = self._ack(delivery)
        if acked is not None and self._stopping.is_set():  # `running` does not wait for it any more
            await asyncio.wait([acked])

    def _ack(self, delivery: HeldDelivery[H]) -> asyncio.Future[Any] | None:
        acked = self.source.ack(delivery.handle)
        delivery.settled = True
        self._free_slot(delivery)
        if acked is None:
            self._drop(delivery)
        else:
            self._unfinished.add(acked)
            acked.add_done_callback(partial(self._acked, delivery))
        return acked

    def _acked(self, delivery: HeldDelivery[H], acked: asyncio.Future[Any]) -> None:
        self._unfinished.discard(acked)
        if acked.cancelled() or (error := acked.exception()) is None:
            self._drop(delivery)
            return
        self._warn("cannot acknowledge", error)
        if isinstance(error, Refused):  # otherwise it would be redelivered forever
            reason = f"the work was done, but the message can't be acknowledged: {error}"
            self._start(
                self._insist(delivery, partial(self.source.dead_letter, delivery.handle, reason))
            )
        elif not self._stopping.is_set():
            # Its lease is extended as long as it is held here, so it must be settled here.
            asyncio.get_running_loop().call_later(RECOVERY_PAUSE, self._ack, delivery)

    async def settle(self, delivery: HeldDelivery[H], step: Step) -> None:
        """Carried out even if the caller is cancelled meanwhile."""
        if delivery.settling is not None:
            await asyncio.wait([delivery.settling])
        if not delivery.settled:
            delivery.settling = self._start(self._settle(delivery, step))
            await asyncio.shield(delivery.settling)

    async def _settle(self, delivery: HeldDelivery[H], step: Step) -> None:
        await step()
        delivery.settled = True
        self._drop(delivery)

    async def _insist(self, delivery: HeldDelivery[H], step: Step) -> None:
        """Retry until it works, or the consumer stops and the lease expires."""
        while True:
            try:
                await self._settle(delivery, step)
            except FAILURES as error:
                self._warn("cannot give back a message", error)
                if await _set_within(self._stopping, RECOVERY_PAUSE):
                    return
            else:
                return

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._unfinished.add(task)
        task.add_done_callback(self._unfinished.discard)
        return task

    def _drop(self, delivery: HeldDelivery[H]) -> None:
        self._held.discard(delivery)
        self._free_slot(delivery)

    def _free_slot(self, delivery: HeldDelivery[H]) -> None:
        if delivery.has_slot:
            delivery.has_slot = False
            self._free += 1
            self.source.woken.set()

    def _warn(self, what: str, error: BaseException, *, traced: bool = False) -> None:
        log.log(
            logging.WARNING if self.source.is_connected else logging.DEBUG,
            what,
            extra={"queue": self._queue, "error": str(error)},
            exc_info=error if traced else None,
        )


class HeldDelivery(Generic[H]):
    def __init__(self, consumer: Consumer[H], received: Received[H]) -> None:
        self._consumer = consumer
        self.handle, self.message_id, self.body, self.attempt, self.redelivered = received
        self.has_slot = True
        self.settled = False
        self.settling: asyncio.Task[None] | None = None

    async def ack(self) -> None:
        if not self.settled:
            await self._consumer.ack(self)

    async def retry(self, after: float = 0.0) -> None:
        await self._consumer.settle(self, partial(self._consumer.source.retry, self.handle, after))

    async def dead_letter(self, reason: str) -> None:
        how = partial(self._consumer.source.dead_letter, self.handle, reason)
        await self._consumer.settle(self, how)


async def _set_within(event: asyncio.Event, seconds: float | None) -> bool:
    if seconds is None:
        await event.wait()
    elif seconds > 0 and not event.is_set():
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await event.wait()
    return event.is_set()
