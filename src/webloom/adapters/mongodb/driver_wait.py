"""How PyMongo waits for a server, on Python 3.11.

It waits on a condition by `asyncio.wait_for`, which before Python 3.12 runs a task of its own. A
call that is cancelled while that task takes the condition's lock back leaves without it, and gives
up a lock that is another call's: that one fails with a RuntimeError, or no call ever ends again.
`asyncio.timeout` waits in the call itself, as `wait_for` does since. This module can go with
Python 3.11, or when PyMongo waits in another way: tests/unit/test_patched_libraries.py tells.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable
from typing import TypeVar

from pymongo import lock

Result = TypeVar("Result")


async def wait_here(awaited: Awaitable[Result], seconds: float | None) -> Result:
    async with asyncio.timeout(seconds):
        return await awaited


def wait_in_the_call_itself() -> None:
    if sys.version_info < (3, 12):
        setattr(lock, "wait_for", wait_here)  # noqa: B010 - not a name that PyMongo exports
