from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import datetime, timedelta
from typing import NamedTuple

from webloom.domain.watch import Watch, WatchConfig, edited
from webloom.domain.watch_run import RunState, active_run_id, removed
from webloom.stores.primitives import Documents, Now, Pairs, whole_milliseconds


class _Config(NamedTuple):
    watch_id: str
    config: WatchConfig
    next_run_at: datetime | None


class StoredWatches(ABC):
    """The writes of the port `Watches`; a backend adds the queries."""

    def __init__(
        self,
        documents: Documents[Watch],
        with_runs: Pairs[Watch, RunState],  # to be ended
        *,
        keep: timedelta,
    ) -> None:
        self._documents = documents
        self._with_runs = with_runs
        self._keep = keep

    @abstractmethod
    async def forget_validators(self, watch_id: str) -> None:
        """Of its pages; what a check brings later that began before this moment is not taken."""

    async def find_watch(self, watch_id: str) -> Watch | None:
        return (await self._documents.read([watch_id])).get(watch_id)

    async def add_watch(
        self, watch_id: str, config: WatchConfig, *, next_run_at: datetime | None
    ) -> tuple[Watch, bool]:
        event = _Config(watch_id, config, whole_milliseconds(next_run_at))
        [answer] = await self._documents.change(_add, [(watch_id, event)])
        return answer

    async def edit_watch(
        self, watch_id: str, config: WatchConfig, *, next_run_at: datetime | None
    ) -> Watch | None:
        """The validators go before the edit, so that a process which dies in between leaves this to
        be done again, and after it, for a check that came in between."""
        known = await self.find_watch(watch_id)
        if known is not None and known.config.selection != config.selection:
            await self.forget_validators(watch_id)
        event = _Config(watch_id, config, whole_milliseconds(next_run_at))
        [(watch, is_other)] = await self._documents.change(_edit, [(watch_id, event)])
        if is_other:
            await self.forget_validators(watch_id)
        return watch

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


def _edit(
    known: Watch | None, event: _Config, now: Now
) -> tuple[Watch | None, tuple[Watch | None, bool]]:
    """Answers the watch, and whether its selection is another."""
    if known is None:
        return None, (None, False)
    watch = edited(known, event.config, now=now.wall, next_run_at=event.next_run_at)
    return watch, (watch, known.config.selection != event.config.selection)


def _remove(
    watch: Watch | None, active: RunState | None, keep: timedelta, now: Now
) -> tuple[Watch | None, RunState | None, bool]:
    if watch is None:
        return None, active, False
    return None, removed(watch, active, now=now.wall, expires_at=now.expiry + keep), True
