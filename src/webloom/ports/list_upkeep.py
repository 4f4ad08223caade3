from __future__ import annotations

from typing import Protocol


class ListUpkeep(Protocol):
    """What the lists of watches and feeds need besides their items. Raises StoreUnavailable."""

    async def make_searchable(self) -> int:
        """Write the words by which an item is found, where a process of an earlier version, which
        does not know them, has added or edited it. Returns the number of such items.

        A few are written at a time. A call that is interrupted has written a part of them, and the
        next one goes on.
        """
