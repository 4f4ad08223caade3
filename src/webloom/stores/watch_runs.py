from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from webloom.domain.watch import Watch, WatchRun
from webloom.domain.watch_run import (
    NewRun,
    NextRun,
    RunState,
    Started,
    active_run_id,
    closed,
    ended,
    freed,
    last_run_noted,
    repaired,
    started,
)
from webloom.ports.watch_runs import ActiveRun
from webloom.stores.primitives import Documents, Now, Pairs, whole_milliseconds


class FoundRun(NamedTuple):
    state: RunState
    watch: Watch | None  # None: it was removed


class _End(NamedTuple):
    next_run: NextRun | None
    keep: timedelta


class StoredWatchRuns(ABC):
    """The writes of the port `WatchRuns`; a backend adds the queries."""

    def __init__(
        self,
        documents: Documents[RunState],
        starting: Pairs[Watch, RunState],
        ending: Pairs[RunState, Watch],  # runs with their counters and unchecked URLs
        *,
        keep: timedelta,
    ) -> None:
        self._documents = documents
        self._starting = starting
        self._ending = ending
        self._keep = keep

    @abstractmethod
    async def find_run(self, run_id: str) -> WatchRun | None: ...

    @abstractmethod
    async def _watches_to_repair(self) -> Sequence[str]:
        """Watches whose active run is not in progress."""

    @abstractmethod
    async def _in_progress(self, limit: int) -> Sequence[FoundRun]:
        """As `active_runs`, and those whose watch was removed."""

    @abstractmethod
    async def _idle_runs(self, idle_since: datetime, limit: int) -> Sequence[tuple[str, str]]:
        """Runs of events in progress that were last updated by then: watch and run."""

    async def start_run(self, watch_id: str, new: NewRun) -> WatchRun | None:
        answer = Started(None, is_freed=True)
        while answer.is_freed:
            answer = await self._starting.change(
                _start, watch_id, new, second=lambda watch: active_run_id(watch) or new.run_id
            )
        if answer.run is None or answer.run.run_id == new.run_id:
            return answer.run
        # Another run is active; this start may have been made before, and its run is over.
        return await self.find_run(new.run_id) or await self.find_run(answer.run.run_id)

    async def active_runs(self, *, limit: int) -> list[ActiveRun]:
        for watch_id in await self._watches_to_repair():
            await self._starting.change(_repair, watch_id, None, second=active_run_id)
        active = []
        for state, watch in await self._in_progress(limit):
            if watch is None:
                await self._end(state.run.run_id, None)
                continue
            active.append(ActiveRun(run=state.run, watch=watch, published_at=state.published_at))
        return active

    async def note_published(self, run_id: str, at: datetime) -> None:
        await self._documents.change(_note_published, [(run_id, whole_milliseconds(at))])

    async def finish_run(self, run_id: str, next_run: NextRun) -> WatchRun | None:
        at, instead_of = (whole_milliseconds(each) for each in next_run)
        return await self._end(run_id, NextRun(at, instead_of))

    async def _end(self, run_id: str, next_run: NextRun | None) -> WatchRun | None:
        event = _End(next_run, self._keep)
        return await self._ending.change(_finish, run_id, event, second=_watch_id)

    async def close_idle_runs(self, idle_since: datetime, *, limit: int) -> int:
        """The watch is written first: if the process dies in between, the run is found again."""
        idle = await self._idle_runs(idle_since, limit)
        for watch_id, run_id in idle:
            await self._starting.change(_close, watch_id, None, second=_always(run_id))
        return len(idle)


def _watch_id(state: RunState | None) -> str | None:
    return None if state is None else state.run.watch_id


def _always(key: str) -> Callable[[object], str]:
    return lambda _: key


def _start(
    watch: Watch | None, active: RunState | None, new: NewRun, now: Now
) -> tuple[Watch | None, RunState | None, Started]:
    return started(watch, active, new, now.wall)


def _repair(
    watch: Watch | None, active: RunState | None, event: None, now: Now
) -> tuple[Watch | None, RunState | None, None]:
    return (watch, active, None) if watch is None else (*repaired(watch, active), None)


def _note_published(known: RunState | None, at: datetime, now: Now) -> tuple[RunState | None, None]:
    if known is None or (known.published_at is not None and known.published_at >= at):
        return known, None
    return replace(known, published_at=at), None


def _finish(
    state: RunState | None, watch: Watch | None, event: _End, now: Now
) -> tuple[RunState | None, Watch | None, WatchRun | None]:
    if state is None:
        return None, watch, None
    expires_at = now.expiry + event.keep
    state = ended(state, now=now.wall, next_run=event.next_run, expires_at=expires_at)
    return state, None if watch is None else freed(watch, state), state.run


def _close(
    watch: Watch | None, state: RunState | None, event: None, now: Now
) -> tuple[Watch | None, RunState | None, None]:
    if state is None:
        return watch, None, None
    state = closed(state)
    return None if watch is None else last_run_noted(watch, state), state, None
