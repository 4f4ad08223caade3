"""Pages of other programs' events that our own checker maintains, before they are accepted."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from webloom.domain.errors import BackendRefused, StoreUnavailable
from webloom.domain.event_admission import maintained_urls
from webloom.ports.watches import Watches

log = logging.getLogger(__name__)

STORE_SECONDS = 1.0  # for which events wait for a store that is slow


@dataclass(frozen=True, kw_only=True, slots=True)
class FindMaintained:
    watches: Watches
    seconds: float | None  # None: the store is the broker, too, without which none are accepted

    async def __call__(self, pages: Mapping[str, AbstractSet[str]]) -> dict[str, set[str]]:
        """Those of the given URLs, by job. What is not known while the store is away or slow is
        left out: the storage agent asks again."""
        found: dict[str, set[str]] = {}
        try:
            async with asyncio.timeout(self.seconds):
                for job_id, urls in pages.items():
                    watch = await self.watches.find_watch(job_id)
                    found[job_id] = {each for each in maintained_urls(watch) if each in urls}
        except (TimeoutError, StoreUnavailable, BackendRefused) as error:
            if self.seconds is None:
                raise
            log.warning("accepting without the store", extra={"error": str(error) or "too slow"})
        return found
