"""How long a download waits for its server: in all, for the next bytes, and for enough of them.

Time that Webloom itself spends on its disk, or waiting for room, does not count.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from types import TracebackType
from typing import Self

from webloom.domain.errors import FetchFailed
from webloom.domain.transfer_rate import TransferRate


class TransferTimeouts:
    """`async with` raises FetchFailed in place of the TimeoutError of a limit."""

    def __init__(
        self, *, total_seconds: float, stall_seconds: float, min_rate: float, rate_window: float
    ) -> None:
        self._total_seconds = total_seconds
        self._stall_seconds = stall_seconds
        self._min_rate = min_rate
        self._rate_window = rate_window
        self._rate: TransferRate | None = None  # once the body has begun
        self._loop = asyncio.get_running_loop()
        self._total = asyncio.timeout(total_seconds)
        self._stall = asyncio.timeout(stall_seconds)

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._total)
            await stack.enter_async_context(self._stall)
            self._limits = stack.pop_all()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            await self._limits.__aexit__(exc_type, exc, traceback)
        except TimeoutError as error:
            raise FetchFailed(reason=self._reason(), retryable=True) from error

    def body_begins(self) -> None:
        now = self._loop.time()
        self._rate = TransferRate(self._min_rate, now=now, window=self._rate_window)

    def wait_for_server(self) -> None:
        """Until `received` or `busy`."""
        now = self._loop.time()
        until = now + self._stall_seconds
        if self._rate is not None:
            self._rate.resume(now)
            until = min(until, self._rate.deadline)
        self._stall.reschedule(until)

    def received(self, count: int) -> None:
        if self._rate is not None:
            self._rate.received(count, self._loop.time())

    def busy(self) -> None:
        """With what Webloom itself has to do."""
        if self._rate is not None:
            self._rate.pause(self._loop.time())
        self._stall.reschedule(None)

    @contextmanager
    def own_time(self) -> Iterator[None]:
        """Nothing here counts, not even against the time in all."""
        self.busy()
        until, began = self._total.when(), self._loop.time()
        self._total.reschedule(None)
        yield
        if until is not None:
            self._total.reschedule(until + self._loop.time() - began)

    def _reason(self) -> str:
        if not self._stall.expired():
            return f"no complete answer within {self._total_seconds:g} s"
        too_slow = self._rate and self._rate.failure(self._stall.when() or 0.0)
        return too_slow or f"the server sent nothing for {self._stall_seconds:g} s"
