"""Retrying while a store or broker is unavailable, or this machine has run out of resources."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from webloom.application.shortage import shortage
from webloom.domain.backoff import Backoff
from webloom.domain.errors import ResourcesExhausted, Unavailable
from webloom.domain.exhaustion import exhaustion_in
from webloom.jitter import jitter

log = logging.getLogger(__name__)

Result = TypeVar("Result")
SERVER_AWAY = Backoff(base=0.5, cap=30.0, jitter=(0.5, 1.5))
RESOURCES_EXHAUSTED = replace(SERVER_AWAY, cap=5.0)  # no server is contacted meanwhile


async def retry_until_available(action: Callable[[], Awaitable[Result]]) -> Result:
    """Retry until the store, the broker and this machine's resources are available: the result of
    work done before must not be lost."""
    return await _retry(action, Unavailable)


async def when_resources_allow(action: Callable[[], Awaitable[Result]]) -> Result:
    """Retry until this machine has resources: a lack of them says nothing about what is fetched or
    read."""
    return await _retry(action, ResourcesExhausted)


async def _retry(action: Callable[[], Awaitable[Result]], missing: type[Unavailable]) -> Result:
    failures = 0
    try:
        while True:
            try:
                return await action()
            except missing as error:
                failures += 1
                if found := exhaustion_in(error):
                    shortage.begin(action, found.exhausted)
                    seconds = RESOURCES_EXHAUSTED.delay(failures, jitter=jitter())
                else:
                    seconds = SERVER_AWAY.delay(failures, jitter=jitter())
                    fields = {"error": str(error), "seconds": round(seconds, 1)}
                    log.warning("waiting for the database", extra=fields)
                await asyncio.sleep(seconds)
    finally:
        shortage.end(action)
