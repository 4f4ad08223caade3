from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from webloom.domain.listing import BY_NAME, EVERYTHING, Count, ListFilter, Order
from webloom.domain.tags import TagCount
from webloom.domain.watch import Watch, WatchConfig


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchCounts:
    all: int
    enabled: int
    checking: int  # with an active run
    failing: int  # whose latest run failed


class Watches(Protocol):
    """Pages that are checked on a schedule.

    Every write is atomic and can be repeated. Raises StoreUnavailable.
    """

    async def add_watch(
        self, watch_id: str, config: WatchConfig, *, next_run_at: datetime | None
    ) -> tuple[Watch, bool]:
        """The watch with this id, and whether it is new. An existing one stays as it is."""

    async def find_watch(self, watch_id: str) -> Watch | None: ...

    async def names(self, watch_ids: Collection[str]) -> dict[str, str]:
        """Of those that exist, by their ids. Cheap, however many URLs they have."""

    async def watches(
        self,
        chosen: ListFilter = EVERYTHING,
        *,
        limit: int,
        cursor: str | None = None,
        order: Order = BY_NAME,
    ) -> tuple[list[Watch], str | None]:
        """With the cursor of the next page in the same order. Raises BadCursor."""

    async def count_chosen(self, chosen: ListFilter, *, most: int) -> Count:
        """How many a filter finds; counting stops behind `most`."""

    async def tags(self) -> list[TagCount]:
        """As `counted_tags` has them."""

    async def count_watches(self) -> WatchCounts:
        """Cheap, however many URLs they have."""

    async def edit_watch(
        self,
        watch_id: str,
        config: WatchConfig,
        *,
        next_run_at: datetime | None,
        instead_of: WatchConfig | None = None,
    ) -> Watch | None:
        """Replace the configuration; None: there is no such watch. With `instead_of`, raises
        EditOvertaken if the configuration is another one by now. If `enabled` or the schedule
        changes, the next run is at `next_run_at`, otherwise it stays as it is. If the selection
        changes, the validators of its pages are removed: the next check reads the pages again."""

    async def remove_watch(self, watch_id: str) -> bool:
        """False: there is no such watch. Its runs and pages stay. The watch goes first, then its
        active run ends. Should the process die in between, `active_runs` ends that run."""

    async def due_watches(self, now: datetime, *, limit: int) -> list[Watch]:
        """Due and without an active run, the longest overdue first."""
