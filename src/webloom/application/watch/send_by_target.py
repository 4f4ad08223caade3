"""Send to many targets at the same time, so that none waits for another.

targets with something due -> those that may start -> a task for each, one at a time
      ^  every few seconds, while any task runs          `- its messages, one after the other
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from webloom.cancellation import cancel_and_wait
from webloom.domain.sending import Lane, Running, Sending
from webloom.ports.notifications import DueTarget

LOOK_SECONDS = 5.0  # between two looks at what is due, and before a target that failed is tried


class SendByTarget:
    """One round: it ends when nothing is being sent any more."""

    def __init__(
        self,
        *,
        due: Callable[[], Awaitable[list[DueTarget]]],
        send: Callable[[str], Awaitable[bool]],  # all that is due for a target; False: it failed
        lane_of: Callable[[str], Lane],
        stop: asyncio.Event,  # nothing is begun any more
    ) -> None:
        self._due = due
        self._send = send
        self._lane_of = lane_of
        self._stop = stop
        self._tasks: dict[asyncio.Task[bool], tuple[str, Sending]] = {}
        self._running = Running()
        self._waiting: dict[Sending, deque[str]] = {}  # for others to end; by what they share
        self._not_before: dict[str, float] = {}  # targets that failed
        self._error: BaseException | None = None

    async def __call__(self) -> None:
        """Raises what `due` or `send` does, when all that was begun has ended."""
        try:
            await self._look()
            while self._tasks:
                await self._wait()
        finally:
            await cancel_and_wait(*self._tasks)
        if self._error is not None:
            raise self._error

    async def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        done, _ = await asyncio.wait(
            self._tasks,
            timeout=max(0.0, self._next_look - loop.time()),
            return_when=asyncio.FIRST_COMPLETED,
        )
        for task in done:
            target_url, sending = self._tasks.pop(task)
            self._running.end(sending)
            if (error := task.exception()) is not None:
                self._error = self._error or error
            elif not task.result():
                self._not_before[target_url] = loop.time() + LOOK_SECONDS
        if loop.time() >= self._next_look:
            await self._look()
        else:
            self._start()

    async def _look(self) -> None:
        self._next_look = asyncio.get_running_loop().time() + LOOK_SECONDS
        try:
            due = await self._due()
        except Exception as error:  # what is being sent is to be noted all the same
            due, self._error = [], self._error or error
        self._waiting = self._queued(due)
        self._start()

    def _queued(self, due: list[DueTarget]) -> dict[Sending, deque[str]]:
        """Those that failed last, so that they are in nobody's way."""
        now = asyncio.get_running_loop().time()
        busy = {url for url, _ in self._tasks.values()}
        waiting: dict[Sending, deque[str]] = {}
        for target in sorted(due, key=lambda each: each.has_failed):
            if target.url not in busy and self._not_before.get(target.url, 0.0) <= now:
                new = Sending(lane=self._lane_of(target.url), has_failed=target.has_failed)
                waiting.setdefault(new, deque()).append(target.url)
        return waiting

    def _start(self) -> None:
        """Of thousands that wait, few are looked at: those of a lane that is full are passed by."""
        if self._stop.is_set() or self._error is not None:
            return
        full: set[str] = set()
        for new, urls in list(self._waiting.items()):
            if new.lane.name in full:
                continue
            while urls and self._running.may_start(new):
                self._begin(urls.popleft(), new)
            if not urls:
                del self._waiting[new]
            if self._running.is_full(new.lane):
                full.add(new.lane.name)

    def _begin(self, target_url: str, new: Sending) -> None:
        self._running.start(new)
        self._tasks[asyncio.ensure_future(self._send(target_url))] = (target_url, new)
