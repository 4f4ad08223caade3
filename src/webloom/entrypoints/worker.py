"""A worker: it serves every queue until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from webloom.application.host_turns import HostTurns
from webloom.application.inventory.fetch_url import FetchUrl
from webloom.bootstrap import Services, http_fetcher, open_check_page
from webloom.domain.import_run import IMPORT_QUEUE
from webloom.domain.inventory import METADATA_QUEUE
from webloom.domain.page import CHECK_QUEUE
from webloom.ending import ended
from webloom.entrypoints.heartbeat import Served, beating, first_beat, with_handled, with_tally
from webloom.entrypoints.slots import LAST_WORDS_SECONDS, Slots
from webloom.ports.broker import Delivery

log = logging.getLogger(__name__)


async def run_worker(services: Services, stop: asyncio.Event) -> None:
    """After `stop`, what is in flight is finished within the grace period."""
    turns = services.host_turns
    served: Served = {}
    async with asyncio.TaskGroup() as group:
        group.create_task(_serve_urls(services, turns, stop, served))
        group.create_task(serve_batches(services, stop, served))
        group.create_task(_serve_checks(services, turns, stop, served))
        group.create_task(_serve_events(services, stop, served))


async def _serve_urls(
    services: Services, turns: HostTurns, stop: asyncio.Event, served: Served
) -> None:
    settings = services.settings
    async with http_fetcher(settings) as fetcher:
        fetch_url = services.fetch_url(fetcher, turns)
        beat = first_beat(services, "worker", settings.slots)
        renewal = asyncio.create_task(fetch_url.renew_leases())
        log.info("worker started", extra={"slots": settings.slots})
        try:
            async with (
                beating(services, beat, with_tally(fetch_url, served)),
                services.broker.deliveries(METADATA_QUEUE, settings.slots) as deliveries,
            ):
                slots = served[METADATA_QUEUE] = Slots(fetch_url, deliveries)
                slots.start(settings.slots)
                try:
                    await slots.serve_until(stop)
                    await slots.drain(settings.grace)
                finally:  # also when another part of the process has failed
                    await _begin_no_more(fetch_url)
                    await slots.give_back()
        finally:
            await ended(renewal)
            log.info("worker stopped", extra={"completed": fetch_url.tally.completed})


async def _begin_no_more(fetch_url: FetchUrl) -> None:
    """An attempt that has begun can be given back."""
    fetch_url.closing = True
    with suppress(TimeoutError):
        async with asyncio.timeout(LAST_WORDS_SECONDS):
            while fetch_url.beginning:  # noqa: ASYNC110 - polled once, at the end
                await asyncio.sleep(0.01)


async def serve_batches(
    services: Services, stop: asyncio.Event, served: Served | None = None
) -> None:
    """Store the batches of imports. Who serves the queue is added to `served`."""
    slots = services.settings.import_concurrency
    served = {} if served is None else served
    await _serve(services, IMPORT_QUEUE, services.store_batch, slots, stop, served)


async def _serve_checks(
    services: Services, turns: HostTurns, stop: asyncio.Event, served: Served
) -> None:
    """Look at the pages of watches."""
    async with open_check_page(services, turns) as check_page:
        slots = services.settings.watch_concurrency
        await _serve(services, CHECK_QUEUE, check_page, slots, stop, served)


async def _serve_events(services: Services, stop: asyncio.Event, served: Served) -> None:
    """Store what was seen on pages: the storage agent."""
    settings = services.settings
    await _serve(services, settings.input_queue, services.store_event, settings.slots, stop, served)


async def run_storage_agent(services: Services, stop: asyncio.Event) -> None:
    """The storage agent alone."""
    served: Served = {}
    beat = first_beat(services, "storage-agent", services.settings.slots)
    async with beating(services, beat, with_handled(served)):
        log.info("storage agent started")
        await _serve_events(services, stop, served)
    log.info("storage agent stopped")


async def _serve(
    services: Services,
    queue: str,
    handle: Callable[[Delivery], Awaitable[None]],
    count: int,
    stop: asyncio.Event,
    served: Served,
) -> None:
    async with services.broker.deliveries(queue, count) as deliveries:
        slots = served[queue] = Slots(handle, deliveries)
        slots.start(count)
        try:
            await slots.serve_until(stop)
            await slots.drain(services.settings.grace)
        finally:
            await slots.give_back()
