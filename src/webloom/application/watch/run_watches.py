"""Start the runs of watches, put their checks on the queue, and close them.

    due -> start_run -> publish a check for each URL -> ... all pages have an outcome -> finish_run
                                                                                     -> tell people
One scheduler does this at a time. Should it die, or two of them do it at once, a check is published
twice, and the run counts the page once.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar

from webloom.application.watch.check_page import PageCheck
from webloom.domain.errors import WebloomError
from webloom.domain.page import CHECK_QUEUE
from webloom.domain.watch import (
    LONGEST_BACKOFF,
    RunStatus,
    Watch,
    WatchRun,
    next_run,
    refuse_external,
)
from webloom.domain.watch_run import NewRun, NextRun
from webloom.jitter import jitter
from webloom.ports.broker import Broker
from webloom.ports.clock import Clock
from webloom.ports.cron import Cron
from webloom.ports.watch_runs import ActiveRun, WatchRuns
from webloom.ports.watches import Watches

log = logging.getLogger(__name__)

Result = TypeVar("Result")

# Runs that one look attends, the oldest; and more where nearly all of those just wait, as when
# their host asked for a long pause. There are no more runs in progress than are attended: the rest
# of what is due waits as it is, since a look would be as slow as there are runs.
ATTENDED_AT_ONCE = (300, 2000, 10_000)
MOST_AT_ONCE = 500  # runs that one look starts
# A look at more runs than the first is followed by so many times its duration without another.
REST_AFTER_LONG_LOOK = 9
# After which checks that nothing is known of are asked for again; a server may ask for an hour.
FORGOTTEN = timedelta(hours=2)
LONGEST_SILENCE = timedelta(hours=12)  # of a run, after which what is missing counts as failed
LONGEST_IDLE = timedelta(hours=1)  # of a run that events opened, after which it is closed
IDLE_LOOK_SECONDS = 60.0  # between two looks for idle runs
PUBLISHED_AT_ONCE = 500
AT_A_TIME = 50  # runs that are seen to: MongoDB's 100 connections are for all that a process does


@dataclass(frozen=True, kw_only=True, slots=True)
class StartedRun:
    run: WatchRun
    is_new: bool  # False: the watch was being checked already


@dataclass(frozen=True, kw_only=True, slots=True)
class StartRun:
    watches: Watches
    runs: WatchRuns

    async def __call__(
        self, watch_id: str, trigger: str, *, due: datetime | None = None
    ) -> StartedRun | None:
        """None: there is no such watch; or it is not due, where that is asked. Raises WatchRefused
        for an external one, which has nothing to check."""
        if due is None and (watch := await self.watches.find_watch(watch_id)) is not None:
            refuse_external(watch)
        run_id = uuid.uuid4().hex
        new = NewRun(run_id=run_id, trigger=trigger, due=due)
        run = await self.runs.start_run(watch_id, new)
        return None if run is None else StartedRun(run=run, is_new=run.run_id == run_id)


@dataclass(kw_only=True, slots=True)
class RunWatches:
    watches: Watches
    runs: WatchRuns
    broker: Broker
    clock: Clock
    cron: Cron
    after_run: Callable[[Watch, WatchRun], Awaitable[None]]  # may be repeated for one run
    _rests_until: float = field(default=0.0, init=False)  # on the steady clock
    _next_idle_look: float = field(default=0.0, init=False)  # on the steady clock

    async def __call__(self) -> int:
        """One look; how many runs there are to attend. Raises Unavailable."""
        now = self.clock.now()
        await self._close_idle_runs(now)
        limit = ATTENDED_AT_ONCE[0]
        attended, has_room = await self._look(limit, now)
        began = self.clock.steady()
        if has_room or began < self._rests_until:
            return attended
        for limit in ATTENDED_AT_ONCE[1:]:
            attended, has_room = await self._look(limit, now)
            if has_room:
                break
        ended = self.clock.steady()
        self._rests_until = ended + REST_AFTER_LONG_LOOK * (ended - began)
        return attended

    async def _close_idle_runs(self, now: datetime) -> None:
        if self.clock.steady() < self._next_idle_look:
            return
        self._next_idle_look = self.clock.steady() + IDLE_LOOK_SECONDS
        if closed := await self.runs.close_idle_runs(now - LONGEST_IDLE):
            log.info("closed idle runs of other programs' events", extra={"runs": closed})

    async def _look(self, limit: int, now: datetime) -> tuple[int, bool]:
        """At so many runs: how many there are, and whether those leave room for what is due, or
        will soon."""
        attended = await self.runs.active_runs(limit=limit)
        room = limit - len(attended)
        due = await self.watches.due_watches(now, limit=min(room, MOST_AT_ONCE)) if room else []
        attended += filter(None, await _all(self._start(each, now) for each in due))
        moved = sum(await _all(self._attend(each, now) for each in attended))
        return len(attended), room > 0 or moved >= limit // 10

    async def _start(self, watch: Watch, now: datetime) -> ActiveRun | None:
        """None: another has started it, or it is not due any more."""
        started = await StartRun(watches=self.watches, runs=self.runs)(
            watch.watch_id, "schedule", due=now
        )
        if started is None or not started.is_new:
            return None
        log.info("a watch is due", extra={"watch_id": watch.watch_id})
        return ActiveRun(run=started.run, watch=watch, published_at=None)

    async def _attend(self, each: ActiveRun, now: datetime) -> bool:
        """Whether there was something to do."""
        run = each.run
        is_done = run.pages_total is not None and run.tally.processed >= run.pages_total
        if is_done:  # others may have sent events of pages that are not the run's
            is_done = not await self.runs.unchecked(run.run_id)
        if is_done or now - max(run.started_at, run.updated_at) > LONGEST_SILENCE:
            await self._finish(each, now)
            return True
        if self._wants_checks(each, now) and await self._publish(run):
            await self.runs.note_published(run.run_id, now)
            return True
        return False

    def _wants_checks(self, each: ActiveRun, now: datetime) -> bool:
        """Also when nothing was heard of the run for long, though a message is never lost."""
        if each.published_at is None:
            return True
        return now - max(each.run.updated_at, each.published_at) > FORGOTTEN

    async def _publish(self, run: WatchRun) -> bool:
        """False: the queue is full; the rest follows at the next look."""
        urls = await self.runs.unchecked(run.run_id)
        for start in range(0, len(urls), PUBLISHED_AT_ONCE):
            messages = [
                PageCheck(run_id=run.run_id, job_id=run.watch_id, url=url).message
                for url in urls[start : start + PUBLISHED_AT_ONCE]
            ]
            if None in await self.broker.publish_many(CHECK_QUEUE, messages):
                return False
        return True

    async def _finish(self, each: ActiveRun, now: datetime) -> None:
        watch, tally = each.watch, each.run.tally
        is_failed = tally.processed == tally.failed  # what is missing counts as failed
        failures = watch.failures + 1 if is_failed else 0
        await self.after_run(watch, each.run)
        next_run = NextRun(self._next_run(watch, failures, now), instead_of=watch.next_run_at)
        run = await self.runs.finish_run(each.run.run_id, next_run)
        if run is not None and run.status is RunStatus.FAILED:
            log.warning("no page of a watch could be checked", extra={"watch_id": watch.watch_id})

    def _next_run(self, watch: Watch, failures: int, now: datetime) -> datetime | None:
        """A schedule that was valid when the watch was saved may not be on this machine."""
        try:
            return next_run(
                watch.config, now=now, failures=failures, jitter=jitter(), next_match=self.cron
            )
        except ValueError as error:
            fields = {"watch_id": watch.watch_id, "error": str(error)}
            log.error("a watch's schedule is not valid: trying again in a day", extra=fields)
            return now + LONGEST_BACKOFF


async def _all(actions: Iterable[Awaitable[Result]]) -> list[Result]:
    """Many at the same time; one that fails does not keep the others from their end, and one watch
    that nobody foresaw does not stop all."""
    turns = asyncio.Semaphore(AT_A_TIME)

    async def in_turn(action: Awaitable[Result]) -> Result:
        async with turns:
            return await action

    results = await asyncio.gather(*map(in_turn, actions), return_exceptions=True)
    done: list[Result] = []
    for each in results:
        if not isinstance(each, BaseException):
            done.append(each)
        elif isinstance(each, WebloomError) or not isinstance(each, Exception):
            raise each
        else:
            log.error("a watch can't be attended", exc_info=each)
    return done
