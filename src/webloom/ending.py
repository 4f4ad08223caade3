"""The end of tasks that go on and on."""

from __future__ import annotations

import asyncio
from typing import Any

AGAIN_SECONDS = 2.0


async def ended(*tasks: asyncio.Task[Any]) -> None:
    """Cancel them and wait for their end, whichever it is.

    More than once, where it must be: `asyncio.wait_for` of Python 3.11, by which the drivers of
    MongoDB, Redis and RabbitMQ wait, loses a cancellation that comes in the moment when it is done:
    a loop would never end.
    """
    while left := [task for task in tasks if not task.done()]:
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=AGAIN_SECONDS)
