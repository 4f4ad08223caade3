from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """The size of a collection, and of what retention will remove from it."""

    collection: str
    items: int
    bytes: int  # about
    superseded_items: int = 0
    superseded_bytes: int = 0


class PageStorage(Protocol):
    """The room that the watch pipeline takes in the store. Raises StoreUnavailable."""

    async def usage(self, *, with_superseded: bool = True) -> list[Usage]:
        """Cheap without `with_superseded`; with it, some stores scan everything."""

    async def prune(self, *, expired_only: bool = False) -> int:
        """Remove what has expired, unless the database does that itself, and then the oldest
        superseded data, down to `prune_goal`. Needs no free room. Returns the number of items
        removed."""

    async def is_full(self) -> bool:
        """Whether `store_event` raises StorageFull for new content. Cheap."""
