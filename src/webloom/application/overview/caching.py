"""Shared results for many callers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Generic, TypeVar

from webloom.domain.errors import BackendRefused, Unavailable

Result = TypeVar("Result")

PROBE_SECONDS = 2.0
SHARE = 0.02  # of the time that refreshing may take
SHORTEST_PAUSE, LONGEST_PAUSE = 2.0, 60.0
REFRESH_WAIT_SECONDS = 0.2  # for a newer value, if there is an older one


async def probe(
    call: Awaitable[Result], seconds: float | None = PROBE_SECONDS
) -> tuple[Result | None, str | None]:
    """The result, or why it failed."""
    try:
        async with asyncio.timeout(seconds):
            return await call, None
    except TimeoutError:  # without `seconds`, the call's own
        return None, "no answer" if seconds is None else f"no answer within {seconds:.0f} s"
    except (Unavailable, BackendRefused) as error:
        return None, str(error)


class SingleFlight(Generic[Result]):
    """One call at a time, whose result is shared by all callers within `seconds` of its start."""

    def __init__(self, call: Callable[[], Coroutine[Any, Any, Result]], seconds: float) -> None:
        self._call = call
        self._seconds = seconds
        self._until = 0.0
        self._task: asyncio.Task[Result] | None = None

    async def get(self) -> Result:
        now = time.monotonic()
        if self._task is None or (self._task.done() and now >= self._until):
            self._until = now + self._seconds
            self._task = asyncio.create_task(self._call())
        return await asyncio.shield(self._task)


class RefreshingCache(Generic[Result]):
    """The latest value of a slow query. While there are callers, it is refreshed in the background,
    for a bounded share of the time."""

    def __init__(self, call: Callable[[], Awaitable[Result]], nothing: Result) -> None:
        self._call = call
        self._value = nothing
        self._is_known = False
        self._again_at = 0.0
        self._task: asyncio.Task[None] | None = None

    async def get(self) -> Result:
        if self._task is None and time.monotonic() >= self._again_at:
            self._task = asyncio.create_task(self._refresh())
        if self._task is not None:
            seconds = REFRESH_WAIT_SECONDS if self._is_known else PROBE_SECONDS
            await asyncio.wait({self._task}, timeout=seconds)
        return self._value

    async def _refresh(self) -> None:
        started = time.monotonic()
        try:
            self._value = await self._call()
            self._is_known = True
        except (Unavailable, BackendRefused):
            pass  # the value before is still the latest
        finally:
            took = time.monotonic() - started
            pause = min(max(took / SHARE, SHORTEST_PAUSE), LONGEST_PAUSE)
            self._again_at = time.monotonic() + pause
            self._task = None
