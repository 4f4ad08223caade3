"""Insisting, while a store or a broker is away, or this machine has run out of something."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from webloom.application.shortage import shortage
from webloom.domain.errors import ResourcesExhausted, Unavailable
from webloom.domain.exhaustion import exhaustion_in

log = logging.getLogger(__name__)

Result = TypeVar("Result")
LONGEST_PAUSE = 30.0  # between two tries
LONGEST_PAUSE_OF_OURS = 5.0  # while nobody else is asked


async def persist(action: Callable[[], Awaitable[Result]]) -> Result:
    """Do it, however long the store, the broker or this machine's resources are missing: what was
    done is not thrown away."""
    return await _insist(action, Unavailable)


async def when_resources_allow(action: Callable[[], Awaitable[Result]]) -> Result:
    """Do it, however long this machine's resources are missing: their lack says nothing about what
    is fetched or read."""
    return await _insist(action, ResourcesExhausted)


async def _insist(action: Callable[[], Awaitable[Result]], missing: type[Unavailable]) -> Result:
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
                await asyncio.sleep(pause * (0.5 + spread()))
                pause = min(pause * 2, longest)
    finally:
        shortage.end(action)


def spread() -> float:
    """From 0 to 1, so that what happens together does not happen together again."""
    return random.random()  # noqa: S311 - jitter, not a secret
