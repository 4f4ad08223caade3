"""Put requests back on the queue that nobody has touched for a long time.

Nothing of Webloom's own doing leaves such a request behind; a broker that lost its disk or a queue
that was purged by hand does. Repeating is harmless: a message that is still there is found by its
key, and a request that is answered twice is answered once.
"""

from __future__ import annotations

from dataclasses import dataclass

from webloom.application.inventory.submit_url import message_for
from webloom.domain.inventory import METADATA_QUEUE
from webloom.ports.broker import Broker
from webloom.ports.inventory_store import InventoryStore

QUIET_SECONDS = 600.0
MOST_AT_ONCE = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class RequeueForgotten:
    store: InventoryStore
    broker: Broker
    quiet_for: float = QUIET_SECONDS

    async def __call__(self) -> int:
        """How many were found. What does not fit into a full queue is found again next time."""
        requests = await self.store.forgotten_requests(quiet_for=self.quiet_for, limit=MOST_AT_ONCE)
        if requests:
            await self.broker.publish_many(METADATA_QUEUE, [message_for(each) for each in requests])
        return len(requests)
