"""Delete the record of a URL, from the cache and the store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from webloom.application.inventory.recent_records import RecentRecords
from webloom.ports.inventory_store import InventoryStore


@dataclass(frozen=True, kw_only=True, slots=True)
class InvalidateUrl:
    store: InventoryStore
    recent: RecentRecords
    check: Callable[[str], str]  # a URL as given -> normalised; raises UrlRefused

    async def __call__(self, url: str) -> bool:
        """False: the URL was unknown. Raises UrlRefused, StoreUnavailable."""
        url = self.check(url)
        self.recent.drop(url)
        try:
            return await self.store.forget(url)
        finally:
            self.recent.drop(url)  # a concurrent look-up may have cached it again
