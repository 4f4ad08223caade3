"""Jobs of a BullMQ queue for one consumer.

A consumer that finds no job waits for the queue's *marker*, a sorted set in Redis. Its member "0"
means that there are jobs, "1" when the next delayed one is due. The consumer that removes the
marker has to act on it, or put it back for another.
"""

from __future__ import annotations

import asyncio
import logging
import math
import uuid
from collections.abc import Awaitable, Collection, Sequence
from contextlib import suppress
from itertools import count
from typing import Any, NamedTuple

from webloom.adapters.bullmq import lua
from webloom.adapters.bullmq.jobs import HeldJob, Jobs, Nothing
from webloom.adapters.bullmq.refusals import FOREIGN, translated
from webloom.adapters.bullmq.server import ANSWER_SECONDS
from webloom.adapters.consumer import FAILURES, RECOVERY_PAUSE, RENEWALS, Received

log = logging.getLogger(__name__)

BLOCK_SECONDS = 5.0  # then the queue is polled: a consumer may have died with the marker


class Marker(NamedTuple):
    member: bytes
    score: float  # milliseconds since 1970, or 0


class BullmqSource:
    def __init__(self, jobs: Jobs, lease: float) -> None:
        self.woken = asyncio.Event()
        self.lease = lease
        self._jobs = jobs
        self._server = jobs.server
        name = uuid.uuid4().hex
        self._tokens = (f"{name}:{number}" for number in count())
        self._batch = 1  # jobs requested at a time
        self._poll_at = 0.0  # by Redis's clock; before that, only if there is a marker
        self._is_limited = False  # by the queue's rate limit
        self._blocking = jobs.server.client(BLOCK_SECONDS + ANSWER_SECONDS)
        self._wake_key = f"{jobs.keys['']}wake:{name}"
        self._block: asyncio.Task[Marker | None] | None = None
        self._marker: Marker | None = None  # removed, and not acted on yet

    @property
    def is_connected(self) -> bool:
        return self._server.reached.is_set()

    async def receive(self, most: int) -> tuple[Sequence[Received[HeldJob]], float | None]:
        if not self.is_connected:
            with suppress(*FAILURES):  # of the wait, which the loss ended
                self._collect()
            return [], RECOVERY_PAUSE
        self._collect()
        found: list[HeldJob] = []
        if self._poll_at <= self._server.now():
            found = await self._take(min(self._batch, most))
        # Timed here, because the server's timeout is less precise.
        pause = self._poll_at - self._server.now()
        if pause > 0 and self._block is None and not self._is_limited:
            self._block = asyncio.create_task(self._wait_for_marker())
            self._block.add_done_callback(lambda _: self.woken.set())
        received = [
            Received(job, job.message_id, job.body, job.attempt, job.redelivered) for job in found
        ]
        return received, None if pause == math.inf else pause + 0.001 * (pause > 0)

    async def _take(self, most: int) -> list[HeldJob]:
        self._marker = None  # this poll acts on it
        answers = await asyncio.gather(
            *(self._jobs.take(next(self._tokens)) for _ in range(most)), return_exceptions=True
        )
        found = [answer for answer in answers if isinstance(answer, HeldJob)]
        # Avoid polling an empty queue: request more only while there are more.
        self._batch = 2 * most
        for answer in answers:
            if isinstance(answer, Nothing):
                self._batch = 1
                self._is_limited = answer.pause > 0
                self._poll_at = answer.due or math.inf
                if self._is_limited:
                    self._pause(answer.pause)
        for answer in answers:
            if isinstance(answer, BaseException):
                if not found:
                    raise answer
                self._pause(RECOVERY_PAUSE)
        return [job for job in found if await self._is_fit(job)]

    def _pause(self, seconds: float) -> None:
        self._poll_at = self._server.now() + min(seconds, BLOCK_SECONDS)

    async def _is_fit(self, job: HeldJob) -> bool:
        if job.unfit is not None:
            with suppress(*FAILURES):  # its lock expires, and it is tried again
                await self._jobs.fail(job, job.unfit)
        return job.unfit is None

    async def idle(self) -> float | None:
        """Let other consumers act on the marker."""
        self._collect()
        if self._marker is not None:
            marker, self._marker = self._marker, None
            await self._jobs.pass_on(*marker)
        return None

    async def _wait_for_marker(self) -> Marker | None:
        try:
            popped: Any = await self._blocking.bzpopmin(
                [self._jobs.keys["marker"], self._wake_key], BLOCK_SECONDS
            )
        except FOREIGN as error:
            raise translated(error, self._server.address) from error
        if not popped or popped[0] == self._wake_key.encode():
            return None
        return Marker(popped[1], float(popped[2]))

    def _collect(self) -> None:
        if self._block is not None and self._block.done():
            block, self._block = self._block, None
            self._poll_at = 0.0
            self._marker = block.result() or self._marker
            if self._marker is not None:
                self._poll_at = self._marker.score / 1000

    async def renew(self, held: Sequence[HeldJob]) -> Collection[HeldJob]:
        lost = {each.decode() for each in await self._jobs.renew(held)} if held else set()
        await self._free_stalled()
        return [job for job in held if job.token in lost]

    async def _free_stalled(self) -> None:
        connected_for = asyncio.get_running_loop().time() - self._server.reached_at
        if not self.is_connected or connected_for < self.lease / 2:
            return  # consumers first extend locks that expired while Redis was away
        try:
            await self._jobs.free_stalled(self.lease / RENEWALS)
        except FAILURES as error:
            extra = {"queue": self._jobs.queue, "error": str(error)}
            log.warning("cannot release stalled jobs", extra=extra)

    def ack(self, held: HeldJob) -> asyncio.Future[Any]:
        return self._jobs.complete(held)

    def retry(self, held: HeldJob, after: float) -> Awaitable[object]:
        return self._jobs.delay(held, after)

    def dead_letter(self, held: HeldJob, reason: str) -> Awaitable[object]:
        return self._jobs.fail(held, reason)

    def release(self, held: HeldJob) -> Awaitable[object]:
        return self._jobs.give_back(held)

    async def close(self) -> None:
        if self._block is not None and not self._block.done():
            with suppress(*FAILURES):
                await self._server.call(lua.WAKE, [self._wake_key], [])
                await asyncio.wait([self._block])
            if self._block.cancel():  # Redis is away
                await asyncio.wait([self._block])
                self._block = None
        with suppress(*FAILURES):
            await self.idle()
        await self._blocking.aclose()
