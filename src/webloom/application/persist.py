"""Insisting, while a store or a broker is away."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from webloom.domain.errors import Unavailable

log = logging.getLogger(__name__)

Result = TypeVar("Result")
LONGEST_PAUSE = 30.0  # between two tries


async def persist(action: Callable[[], Awaitable[Result]]) -> Result:
    """Do it, however long the store or the broker is away: what was done is not thrown away."""
    pause = 0.5
    while True:
        try:
            return await action()
        except Unavailable as error:
            log.warning("waiting for the database", extra={"error": str(error), "seconds": pause})
            await asyncio.sleep(pause * (0.5 + spread()))
            pause = min(pause * 2, LONGEST_PAUSE)


def spread() -> float:
    """From 0 to 1, so that what happens together does not happen together again."""
    return random.random()  # noqa: S311 - jitter, not a secret
