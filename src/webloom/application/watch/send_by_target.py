"""Send to many targets at the same time, so that none waits for another.

targets with something due -> those that may start -> a task for each, one at a time
      ^  every few seconds, while any task runs          `- its messages, one after the other
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from webloom.domain.sending import Lane, Sending, may_start
from webloom.ending import ended
from webloom.ports.watch_store import DueTarget

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
        self._running: dict[asyncio.Task[bool], tuple[str, Sending]] = {}
        self._waiting: list[DueTarget] = []  # for others to end
        self._not_before: dict[str, float] = {}  # targets that failed
        self._error: BaseException | None = None

    async def __call__(self) -> None:
        """Raises what `due` or `send` does, when all that was begun has ended."""
        try:
            await self._look()
            while self._running:
                await self._wait()
        finally:
            await ended(*self._running)
        if self._error is not None:
            raise self._error

    async def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        done, _ = await asyncio.wait(
            self._running,
            timeout=max(0.0, self._next_look - loop.time()),
            return_when=asyncio.FIRST_COMPLETED,
        )
        for task in done:
            target_url, _ = self._running.pop(task)
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
            self._waiting = await self._due()
        except Exception as error:  # what is being sent is to be noted all the same
            self._waiting, self._error = [], self._error or error
        self._start()

    def _start(self) -> None:
        if self._stop.is_set() or self._error is not None:
            return
        now = asyncio.get_running_loop().time()
        busy = {url for url, _ in self._running.values()}
        left = []
        for target in self._waiting:
            if target.url in busy or self._not_before.get(target.url, 0.0) > now:
                continue
            new = Sending(lane=self._lane_of(target.url), has_failed=target.has_failed)
            if may_start(new, [each for _, each in self._running.values()]):
                self._running[asyncio.ensure_future(self._send(target.url))] = (target.url, new)
            else:
                left.append(target)
        self._waiting = left
