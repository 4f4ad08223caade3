"""A time limit for many tasks that costs next to nothing unless it expires.

asyncio.timeout arms and disarms a timer for each task, a tenth of the cost of fetching a small
page. Here all limits are equally long, so that the oldest is due first, and one timer serves all.
"""

from __future__ import annotations

import asyncio
from types import TracebackType


class Deadline:
    """`with deadline.running():` raises TimeoutError when the block takes longer than `seconds`."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._running: dict[_Running, float] = {}  # -> when it is due; in that order
        self._timer: asyncio.TimerHandle | None = None

    def running(self) -> _Running:
        return _Running(self)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def begin(self, running: _Running) -> None:
        loop = asyncio.get_running_loop()
        self._running[running] = due = loop.time() + self._seconds
        if self._timer is None:
            self._timer = loop.call_at(due, self._expire)

    def end(self, running: _Running) -> None:
        self._running.pop(running, None)

    def _expire(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = None
        while self._running:
            running, due = next(iter(self._running.items()))
            if due > loop.time():
                self._timer = loop.call_at(due, self._expire)
                return
            del self._running[running]
            running.expire()


class _Running:
    __slots__ = ("_cancelling", "_deadline", "_expired", "_task")

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline

    def __enter__(self) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a deadline needs a task to cancel")
        self._task = task
        self._cancelling = task.cancelling()
        self._expired = False
        self._deadline.begin(self)

    def expire(self) -> None:
        self._expired = True
        self._task.cancel()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._expired:
            self._deadline.end(self)
        # As in asyncio.timeout: another cancellation, even at the same time, wins.
        elif self._task.uncancel() <= self._cancelling and exc_type is asyncio.CancelledError:
            raise TimeoutError from exc
