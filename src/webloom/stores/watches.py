from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import datetime, timedelta
from typing import NamedTuple

from webloom.domain.errors import EditOvertaken
from webloom.domain.listing import BY_NAME, EVERYTHING, Count, ListFilter, Order
from webloom.domain.tags import TagCount
from webloom.domain.watch import Watch, WatchConfig, edited
from webloom.domain.watch_run import RunState, active_run_id, removed
from webloom.stores.primitives import Documents, Now, Pairs, SortedItems, whole_milliseconds


class _Config(NamedTuple):
    watch_id: str
    config: WatchConfig
    next_run_at: datetime | None
    instead_of: WatchConfig | None = None


class _Edited(NamedTuple):
    watch: Watch | None
    has_other_selection: bool = False
    is_overtaken: bool = False


class StoredWatches(ABC):
    """The port `Watches`, without some queries, which a backend adds."""

    def __init__(
        self,
        documents: Documents[Watch],
        with_runs: Pairs[Watch, RunState],  # to be ended
        listed: SortedItems[Watch],
        *,
        keep: timedelta,
    ) -> None:
        self._documents = documents
        self._with_runs = with_runs
        self._listed = listed
        self._keep = keep

    @abstractmethod
    async def forget_validators(self, watch_id: str) -> None:
        """Remove the validators of its pages. A check that began earlier can't bring them back."""

    async def find_watch(self, watch_id: str) -> Watch | None:
        return (await self._documents.read([watch_id])).get(watch_id)

    async def add_watch(
        self, watch_id: str, config: WatchConfig, *, next_run_at: datetime | None
    ) -> tuple[Watch, bool]:
        event = _Config(watch_id, config, whole_milliseconds(next_run_at))
        [answer] = await self._documents.change(_add, [(watch_id, event)])
        return answer

    async def watches(
        self,
        chosen: ListFilter = EVERYTHING,
        *,
        limit: int,
        cursor: str | None = None,
        order: Order = BY_NAME,
    ) -> tuple[list[Watch], str | None]:
        return await self._listed.page(chosen, order, limit=limit, cursor=cursor)

    async def count_chosen(self, chosen: ListFilter, *, most: int) -> Count:
        return await self._listed.count(chosen, most=most)

    async def tags(self) -> list[TagCount]:
        return await self._listed.tags()

    async def edit_watch(
        self,
        watch_id: str,
        config: WatchConfig,
        *,
        next_run_at: datetime | None,
        instead_of: WatchConfig | None = None,
    ) -> Watch | None:
        """The validators are removed before the edit, so that a crash in between leaves it to be
        repeated, and again after it, because of checks that ended in between."""
        known = await self.find_watch(watch_id)
        if known is not None and known.config.selection != config.selection:
            await self.forget_validators(watch_id)
        event = _Config(watch_id, config, whole_milliseconds(next_run_at), instead_of)
        [edited] = await self._documents.change(_edit, [(watch_id, event)])
        if edited.is_overtaken:
            raise EditOvertaken(f"{watch_id} was edited meanwhile")
        if edited.has_other_selection:
            await self.forget_validators(watch_id)
        return edited.watch

    async def remove_watch(self, watch_id: str) -> bool:
        return await self._with_runs.change(_remove, watch_id, self._keep, second=active_run_id)


def _add(known: Watch | None, event: _Config, now: Now) -> tuple[Watch, tuple[Watch, bool]]:
    if known is not None:
        return known, (known, False)
    watch = Watch(
        watch_id=event.watch_id,
        config=event.config,
        created_at=now.wall,
        updated_at=now.wall,
        next_run_at=event.next_run_at,
    )
    return watch, (watch, True)


def _edit(known: Watch | None, event: _Config, now: Now) -> tuple[Watch | None, _Edited]:
    if known is None:
        return None, _Edited(None)
    if event.instead_of not in (None, known.config):
        return known, _Edited(known, is_overtaken=True)
    watch = edited(known, event.config, now=now.wall, next_run_at=event.next_run_at)
    return watch, _Edited(watch, known.config.selection != event.config.selection)


def _remove(
    watch: Watch | None, active: RunState | None, keep: timedelta, now: Now
) -> tuple[Watch | None, RunState | None, bool]:
    if watch is None:
        return None, active, False
    return None, removed(watch, active, now=now.wall, expires_at=now.expiry + keep), True
