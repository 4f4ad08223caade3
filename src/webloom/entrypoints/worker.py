"""A worker: N slots, each serving one delivery at a time, until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress

from webloom.application.inventory.fetch_url import FetchUrl, persist
from webloom.bootstrap import Services, http_fetcher
from webloom.domain.errors import BackendRefused, Unavailable
from webloom.domain.inventory import METADATA_QUEUE
from webloom.entrypoints.heartbeat import beating, first_beat, with_tally
from webloom.ports.broker import Delivery

log = logging.getLogger(__name__)

LAST_WORDS_SECONDS = 10.0  # for giving back what the grace period did not finish


async def run_worker(services: Services, stop: asyncio.Event) -> None:
    """Serve `metadata_queue`; after `stop` finish what is in flight within the grace period."""
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
                slots = _Slots(fetch_url, deliveries)
                slots.start(settings.slots)
                try:
                    await slots.serve_until(stop)
                    await slots.drain(settings.grace)
                finally:  # also when another part of the process has failed
                    await slots.give_back()
        finally:
            renewal.cancel()
            with suppress(asyncio.CancelledError):
                await renewal
            log.info("worker stopped", extra={"completed": fetch_url.tally.completed})


class _Slots:
    def __init__(self, fetch_url: FetchUrl, deliveries: AsyncIterator[Delivery]) -> None:
        self._fetch_url = fetch_url
        self._deliveries = deliveries
        self._idle: set[asyncio.Task[None]] = set()
        self._all: list[asyncio.Task[None]] = []
        self._stopping = False

    def start(self, slots: int) -> None:
        self._all = [asyncio.create_task(self._serve()) for _ in range(slots)]

    async def serve_until(self, stop: asyncio.Event) -> None:
        """A slot ends early only by an error that nobody here can mend: it is raised."""
        stopping = asyncio.create_task(stop.wait())
        done, _ = await asyncio.wait({stopping, *self._all}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        for slot in done - {stopping}:
            slot.result()

    async def drain(self, grace: float) -> None:
        """Take nothing new and let what is in flight finish."""
        self._stopping = True
        for task in self._idle:
            task.cancel()
        await asyncio.wait(self._all, timeout=grace)

    async def give_back(self) -> None:
        """End what is still running, so that it does not count and comes again."""
        self._fetch_url.closing = True
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS_SECONDS):
                # An attempt that has begun can be given back.
                while self._fetch_url.beginning:  # noqa: ASYNC110 - polled once, at the end
                    await asyncio.sleep(0.01)
        if busy := [task for task in self._all if not task.done()]:
            log.warning("giving back what is unfinished", extra={"deliveries": len(busy)})
            for task in busy:
                task.cancel()
            await asyncio.wait(busy, timeout=LAST_WORDS_SECONDS)

    async def _serve(self) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine that runs has a task
        while not self._stopping:
            self._idle.add(task)
            try:
                delivery = await anext(self._deliveries)
            finally:
                self._idle.discard(task)
            await self._handle(delivery)

    async def _handle(self, delivery: Delivery) -> None:
        try:
            await self._fetch_url(delivery)
        except asyncio.CancelledError:
            with suppress(Unavailable):
                await delivery.retry()  # changes nothing if it was settled
            raise
        except BackendRefused:  # the message is not to blame, and comes again
            raise
        except Exception as error:
            log.exception("a delivery failed", extra={"message_id": delivery.message_id})
            reason = f"unexpected {type(error).__name__}: {error}"
            await persist(lambda: delivery.bury(reason))
