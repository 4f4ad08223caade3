"""Leases: of many processes, only the holder acts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from webloom.cancellation import cancel_and_wait
from webloom.domain.errors import Unavailable
from webloom.ports.locks import Locks


class Lease:
    def __init__(self, lock: Locks, name: str, owner: str, seconds: float) -> None:
        self._lock = lock
        self._name = name
        self._owner = owner
        self._seconds = seconds
        self._until = 0.0  # on the event loop's clock

    async def hold(self) -> bool:
        """Whether it is ours. Renewed after half of its time: renewing at every call would be most
        of an idle scheduler's work. Raises StoreUnavailable."""
        if asyncio.get_running_loop().time() < self._until - self._seconds / 2:
            return True
        return await self._acquire()

    async def during(self, action: Callable[[], Awaitable[object]]) -> None:
        """Runs `action` only while the lease is held: it is cancelled when another process has the
        lease, or it could not be renewed in time. The lease is not released at the end."""
        if not await self._acquire():
            return
        clock = asyncio.get_running_loop().time
        acting = asyncio.ensure_future(action())
        try:
            while clock() < self._until:
                await asyncio.wait({acting}, timeout=self._seconds / 4)
                if acting.done():
                    break
                with suppress(Unavailable):
                    if not await self._acquire():
                        break
        finally:
            await cancel_and_wait(acting)
        if not acting.cancelled():
            acting.result()

    async def release(self) -> None:
        with suppress(Unavailable):
            await self._lock.release(self._name, self._owner)

    async def _acquire(self) -> bool:
        now = asyncio.get_running_loop().time()
        is_ours = await self._lock.acquire(self._name, self._owner, self._seconds) is not None
        self._until = now + self._seconds if is_ours else 0.0
        return is_ours
