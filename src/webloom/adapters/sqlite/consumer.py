"""One process's hands on a queue: claims for the slots that wait, and renews what they hold."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

from webloom.cancellation import cancel_and_wait
from webloom.domain.errors import BrokerUnavailable
from webloom.ports.broker import Delivery

log = logging.getLogger(__name__)

RECOVERY_PAUSE = 1.0  # after the database refused a claim


class Taken(NamedTuple):
    row: int
    message_id: str
    body: bytes
    attempt: int
    redelivered: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Hold:
    """Proof that a message is in this consumer's hands."""

    row: int  # another message has it once this one is gone
    message_id: str
    owner: str
    attempt: int


class Holding(Protocol):
    """What a consumer needs of its broker."""

    @property
    def lease(self) -> float: ...
    def now(self) -> float: ...
    async def next_event(self, queue: str) -> float: ...
    async def claim(self, queue: str, owner: str, most: int) -> tuple[list[Taken], float]: ...
    async def renew(self, owner: str) -> None: ...
    def ack(self, hold: Hold) -> asyncio.Future[None]: ...
    async def retry(self, hold: Hold, after: float) -> None: ...
    async def bury(self, hold: Hold, reason: str) -> None: ...


class Consumer:
    """Iterate it from as many slots as there are: each `anext` waits for one delivery."""

    def __init__(self, broker: Holding, queue: str, slots: int, changed: asyncio.Event) -> None:
        self.broker = broker
        self._queue = queue
        self._free = slots
        self._changed = changed
        self._owner = uuid.uuid4().hex
        self._waiting: deque[asyncio.Future[Delivery]] = deque()
        self._wanted = asyncio.Event()
        self._acks: set[asyncio.Future[None]] = set()  # on their way to the database
        self._returns: set[asyncio.Task[None]] = set()

    def __aiter__(self) -> AsyncIterator[Delivery]:
        return self

    async def __anext__(self) -> Delivery:
        future: asyncio.Future[Delivery] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        self._wanted.set()
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():  # handed over too late
                await self._return(future.result())
            raise

    def settled(self) -> None:
        self._free += 1
        self._wanted.set()

    def ack(self, hold: Hold) -> None:
        future = self.broker.ack(hold)
        self._acks.add(future)
        future.add_done_callback(partial(self._acked, hold))

    def _acked(self, hold: Hold, future: asyncio.Future[None]) -> None:
        self._acks.discard(future)
        if not future.cancelled() and (error := future.exception()) is not None:
            # Nobody else gets the message while its lease is renewed here, so it must go.
            log.warning("cannot acknowledge", extra={"queue": self._queue, "error": str(error)})
            asyncio.get_running_loop().call_later(RECOVERY_PAUSE, self.ack, hold)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Consumer]:
        stopping = asyncio.Event()
        pump = asyncio.create_task(self._pump(stopping))
        renewal = asyncio.create_task(self._renew())
        try:
            yield self
        finally:
            stopping.set()
            self._wanted.set()
            self._changed.set()
            await pump
            if self._acks:
                await asyncio.wait(self._acks)
            await cancel_and_wait(renewal)

    async def _pump(self, stopping: asyncio.Event) -> None:
        while not stopping.is_set():
            await self._wanted.wait()
            most = min(self._free, sum(not future.done() for future in self._waiting))
            if most <= 0:
                self._wanted.clear()
                continue
            self._changed.clear()
            try:
                taken, look_again = await self.broker.claim(self._queue, self._owner, most)
                await self._hand_out(taken)
                if len(taken) < most and not stopping.is_set():
                    await self._sleep(look_again, stopping)
            except BrokerUnavailable as error:
                log.warning(
                    "cannot take messages", extra={"queue": self._queue, "error": str(error)}
                )
                with suppress(TimeoutError):
                    async with asyncio.timeout(RECOVERY_PAUSE):
                        await stopping.wait()

    async def _hand_out(self, taken: list[Taken]) -> None:
        deliveries = deque(
            SqliteDelivery(consumer=self, owner=self._owner, taken=each) for each in taken
        )
        self._free -= len(deliveries)
        while deliveries and self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(deliveries.popleft())
        for delivery in deliveries:  # whose waiters have gone meanwhile
            await self._return(delivery)

    async def _return(self, delivery: Delivery) -> None:
        try:
            await delivery.retry()
        except BrokerUnavailable as error:
            # As with an ack: nobody else gets the message while its lease is renewed here.
            log.warning("cannot give back", extra={"queue": self._queue, "error": str(error)})
            asyncio.get_running_loop().call_later(RECOVERY_PAUSE, self._return_again, delivery)

    def _return_again(self, delivery: Delivery) -> None:
        task = asyncio.get_running_loop().create_task(self._return(delivery))
        self._returns.add(task)
        task.add_done_callback(self._returns.discard)

    async def _sleep(self, look_again: float, stopping: asyncio.Event) -> None:
        """Until there may be something to claim: a commit that left some, or a time that came."""
        while not stopping.is_set():
            if self._changed.is_set():
                self._changed.clear()  # first, so that a commit during the look is not missed
                look_again = await self.broker.next_event(self._queue)
            seconds = look_again - self.broker.now()
            if seconds <= 0:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._changed.wait()

    async def _renew(self) -> None:
        pause = self.broker.lease / 3
        while True:
            await asyncio.sleep(pause)
            pause = self.broker.lease / 3
            try:
                await self.broker.renew(self._owner)
            except BrokerUnavailable as error:
                pause = min(pause, RECOVERY_PAUSE / 10)
                log.warning(
                    "cannot renew leases", extra={"queue": self._queue, "error": str(error)}
                )


class SqliteDelivery:
    def __init__(self, *, consumer: Consumer, owner: str, taken: Taken) -> None:
        self._consumer = consumer
        self._hold = Hold(
            row=taken.row, message_id=taken.message_id, owner=owner, attempt=taken.attempt
        )
        self._taken = taken
        self._settled = False

    @property
    def message_id(self) -> str:
        return self._taken.message_id

    @property
    def body(self) -> bytes:
        return self._taken.body

    @property
    def attempt(self) -> int:
        return self._taken.attempt

    @property
    def redelivered(self) -> bool:
        return bool(self._taken.redelivered)

    async def ack(self) -> None:
        if not self._settled:
            self._consumer.ack(self._hold)
            self._settle()

    async def retry(self, after: float = 0.0) -> None:
        await self._consumer.broker.retry(self._hold, after)
        self._settle()

    async def bury(self, reason: str) -> None:
        await self._consumer.broker.bury(self._hold, reason)
        self._settle()

    def _settle(self) -> None:
        if not self._settled:
            self._settled = True
            self._consumer.settled()
