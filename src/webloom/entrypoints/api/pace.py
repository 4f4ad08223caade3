"""How long a client may keep a large body waiting: half a minute in all, and more with every byte
that it takes or sends. What we ourselves take does not count."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

Result = TypeVar("Result")

GRACE_SECONDS = 30.0
LEAST_RATE = 32 * 1024  # bytes a second, on average


class Pace:
    def __init__(self) -> None:
        self._bytes = 0
        self._waited = 0.0

    async def keep(self, waiting: Awaitable[Result], size: Callable[[Result], int]) -> Result:
        """Raises TimeoutError."""
        left = GRACE_SECONDS + self._bytes / LEAST_RATE - self._waited
        began = time.monotonic()
        async with asyncio.timeout(left):
            result = await waiting
        self._waited += time.monotonic() - began
        self._bytes += size(result)
        return result
