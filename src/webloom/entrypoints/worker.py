"""A worker: serves its queues until it is stopped."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine
from contextlib import suppress
from functools import partial

from webloom.application.inventory.fetch_url import FetchUrl
from webloom.bootstrap.network import http_fetcher
from webloom.bootstrap.services import Services
from webloom.bootstrap.use_cases import open_check_page
from webloom.cancellation import cancel_and_wait
from webloom.domain.import_run import IMPORT_QUEUE
from webloom.domain.inventory import METADATA_QUEUE
from webloom.domain.page import CHECK_QUEUE
from webloom.entrypoints.heartbeat import Work, beating, first_beat
from webloom.entrypoints.slots import GIVE_BACK_SECONDS, Slots
from webloom.ports.broker import Delivery

log = logging.getLogger(__name__)


async def run_worker(
    services: Services, stop: asyncio.Event, queues: Collection[str] | None = None
) -> None:
    """Serve the queues, all of them by default. After `stop`, deliveries in flight have the grace
    period to finish."""
    settings = services.settings
    chosen = [name for name in settings.broker_urls if queues is None or name in queues]
    slots = settings.slots if METADATA_QUEUE in chosen else 0
    beat = first_beat(services, "worker", slots=slots, queues=chosen)
    work = Work()
    async with beating(services, beat, work.report):
        log.info("worker started", extra={"slots": slots, "queues": chosen})
        try:
            async with asyncio.TaskGroup() as group:
                for queue in chosen:
                    group.create_task(_serving(queue, services, stop, work))
        finally:
            completed = work.fetch_url.tally.completed if work.fetch_url else 0
            log.info("worker stopped", extra={"completed": completed})


async def run_storage_agent(services: Services, stop: asyncio.Event) -> None:
    """The storage agent alone."""
    settings, work = services.settings, Work()
    beat = first_beat(
        services, "storage-agent", slots=settings.slots, queues=[settings.input_queue]
    )
    async with beating(services, beat, work.report):
        log.info("storage agent started")
        await _serve_events(services, stop, work)
    log.info("storage agent stopped")


def _serving(
    queue: str, services: Services, stop: asyncio.Event, work: Work
) -> Coroutine[object, object, None]:
    if queue == METADATA_QUEUE:
        return _serve_urls(services, stop, work)
    if queue == IMPORT_QUEUE:
        return serve_batches(services, stop, work)
    if queue == CHECK_QUEUE:
        return _serve_checks(services, stop, work)
    return _serve_events(services, stop, work)


async def _serve_urls(services: Services, stop: asyncio.Event, work: Work) -> None:
    """Fetch what was submitted."""
    settings = services.settings
    async with http_fetcher(settings, services.refusals) as fetcher:
        fetch_url = work.fetch_url = services.fetch_url(fetcher, services.host_turns)
        renewal = asyncio.create_task(fetch_url.renew_leases())
        close = partial(_stop_beginning, fetch_url)
        try:
            await _serve(
                services, METADATA_QUEUE, fetch_url, settings.slots, stop, work, close=close
            )
        finally:
            await cancel_and_wait(renewal)


async def _stop_beginning(fetch_url: FetchUrl) -> None:
    """Wait until no attempt is about to begin: one that has begun can be given back."""
    fetch_url.closing = True
    with suppress(TimeoutError):
        async with asyncio.timeout(GIVE_BACK_SECONDS):
            while fetch_url.beginning:  # noqa: ASYNC110 - polled once, at the end
                await asyncio.sleep(0.01)


async def serve_batches(services: Services, stop: asyncio.Event, work: Work | None = None) -> None:
    """Store the batches of imports."""
    count = services.settings.import_concurrency
    await _serve(services, IMPORT_QUEUE, services.store_batch, count, stop, work or Work())


async def _serve_checks(services: Services, stop: asyncio.Event, work: Work) -> None:
    """Check the pages of watches."""
    async with open_check_page(services, services.host_turns) as check_page:
        count = services.settings.watch_concurrency
        await _serve(services, CHECK_QUEUE, check_page, count, stop, work)


async def _serve_events(services: Services, stop: asyncio.Event, work: Work) -> None:
    """Store what was seen on pages: the storage agent."""
    settings = services.settings
    await _serve(services, settings.input_queue, services.store_event, settings.slots, stop, work)


async def _serve(
    services: Services,
    queue: str,
    handle: Callable[[Delivery], Awaitable[None]],
    count: int,
    stop: asyncio.Event,
    work: Work,
    *,
    close: Callable[[], Awaitable[None]] | None = None,  # before deliveries are given back
) -> None:
    async with services.broker.deliveries(queue, count) as deliveries:
        slots = work.slots[queue] = Slots(handle, deliveries)
        slots.start(count)
        try:
            await slots.serve_until(stop)
            await slots.drain(services.settings.grace)
        finally:  # also when another part of the process has failed
            if close is not None:
                await close()
            await slots.give_back()
