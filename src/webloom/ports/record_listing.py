from __future__ import annotations

from typing import Protocol

from webloom.domain.inventory import RecordFilter, RecordPage, Status
from webloom.domain.listing import Count


class RecordListing(Protocol):
    """Pages and counts of the records that an InventoryStore has. Raises StoreUnavailable."""

    async def page_of_records(
        self,
        chosen: RecordFilter,
        *,
        limit: int,
        cursor: str | None = None,
        oldest_first: bool = False,
        most_counted: int | None = None,
    ) -> RecordPage:
        """Records without sources, the newest first or the oldest. Quick however many there are:
        the work for a page is bounded, so that one with a rare filter can be short, even empty,
        while `next_cursor` continues, in the same direction. With `most_counted`, a store that can
        count while it reads gives the page the total of `count_chosen`. Raises BadCursor."""

    async def count_chosen(self, chosen: RecordFilter, *, most: int) -> Count:
        """How many a filter finds. Counting stops behind `most`; what no index knows is counted
        among the first that would be listed, so many that the work stays bounded."""

    async def count_by_status(self) -> dict[Status, int]: ...
