"""Start the runs of watches, publish their checks, and end them.

    due -> start_run -> publish a check for each URL -> ... all pages have an outcome -> finish_run
                                                                            -> create notifications
One scheduler does this at a time. If it dies, or two do it at once, a check is published twice, and
the run counts the page once.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar

from webloom.application.started import Started, started
from webloom.application.watch.check_page import PageCheck
from webloom.domain.errors import WebloomError
from webloom.domain.page import CHECK_QUEUE
from webloom.domain.schedule import LONGEST_BACKOFF
from webloom.domain.watch import (
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

# Runs that one poll advances, oldest first; and more if nearly all of those just wait, for example
# because their host asked for a long pause. No more runs than these are in progress: other due
# watches wait, because a poll takes longer the more runs there are.
RUNS_PER_POLL = (300, 2000, 10_000)
MOST_STARTS = 500  # per poll
LONG_POLL_PAUSE = 9  # pause after a poll of more runs than the first number, times its duration
# After which missing checks are published again; a server may ask for a pause of an hour.
FORGOTTEN = timedelta(hours=2)
LONGEST_SILENCE = timedelta(hours=12)  # of a run, after which missing pages count as failed
LONGEST_IDLE = timedelta(hours=1)  # of a run that events opened, after which it is closed
IDLE_POLL_SECONDS = 60.0  # between two polls for idle runs
CLOSED_AT_ONCE = 200  # idle runs
PUBLISHED_AT_ONCE = 500
CONCURRENCY = 50  # runs; MongoDB's 100 connections are shared by the whole process


@dataclass(frozen=True, kw_only=True, slots=True)
class StartRun:
    watches: Watches
    runs: WatchRuns

    async def __call__(
        self, watch_id: str, trigger: str, *, due: datetime | None = None
    ) -> Started[WatchRun] | None:
        """None: there is no such watch, or it is not due by `due`. Raises WatchRefused for an
        external watch, which has nothing to check."""
        if due is None and (watch := await self.watches.find_watch(watch_id)) is not None:
            refuse_external(watch)
        run_id = uuid.uuid4().hex
        new = NewRun(run_id=run_id, trigger=trigger, due=due)
        run = await self.runs.start_run(watch_id, new)
        return started(run, run_id)


@dataclass(kw_only=True, slots=True)
class RunWatches:
    watches: Watches
    runs: WatchRuns
    broker: Broker
    clock: Clock
    cron: Cron
    after_run: Callable[[Watch, WatchRun], Awaitable[None]]  # may be repeated for one run
    is_restoring: Callable[[], Awaitable[bool]]  # then no watch is due
    _no_long_poll_before: float = field(default=0.0, init=False)  # on the steady clock
    _next_idle_poll: float = field(default=0.0, init=False)  # on the steady clock

    async def __call__(self) -> int:
        """One poll; returns how many runs are in progress. Raises Unavailable."""
        now = self.clock.now()
        await self._close_idle_runs(now)
        limit = RUNS_PER_POLL[0]
        active, has_room = await self._poll(limit, now)
        began = self.clock.steady()
        if has_room or began < self._no_long_poll_before:
            return active
        for limit in RUNS_PER_POLL[1:]:
            active, has_room = await self._poll(limit, now)
            if has_room:
                break
        ended = self.clock.steady()
        self._no_long_poll_before = ended + LONG_POLL_PAUSE * (ended - began)
        return active

    async def _close_idle_runs(self, now: datetime) -> None:
        if self.clock.steady() < self._next_idle_poll:
            return
        closed = await self.runs.close_idle_runs(now - LONGEST_IDLE, limit=CLOSED_AT_ONCE)
        if closed < CLOSED_AT_ONCE:  # else the next poll goes on
            self._next_idle_poll = self.clock.steady() + IDLE_POLL_SECONDS
        if closed:
            log.info("closed idle runs of other programs' events", extra={"runs": closed})

    async def _poll(self, limit: int, now: datetime) -> tuple[int, bool]:
        """Advance `limit` runs: how many there are, and whether there is room for due watches, or
        will be soon."""
        active = await self.runs.active_runs(limit=limit)
        room = limit - len(active)
        due = await self.watches.due_watches(now, limit=min(room, MOST_STARTS)) if room else []
        if due and await self.is_restoring():  # looked at after the watches, which it may have put
            due = []
        active += filter(None, await _all(self._start(each, now) for each in due))
        moved = sum(await _all(self._advance(each, now) for each in active))
        return len(active), room > 0 or moved >= limit // 10

    async def _start(self, watch: Watch, now: datetime) -> ActiveRun | None:
        """None: another scheduler started it, or it is no longer due."""
        started = await StartRun(watches=self.watches, runs=self.runs)(
            watch.watch_id, "schedule", due=now
        )
        if started is None or not started.is_new:
            return None
        log.info("a watch is due", extra={"watch_id": watch.watch_id})
        return ActiveRun(run=started.run, watch=watch, published_at=None)

    async def _advance(self, each: ActiveRun, now: datetime) -> bool:
        """Whether anything was done."""
        run = each.run
        is_done = run.pages_total is not None and run.tally.processed >= run.pages_total
        if is_done:  # other programs may have sent events for other pages
            is_done = not await self.runs.unchecked(run.run_id)
        if is_done or now - max(run.started_at, run.updated_at) > LONGEST_SILENCE:
            await self._finish(each, now)
            return True
        if self._wants_checks(each, now) and await self._publish(run):
            await self.runs.note_published(run.run_id, now)
            return True
        return False

    def _wants_checks(self, each: ActiveRun, now: datetime) -> bool:
        """Also after a long silence, although messages are never lost."""
        if each.published_at is None:
            return True
        return now - max(each.run.updated_at, each.published_at) > FORGOTTEN

    async def _publish(self, run: WatchRun) -> bool:
        """False: the queue is full; the rest follows at the next poll."""
        urls = await self.runs.unchecked(run.run_id)
        for start in range(0, len(urls), PUBLISHED_AT_ONCE):
            messages = [
                PageCheck(run_id=run.run_id, watch_id=run.watch_id, url=url).message
                for url in urls[start : start + PUBLISHED_AT_ONCE]
            ]
            if None in await self.broker.publish_many(CHECK_QUEUE, messages):
                return False
        return True

    async def _finish(self, each: ActiveRun, now: datetime) -> None:
        watch, tally = each.watch, each.run.tally
        is_failed = tally.processed == tally.failed  # missing pages count as failed
        failures = watch.failures + 1 if is_failed else 0
        await self.after_run(watch, each.run)
        next_run = NextRun(self._next_run(watch, failures, now), instead_of=watch.next_run_at)
        run = await self.runs.finish_run(each.run.run_id, next_run)
        if run is None:
            return
        is_failed = run.status is RunStatus.FAILED
        fields: dict[str, object] = {"watch_id": watch.watch_id, "run_id": run.run_id}
        fields |= asdict(run.tally)
        if run.failures:
            fields |= {"failed_url": run.failures[0].url, "error": run.failures[0].reason}
        log.log(logging.WARNING if is_failed else logging.INFO, "a watch was checked", extra=fields)

    def _next_run(self, watch: Watch, failures: int, now: datetime) -> datetime | None:
        """A schedule that was valid on another machine may not be here."""
        try:
            return next_run(
                watch.config, now=now, failures=failures, jitter=jitter(), next_match=self.cron
            )
        except ValueError as error:
            fields = {"watch_id": watch.watch_id, "error": str(error)}
            log.error("a watch's schedule is not valid: trying again in a day", extra=fields)
            return now + LONGEST_BACKOFF


async def _all(actions: Iterable[Awaitable[Result]]) -> list[Result]:
    """Concurrently. An unavailable store is raised after all have ended; any other error is logged,
    so that one watch does not stop the others."""
    turns = asyncio.Semaphore(CONCURRENCY)

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
            log.error("unexpected error in the run of a watch", exc_info=each)
    return done
