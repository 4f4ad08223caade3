"""One process's hands on a queue: takes jobs for the slots that wait, and keeps their locks.

Who finds no job waits for the queue's *marker*, a sorted set in Redis. Its member "0" says that
there are jobs, "1" when the next delayed one is due. Whoever takes the marker away has to look
after what it says, or pass it on.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import count
from typing import Any, NamedTuple

from webloom.adapters.bullmq import lua
from webloom.adapters.bullmq.job_ids import to_message_id
from webloom.adapters.bullmq.jobs import Held, Jobs, Nothing
from webloom.adapters.bullmq.refusals import FOREIGN, CommandRefused, translated
from webloom.adapters.bullmq.server import ANSWER_SECONDS
from webloom.cancellation import cancel_and_wait
from webloom.domain.errors import BackendRefused, BrokerUnavailable
from webloom.ports.broker import Delivery

log = logging.getLogger(__name__)

BLOCK_SECONDS = 5.0  # then the queue is looked at, marker or not: somebody may have died with it
RECOVERY_PAUSE = 1.0  # after Redis refused something
TROUBLE = (BrokerUnavailable, BackendRefused)


class Marker(NamedTuple):
    member: bytes
    score: float  # milliseconds since 1970, or 0


class Consumer:
    """Iterate it from as many slots as there are: each `anext` waits for one delivery."""

    def __init__(self, jobs: Jobs, slots: int, *, lease: float) -> None:
        self.jobs = jobs
        self._free = slots
        self._lease = lease
        self._id = uuid.uuid4().hex
        self._tokens = count()
        self._held: dict[str, Held] = {}  # by token: whose locks are kept
        self._waiting: deque[asyncio.Future[BullmqDelivery]] = deque()
        self._wanted = asyncio.Event()
        self._stopping = asyncio.Event()
        self._acks: set[asyncio.Future[object]] = set()  # on their way to Redis
        self._releases: set[asyncio.Task[None]] = set()
        self._blocking = jobs.server.client(BLOCK_SECONDS + ANSWER_SECONDS)
        self._wake_key = f"{jobs.keys['']}wake:{self._id}"
        self._block: asyncio.Task[Marker | None] | None = None
        self._marker: Marker | None = None  # taken away and not looked after yet

    def __aiter__(self) -> AsyncIterator[Delivery]:
        return self

    async def __anext__(self) -> Delivery:
        future: asyncio.Future[BullmqDelivery] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        self._wanted.set()
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():  # handed over too late
                self.carry_out(self._give_back(future.result().held))
            with suppress(ValueError):
                self._waiting.remove(future)
            raise

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Consumer]:
        pump = asyncio.create_task(self._pump())
        care = [asyncio.create_task(self._renew()), asyncio.create_task(self._free_stalled())]
        try:
            yield self
        finally:
            self._stopping.set()
            self._wanted.set()
            await pump
            await self._unblock()
            while unfinished := self._unfinished():
                await asyncio.wait(unfinished)
            await cancel_and_wait(*care)
            await self._blocking.aclose()

    def _unfinished(self) -> set[asyncio.Future[Any]]:
        return {*self._acks, *self._releases}

    def ack(self, held: Held) -> None:
        future = self.jobs.complete(held)
        self._acks.add(future)
        future.add_done_callback(partial(self._acked, held))

    def _acked(self, held: Held, future: asyncio.Future[object]) -> None:
        self._acks.discard(future)
        if (error := future.exception()) is None:
            if future.result() in lua.UNFINISHED:
                self._bury_done(held, self.jobs.fail, "what it depends on is not done")
            else:
                self._held.pop(held.token, None)
            return
        self._warn("cannot acknowledge", error)
        if isinstance(error, CommandRefused):
            self._bury_done(held, self.jobs.put_aside, str(error))
        elif not self._stopping.is_set():
            # Nobody else gets the job while its lock is kept here, so it must go.
            asyncio.get_running_loop().call_later(RECOVERY_PAUSE, self.ack, held)

    def _bury_done(
        self, held: Held, bury: Callable[[Held, str], Awaitable[object]], why: str
    ) -> None:
        """A job that can't be completed would come again and again."""
        self._free -= 1  # until it is let go
        reason = f"the work was done, but the job can't be completed: {why}"
        self.carry_out(self._release(held, partial(bury, held, reason)))

    def free_slot(self) -> None:
        self._free += 1
        self._wanted.set()

    def let_go(self, held: Held) -> None:
        self._held.pop(held.token, None)
        self.free_slot()

    async def _pump(self) -> None:
        ask = 1
        while not self._stopping.is_set():
            await self._wanted.wait()
            try:
                most = min(self._free, sum(not future.done() for future in self._waiting))
                if most <= 0:
                    self._wanted.clear()
                    await self._pass_on()
                    continue
                # Every look at an empty queue is one too many: ask for more while there is more.
                ask = min(ask, most)
                found, nothing = await self._take(ask)
                ask = 2 * ask if nothing is None else 1
                await self._hand_out(found)
                if nothing is not None:
                    await self._idle(nothing)
            except TROUBLE as error:
                self._warn("cannot take jobs", error)
                await self._recover()
            except Exception:
                log.exception("cannot take jobs", extra={"queue": self.jobs.queue})
                await self._recover()

    async def _take(self, most: int) -> tuple[list[Held], Nothing | None]:
        self._marker = None  # this is the look that it asks for
        answers = await asyncio.gather(
            *(self.jobs.take(f"{self._id}:{next(self._tokens)}") for _ in range(most)),
            return_exceptions=True,
        )
        found = [answer for answer in answers if isinstance(answer, Held)]
        nothing = next((answer for answer in answers if isinstance(answer, Nothing)), None)
        for answer in answers:
            if isinstance(answer, BaseException):
                if not found:
                    raise answer
                nothing = Nothing(due=None, pause=RECOVERY_PAUSE)
        return found, nothing

    async def _hand_out(self, found: list[Held]) -> None:
        releases = []
        for held in found:
            self._held[held.token] = held
            self._free -= 1
            while self._waiting and self._waiting[0].done():
                self._waiting.popleft()
            if (reason := held.unfit) is not None:
                releases.append(self._release(held, partial(self.jobs.fail, held, reason)))
            elif self._waiting:
                self._waiting.popleft().set_result(BullmqDelivery(self, held))
            else:  # its waiter has gone meanwhile
                releases.append(self._give_back(held))
        await asyncio.gather(*releases)

    async def _give_back(self, held: Held) -> None:
        await self._release(held, partial(self.jobs.give_back, held))

    async def _release(self, held: Held, how: Callable[[], Awaitable[object]]) -> None:
        try:
            await how()
        except TROUBLE as error:
            # As with an ack: nobody else gets the job while its lock is kept here.
            self._warn("cannot release a job", error)
            asyncio.get_running_loop().call_later(RECOVERY_PAUSE, self._release_again, held, how)
        else:
            self.let_go(held)

    def _release_again(self, held: Held, how: Callable[[], Awaitable[object]]) -> None:
        if not self._stopping.is_set():
            self.carry_out(self._release(held, how))

    def carry_out(self, release: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(release)
        self._releases.add(task)
        task.add_done_callback(self._releases.discard)
        return task

    async def _idle(self, nothing: Nothing) -> None:
        """Until there may be something to take."""
        if nothing.pause:
            await self._sleep(min(nothing.pause, BLOCK_SECONDS))
            return
        due = nothing.due
        while not self._stopping.is_set():
            if self._block is None:
                self._block = asyncio.create_task(self._wait_for_marker())
                self._block.add_done_callback(lambda _: self._wanted.set())
            # The delay is kept here and not by the server's timeout, which is not as punctual.
            in_time = None if due is None else max(0.0, due - self.jobs.server.now()) + 0.001
            await self._wait(self._block, in_time)
            if not self._block.done():
                return
            self._collect()
            if self._marker is None or self._marker.score / 1000 <= self.jobs.server.now():
                return
            due = self._marker.score / 1000

    async def _wait(self, task: asyncio.Task[object], seconds: float | None) -> None:
        """For the task, the time or the end."""
        stopping = asyncio.create_task(self._stopping.wait())
        await asyncio.wait([task, stopping], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()

    async def _sleep(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()

    async def _recover(self) -> None:
        await self._sleep(RECOVERY_PAUSE)
        reached = asyncio.create_task(self.jobs.server.reached.wait())
        await self._wait(reached, None)
        reached.cancel()

    async def _wait_for_marker(self) -> Marker | None:
        try:
            popped: Any = await self._blocking.bzpopmin(
                [self.jobs.keys["marker"], self._wake_key], BLOCK_SECONDS
            )
        except FOREIGN as error:
            raise translated(error, self.jobs.server.address) from error
        if not popped or popped[0] == self._wake_key.encode():
            return None
        return Marker(popped[1], float(popped[2]))

    def _collect(self) -> None:
        block, self._block = self._block, None
        if block is not None:
            self._marker = block.result() or self._marker

    async def _pass_on(self) -> None:
        """Nobody waits here: let others look after the marker."""
        if self._block is not None and self._block.done():
            self._collect()
        if self._marker is not None:
            await self.jobs.pass_on(*self._marker)
            self._marker = None

    async def _unblock(self) -> None:
        if self._block is not None and not self._block.done():
            with suppress(*TROUBLE):
                await self.jobs.server.call(lua.WAKE, [self._wake_key], [])
                await asyncio.wait([self._block])
            if self._block.cancel():  # Redis is away
                await asyncio.wait([self._block])
                self._block = None
        with suppress(*TROUBLE):
            await self._pass_on()

    async def _renew(self) -> None:
        pause = self._lease / 3
        while True:
            await asyncio.sleep(pause)
            pause = self._lease / 3
            if not self._held:
                continue
            try:
                lost = {each.decode() for each in await self.jobs.renew(list(self._held.values()))}
            except TROUBLE as error:
                pause = min(pause, RECOVERY_PAUSE / 10)
                self._warn("cannot renew locks", error)
                continue
            for held in [each for each in self._held.values() if each.token in lost]:
                del self._held[held.token]
                log.warning(
                    "lost a job to others",
                    extra={"queue": self.jobs.queue, "message_id": to_message_id(held.id)},
                )

    async def _free_stalled(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self._lease / 4)
            if loop.time() - self.jobs.server.reached_at < self._lease / 2:
                continue  # while Redis was away nobody could renew: they get their chance first
            try:
                await self.jobs.free_stalled(self._lease / 4)
            except TROUBLE as error:
                self._warn("cannot look for stalled jobs", error)

    def _warn(self, what: str, error: BaseException) -> None:
        """That Redis is away has been said once, for everybody."""
        level = logging.WARNING if self.jobs.server.reached.is_set() else logging.DEBUG
        log.log(level, what, extra={"queue": self.jobs.queue, "error": str(error)})


class BullmqDelivery:
    def __init__(self, consumer: Consumer, held: Held) -> None:
        self._consumer = consumer
        self.held = held
        self._settled = False

    @property
    def message_id(self) -> str:
        return to_message_id(self.held.id)

    @property
    def body(self) -> bytes:
        return self.held.fields[b"data"]

    @property
    def attempt(self) -> int:
        return self.held.attempt

    @property
    def redelivered(self) -> bool:
        return self.held.redelivered

    async def ack(self) -> None:
        if not self._settled:
            self._consumer.ack(self.held)
            self._settled = True
            self._consumer.free_slot()

    async def retry(self, after: float = 0.0) -> None:
        await self._settle(partial(self._consumer.jobs.delay, self.held, after))

    async def bury(self, reason: str) -> None:
        await self._settle(partial(self._consumer.jobs.fail, self.held, reason))

    async def _settle(self, how: Callable[[], Awaitable[object]]) -> None:
        """What was begun is carried out, though the caller goes away meanwhile."""
        if not self._settled:
            await asyncio.shield(self._consumer.carry_out(self._let_go_after(how)))

    async def _let_go_after(self, how: Callable[[], Awaitable[object]]) -> None:
        await how()
        if not self._settled:
            self._settled = True
            self._consumer.let_go(self.held)
