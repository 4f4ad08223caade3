"""Serve one delivery of `storage-agent`.

    decode -> admit -> page, version, price record, change log, run's counters (one verb) -> ack

What can't be stored goes to the dead letters with the reason. While the database is unavailable or
full, the message waits.
"""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass
from datetime import datetime

from webloom.application.deliveries import defer
from webloom.application.retrying import retry_until_available
from webloom.domain.errors import EventRefused, StorageFull
from webloom.domain.event_admission import admitted, maintained_urls
from webloom.domain.page_check import Checked
from webloom.domain.storage_event import Origin, StorageEvent
from webloom.domain.watch import Outcome
from webloom.jitter import jittered
from webloom.parsing.storage_event import event_of
from webloom.parsing.web_url import normalise
from webloom.ports.broker import Broker, Delivery, Message
from webloom.ports.clock import Clock
from webloom.ports.pages import Pages
from webloom.ports.watch_runs import WatchRuns
from webloom.ports.watches import Watches

log = logging.getLogger(__name__)

MOST_DELIVERIES = 20  # of an event whose agents keep dying
FULL_PAUSE = 30.0  # seconds, while there is no room


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreEvent:
    store: Pages
    watches: Watches
    runs: WatchRuns
    broker: Broker
    queue: str
    clock: Clock

    async def __call__(self, delivery: Delivery) -> None:
        event: StorageEvent | None = None
        try:
            if delivery.redelivered and delivery.attempt > MOST_DELIVERIES:
                raise EventRefused(f"its agent died {delivery.attempt - 1} times")
            now = self.clock.now()
            event = await self._admitted(event_of(delivery.body, received=now), now)
            if event.problems:
                fields = {"watch_id": event.watch_id, "url": event.url, "problems": event.problems}
                log.warning("a part of an event can't be used", extra=fields)
            await self._store(event)
        except EventRefused as error:
            reason = str(error)
            if event is not None and event.run_id is not None:
                await self._fail(event, event.run_id, reason)
            await retry_until_available(lambda: delivery.dead_letter(reason))
        except StorageFull as error:
            log.error("an event waits for room", extra={"error": str(error)})
            await self._defer(delivery)
        else:
            await retry_until_available(delivery.ack)

    async def _admitted(self, event: StorageEvent, now: datetime) -> StorageEvent:
        """Raises EventRefused; its run, which may be one of ours, is left alone then."""
        watch = run = None
        if event.origin is not Origin.CHECKER:
            watch = await retry_until_available(lambda: self.watches.find_watch(event.watch_id))
        run_id = event.run_id
        if watch is not None and not watch.is_external and run_id is not None:
            run = await retry_until_available(lambda: self.runs.find_run(run_id))
        return admitted(
            event,
            url=normalise(event.url),
            maintained=maintained_urls(watch),
            run=None if run is None else run.head,
            now=now,
        )

    async def _store(self, event: StorageEvent) -> None:
        await retry_until_available(lambda: self.store.store_event(event))

    async def _fail(self, event: StorageEvent, run_id: str, reason: str) -> None:
        """So that its run does not wait for it."""
        checked = Checked(
            watch_id=event.watch_id,
            url=event.url,
            run_id=run_id,
            at=self.clock.now(),
            outcome=Outcome.FAILED,
            error=reason[:500],
        )
        await retry_until_available(lambda: self.store.note_checked(checked))

    async def _defer(self, delivery: Delivery) -> None:
        """As a new message: each retry of this one would count as the death of an agent."""
        copy = Message(id=uuid.uuid4().hex, body=delivery.body)
        await defer(delivery, self.broker, self.queue, copy, jittered(FULL_PAUSE))
