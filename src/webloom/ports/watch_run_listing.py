from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from webloom.domain.listing import Count
from webloom.domain.watch import RunStatus, WatchRun


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFilter:
    watch_id: str | None = None
    status: RunStatus | None = None


class WatchRunListing(Protocol):
    """Pages and counts of the runs that WatchRuns has. Raises StoreUnavailable."""

    async def runs(
        self,
        chosen: RunFilter,
        *,
        limit: int,
        cursor: str | None = None,
        oldest_first: bool = False,
    ) -> tuple[list[WatchRun], str | None]:
        """By start, the latest first; among equals, the last added first; or all the other way
        round. With the cursor of the next page in the same direction. The work for a page is
        bounded, so that one with both filters can be short. Raises BadCursor."""

    async def count_chosen(self, chosen: RunFilter, *, most: int) -> Count:
        """How many a filter finds. Counting stops behind `most`; with both filters they are counted
        among the first that would be listed, so many that the work stays bounded."""
