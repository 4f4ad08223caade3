"""A worker: it serves `metadata_queue` and `import-feed` until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from webloom.application.inventory.fetch_url import FetchUrl
from webloom.bootstrap import Services, http_fetcher
from webloom.domain.import_run import IMPORT_QUEUE
from webloom.domain.inventory import METADATA_QUEUE
from webloom.entrypoints.heartbeat import beating, first_beat, with_tally
from webloom.entrypoints.slots import LAST_WORDS_SECONDS, Slots

log = logging.getLogger(__name__)


async def run_worker(services: Services, stop: asyncio.Event) -> None:
    """After `stop`, what is in flight is finished within the grace period."""
    async with asyncio.TaskGroup() as group:
        group.create_task(_serve_urls(services, stop))
        group.create_task(serve_batches(services, stop))


async def _serve_urls(services: Services, stop: asyncio.Event) -> None:
    settings = services.settings
    async with http_fetcher(settings) as fetcher:
        fetch_url = services.fetch_url(fetcher)
        beat = first_beat(services, "worker", settings.slots)
        renewal = asyncio.create_task(fetch_url.renew_leases())
        log.info("worker started", extra={"slots": settings.slots})
        try:
            async with (
                beating(services, beat, with_tally(fetch_url)),
                services.broker.deliveries(METADATA_QUEUE, settings.slots) as deliveries,
            ):
                slots = Slots(fetch_url, deliveries)
                slots.start(settings.slots)
                try:
                    await slots.serve_until(stop)
                    await slots.drain(settings.grace)
                finally:  # also when another part of the process has failed
                    await _begin_no_more(fetch_url)
                    await slots.give_back()
        finally:
            renewal.cancel()
            with suppress(asyncio.CancelledError):
                await renewal
            log.info("worker stopped", extra={"completed": fetch_url.tally.completed})


async def _begin_no_more(fetch_url: FetchUrl) -> None:
    """An attempt that has begun can be given back."""
    fetch_url.closing = True
    with suppress(TimeoutError):
        async with asyncio.timeout(LAST_WORDS_SECONDS):
            while fetch_url.beginning:  # noqa: ASYNC110 - polled once, at the end
                await asyncio.sleep(0.01)


async def serve_batches(services: Services, stop: asyncio.Event) -> None:
    """Store the batches of imports."""
    settings = services.settings
    async with services.broker.deliveries(IMPORT_QUEUE, settings.import_concurrency) as deliveries:
        slots = Slots(services.store_batch, deliveries)
        slots.start(settings.import_concurrency)
        try:
            await slots.serve_until(stop)
            await slots.drain(settings.grace)
        finally:
            await slots.give_back()
