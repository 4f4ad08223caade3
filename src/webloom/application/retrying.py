"""Retrying while a store or a broker is away, or this machine has run out of something."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from webloom.application.shortage import shortage
from webloom.domain.errors import ResourcesExhausted, Unavailable
from webloom.domain.exhaustion import exhaustion_in
from webloom.jitter import jitter

log = logging.getLogger(__name__)

Result = TypeVar("Result")
LONGEST_PAUSE = 30.0  # between two tries
LONGEST_PAUSE_OF_OURS = 5.0  # while nobody else is asked


async def retry_until_available(action: Callable[[], Awaitable[Result]]) -> Result:
    """Do it, however long the store, the broker or this machine's resources are missing: what was
    done is not thrown away."""
    return await _retry(action, Unavailable)


async def when_resources_allow(action: Callable[[], Awaitable[Result]]) -> Result:
    """Do it, however long this machine's resources are missing: their lack says nothing about what
    is fetched or read."""
    return await _retry(action, ResourcesExhausted)


async def _retry(action: Callable[[], Awaitable[Result]], missing: type[Unavailable]) -> Result:
    pause = 0.5
    try:
        while True:
            try:
                return await action()
            except missing as error:
                longest = LONGEST_PAUSE
                if exhausted := exhaustion_in(error):
                    shortage.begin(action, str(exhausted))
                    longest = LONGEST_PAUSE_OF_OURS
                else:
                    told = {"error": str(error), "seconds": pause}
                    log.warning("waiting for the database", extra=told)
                pause = min(pause, longest)
                await asyncio.sleep(pause * (0.5 + jitter()))
                pause = min(pause * 2, longest)
    finally:
        shortage.end(action)
