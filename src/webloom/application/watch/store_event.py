"""Serve one delivery of `storage-agent`.

    decode -> page, version, price record, change log, run's counters (one verb of the store) -> ack

What can't be stored goes to the dead letters with the reason. A database that is away, or full, is
waited for: that is no fault of the message.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from webloom.application.persist import persist, spread
from webloom.domain.errors import EventRefused, StorageFull
from webloom.parsing.storage_event import event_of
from webloom.ports.broker import Delivery
from webloom.ports.clock import Clock
from webloom.ports.page_store import PageStore

log = logging.getLogger(__name__)

MOST_DELIVERIES = 20  # of an event whose agents die one after the other
FULL_PAUSE = 30.0  # seconds, while there is no room


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreEvent:
    store: PageStore
    clock: Clock

    async def __call__(self, delivery: Delivery) -> None:
        try:
            event = event_of(delivery.body, received=self.clock.now())
            if event.problems:
                told = {"job_id": event.job_id, "url": event.url, "problems": event.problems}
                log.warning("a part of an event can't be used", extra=told)
            if delivery.redelivered and delivery.attempt > MOST_DELIVERIES:
                raise EventRefused(f"its agent died {delivery.attempt - 1} times")
            await persist(lambda: self.store.store_event(event))
        except EventRefused as error:
            reason = str(error)
            await persist(lambda: delivery.bury(reason))
        except StorageFull as error:
            log.error("there is no room for an event", extra={"error": str(error)})
            await persist(lambda: delivery.retry(FULL_PAUSE * (0.5 + spread())))
        else:
            await persist(delivery.ack)
