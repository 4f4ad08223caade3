"""Remove what has expired, or is over the storage budget."""

from __future__ import annotations

from dataclasses import dataclass

from webloom.ports.page_store import PageStore


@dataclass(frozen=True, kw_only=True, slots=True)
class PrunePages:
    store: PageStore

    async def __call__(self) -> int:
        """How many items were removed. Raises StoreUnavailable."""
        return await self.store.prune()
