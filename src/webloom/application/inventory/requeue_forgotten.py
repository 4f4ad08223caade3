"""Publish requests again that have seen no activity for a long time.

Webloom itself leaves no such request behind; a broker that lost its disk, a queue that was purged
by hand or a copy from another store does. Repeating is harmless: a request is answered once. But
not every broker recognises a message that it already has, so a request is repeated at most once per
quiet period, and only while a worker serves the queue: without one, every request is quiet.
"""

from __future__ import annotations

from dataclasses import dataclass

from webloom.application.inventory.submit_url import message_for
from webloom.domain.inventory import METADATA_QUEUE
from webloom.ports.broker import Broker
from webloom.ports.heartbeats import ALIVE_SECONDS, Heartbeats
from webloom.ports.inventory_store import InventoryStore

QUIET_SECONDS = 600.0
MOST_AT_ONCE = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class RequeueForgotten:
    store: InventoryStore
    broker: Broker
    heartbeats: Heartbeats
    quiet_for: float = QUIET_SECONDS

    async def __call__(self) -> int:
        """How many were published. What does not fit on the queue is found again next time."""
        quiet = await self.store.forgotten_requests(quiet_for=self.quiet_for, limit=MOST_AT_ONCE)
        if not quiet or not await self._is_served():
            return 0
        depth = await self.broker.depth(METADATA_QUEUE)
        if depth.ready + depth.delayed >= len(quiet):  # their messages may all be there
            return 0
        standing = await self.broker.publish_many(
            METADATA_QUEUE, [message_for(each.request) for each in quiet]
        )
        queued = [noted for noted, mid in zip(quiet, standing, strict=True) if mid is not None]
        await self.store.note_requests(queued)
        return len(queued)

    async def _is_served(self) -> bool:
        seen = await self.heartbeats.seen(ALIVE_SECONDS)
        return any(process.heartbeat.serves(METADATA_QUEUE) for process in seen)
