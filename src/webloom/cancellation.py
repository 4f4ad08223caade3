"""Cancels tasks that run until they are stopped."""

from __future__ import annotations

import asyncio
from typing import Any

AGAIN_SECONDS = 2.0


async def cancel_and_wait(*tasks: asyncio.Task[Any]) -> None:
    """Cancel the tasks and wait until each is done, whatever its result.

    Cancels repeatedly: `asyncio.wait_for` of Python 3.11, which the drivers of MongoDB, Redis and
    RabbitMQ use, drops a cancellation that arrives just as it finishes, and a loop would never end.
    """
    while left := [task for task in tasks if not task.done()]:
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=AGAIN_SECONDS)
