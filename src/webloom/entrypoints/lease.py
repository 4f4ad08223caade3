"""A lease that lasts as long as what is done under it, and ends soon when its process dies."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from webloom.cancellation import cancel_and_wait
from webloom.domain.errors import Unavailable
from webloom.ports.locks import Locks


async def while_holding(
    lock: Locks, name: str, owner: str, seconds: float, action: Callable[[], Awaitable[object]]
) -> None:
    """Nothing is done where somebody else holds the lease, and no more once it is lost: another has
    it, or it could not be renewed in time. It is not given up at the end."""
    clock = asyncio.get_running_loop().time
    asked = clock()
    if await lock.acquire(name, owner, seconds) is None:
        return
    until = asked + seconds
    acting = asyncio.ensure_future(action())
    try:
        while clock() < until:
            await asyncio.wait({acting}, timeout=seconds / 4)
            if acting.done():
                break
            asked = clock()
            with suppress(Unavailable):
                if await lock.acquire(name, owner, seconds) is None:
                    break
                until = asked + seconds
    finally:
        await cancel_and_wait(acting)
    if not acting.cancelled():
        acting.result()
