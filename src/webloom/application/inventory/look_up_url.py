"""Look up the record of a URL, and fetch it if it is unknown or too old.

find -> final and fresh: here it is
     -> final and old:   here it is, marked stale, with a refresh queued behind it
     -> otherwise:       wait; an unknown URL is submitted first

With `only_look` nothing changes: an unknown URL stays unknown, and nothing is refreshed.

A large page source is read in a second step, when its size is known.

While the store is down, records that this process has read recently are returned, marked stale.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

from webloom.application.inventory.recent_records import RecentRecords
from webloom.application.inventory.submit_url import Accepted, SubmitUrl
from webloom.domain.errors import BackendRefused, QueueFull, StoreUnavailable, Unavailable
from webloom.domain.inventory import LargeSource, Record, Status
from webloom.ports.clock import Clock
from webloom.ports.inventory_store import InventoryStore

log = logging.getLogger(__name__)

SMALL_SOURCE = 64 * 1024  # bytes that are read with the record
STORE_SECONDS = 0.5  # for the store, if the record is cached


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    record: Record
    stale: bool
    large_source: int | None = None  # bytes of the page source that `with_large_source` reads


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiting:
    url: str
    status: Status
    request_id: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class LookUpUrl:
    store: InventoryStore
    submit: SubmitUrl
    clock: Clock
    cache_ttl: float
    recent: RecentRecords

    async def __call__(
        self, url: str, *, with_source: bool, only_look: bool = False
    ) -> Found | Waiting | None:
        """None: it is unknown, with `only_look`. Raises UrlRefused, StoreUnavailable, and for an
        unknown URL what SubmitUrl raises."""
        url = self.submit.check(url)
        known = self.recent.get(url, with_source=with_source)
        try:
            async with asyncio.timeout(None if known is None else STORE_SECONDS):
                record = await self.store.find(url, most=SMALL_SOURCE if with_source else 0)
        except (TimeoutError, StoreUnavailable, BackendRefused) as error:
            if known is None:
                raise
            log.warning("answering without the store", extra={"url": url, "error": str(error)})
            return Found(record=known, stale=True)
        large = record.size if isinstance(record, LargeSource) else None
        if record is None:
            self.recent.drop(url)
        elif record.status.is_final:
            self.recent.put(record, has_source=with_source and large is None)
        if record is None and only_look:
            return None
        if record is None:
            return _waiting(await self.submit.one(url))
        if not record.status.is_final:
            return _waiting_of(record)
        age = (self.clock.now() - record.updated_at).total_seconds()
        stale = age > self.cache_ttl
        if stale and not only_look:
            await self._refresh(url)
        return Found(record=record, stale=stale, large_source=large)

    async def with_large_source(self, found: Found) -> Found | Waiting | None:
        """Reads the record again: another process may have requested or deleted it meanwhile."""
        record = await self.store.find(found.record.url)
        if record is None:
            return None
        if not record.status.is_final:
            return _waiting_of(record)
        self.recent.put(record, has_source=True)
        return Found(record=record, stale=found.stale)

    async def _refresh(self, url: str) -> None:
        try:
            await self.submit.one(url, background=True)
        except (QueueFull, Unavailable, BackendRefused) as error:
            log.warning("no refresh now", extra={"url": url, "error": str(error)})


def _waiting(accepted: Accepted) -> Waiting:
    return Waiting(url=accepted.url, status=accepted.status, request_id=accepted.request_id)


def _waiting_of(record: Record) -> Waiting:
    return Waiting(
        url=record.url, status=record.status, request_id=record.processing.last_request_id
    )
