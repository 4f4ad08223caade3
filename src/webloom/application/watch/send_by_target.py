"""Send to many targets concurrently, so that none waits for another.

targets with something due -> one task per target -> wait for the lane -> its messages in order
      ^  every few seconds, while any task runs
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from functools import partial

from webloom.cancellation import cancel_and_wait
from webloom.domain.sending import Lane
from webloom.ports.notifications import DueTarget

POLL_SECONDS = 5.0  # between two polls for what is due, and before a failed target is retried


class SendByTarget:
    """One round, which ends when nothing is being sent."""

    def __init__(
        self,
        *,
        due: Callable[[], Awaitable[list[DueTarget]]],
        send: Callable[[str], Awaitable[bool]],  # all that is due for a target; False: it failed
        lane_of: Callable[[str], Lane],
        stop: asyncio.Event,  # start nothing more
    ) -> None:
        self._due = due
        self._send = send
        self._lane_of = lane_of
        self._stop = stop
        self._tasks: dict[str, asyncio.Task[None]] = {}  # by target
        self._none_left = asyncio.Event()
        self._semaphores: dict[tuple[str, ...], asyncio.Semaphore] = {}
        self._not_before: dict[str, float] = {}  # targets that failed
        self._error: BaseException | None = None

    async def __call__(self) -> None:
        """Raises what `due` or `send` raises, after everything started has ended."""
        try:
            await self._poll()
            while self._tasks:
                with suppress(TimeoutError):
                    async with asyncio.timeout(POLL_SECONDS):
                        await self._none_left.wait()
                        break
                await self._poll()
        finally:
            await cancel_and_wait(*self._tasks.values())
        if self._error is not None:
            raise self._error

    async def _poll(self) -> None:
        """Targets that failed come last, so that they delay no others."""
        if self._stop.is_set() or self._error is not None:
            return
        try:
            due = await self._due()
        except Exception as error:  # what is being sent must still be recorded
            self._error = error
            return
        now = asyncio.get_running_loop().time()
        for target in sorted(due, key=lambda each: each.has_failed):
            if target.url not in self._tasks and self._not_before.get(target.url, 0.0) <= now:
                self._none_left.clear()
                task = self._tasks[target.url] = asyncio.create_task(self._send_to(target))
                task.add_done_callback(partial(self._ended, target.url))

    def _ended(self, url: str, task: asyncio.Task[None]) -> None:
        del self._tasks[url]
        if not self._tasks:
            self._none_left.set()

    async def _send_to(self, target: DueTarget) -> None:
        try:
            async with AsyncExitStack() as stack:
                for limit in self._limits(target):
                    await stack.enter_async_context(limit)
                if self._stop.is_set() or self._error is not None:
                    return
                if not await self._send(target.url):
                    later = asyncio.get_running_loop().time() + POLL_SECONDS
                    self._not_before[target.url] = later
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # before another task starts sending
            self._error = self._error or error

    def _limits(self, target: DueTarget) -> list[asyncio.Semaphore]:
        """The lane's comes last, so that a target which waits for another one does not use it."""
        lane = self._lane_of(target.url)
        limits = [self._semaphore(lane.half, lane.name, "destination", lane.destination)]
        if target.has_failed:
            limits.append(self._semaphore(lane.half, lane.name, "failed"))
        return [*limits, self._semaphore(lane.limit, lane.name)]

    def _semaphore(self, limit: int, *key: str) -> asyncio.Semaphore:
        return self._semaphores.setdefault(key, asyncio.Semaphore(limit))
