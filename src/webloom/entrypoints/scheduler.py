"""The scheduler: what must happen from time to time. Of many, the one that holds the lock acts."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from webloom.bootstrap import Services
from webloom.domain.errors import Unavailable
from webloom.entrypoints.heartbeat import beating, first_beat

log = logging.getLogger(__name__)

LOCK = "scheduler"
TICK_SECONDS = 60.0


async def run_scheduler(services: Services, stop: asyncio.Event) -> None:
    beat = first_beat(services, "scheduler")
    log.info("scheduler started")
    async with beating(services, beat):
        while not stop.is_set():
            try:
                await _tick(services, beat.process_id)
            except Unavailable as error:
                log.warning("a tick failed", extra={"error": str(error)})
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), TICK_SECONDS)
        with suppress(Unavailable):
            await services.lock.release(LOCK, beat.process_id)
    log.info("scheduler stopped")


async def _tick(services: Services, owner: str) -> None:
    if await services.lock.acquire(LOCK, owner, 2 * TICK_SECONDS) is None:
        return
    found = await services.requeue_forgotten()
    if found:
        log.warning("put forgotten requests back on the queue", extra={"requests": found})
