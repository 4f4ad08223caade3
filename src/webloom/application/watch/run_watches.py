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
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from webloom.application.persist import spread
from webloom.application.watch.check_page import PageCheck
from webloom.domain.page import CHECK_QUEUE
from webloom.domain.watch import RunStatus, Watch, WatchRun, next_run
from webloom.ports.broker import Broker
from webloom.ports.clock import Clock
from webloom.ports.watch_store import Attended, NewRun, WatchStore

log = logging.getLogger(__name__)

Result = TypeVar("Result")

MOST_AT_ONCE = 100  # runs that one look starts
# Runs that one look attends, the oldest; and more where nearly all of those just wait, as when
# their host asked for a long pause.
ATTENDED_AT_ONCE = (100, 1000, 10_000)
FORGOTTEN = timedelta(minutes=10)  # after which checks that nothing is known of are asked for again
LONGEST_RUN = timedelta(hours=12)  # after which what is missing counts as failed
PUBLISHED_AT_ONCE = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class StartedRun:
    run: WatchRun
    is_new: bool  # False: the watch was being checked already


@dataclass(frozen=True, kw_only=True, slots=True)
class StartRun:
    store: WatchStore

    async def __call__(
        self, watch_id: str, trigger: str, *, due: datetime | None = None
    ) -> StartedRun | None:
        """None: there is no such watch; or it is not due, where that is asked."""
        run_id = uuid.uuid4().hex
        new = NewRun(run_id=run_id, trigger=trigger, due=due)
        run = await self.store.start_run(watch_id, new)
        return None if run is None else StartedRun(run=run, is_new=run.run_id == run_id)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunWatches:
    store: WatchStore
    broker: Broker
    clock: Clock
    after_run: Callable[[Watch, WatchRun], Awaitable[None]]  # may be repeated for one run

    async def __call__(self) -> int:
        """One look; how many runs there are to attend. Raises Unavailable."""
        now = self.clock.now()
        due = await self.store.due_watches(now, limit=MOST_AT_ONCE)
        await _all(self._start(each, now) for each in due)
        for limit in ATTENDED_AT_ONCE:
            attended = await self.store.attended(limit=limit)
            moved = sum(await _all(self._attend(each, now) for each in attended))
            if len(attended) < limit or moved >= limit // 10:
                break
        return len(attended)

    async def _start(self, watch: Watch, now: datetime) -> None:
        started = await StartRun(store=self.store)(watch.watch_id, "schedule", due=now)
        if started is not None and started.is_new:
            log.info("a watch is due", extra={"watch_id": watch.watch_id})

    async def _attend(self, each: Attended, now: datetime) -> bool:
        """Whether there was something to do."""
        run = each.run
        is_done = run.pages_total is not None and run.tally.processed >= run.pages_total
        if is_done or now - run.started_at > LONGEST_RUN:
            await self._finish(each, now)
            return True
        if self._wants_checks(each, now) and await self._publish(run):
            await self.store.note_published(run.run_id, now)
            return True
        return False

    def _wants_checks(self, each: Attended, now: datetime) -> bool:
        """Also when nothing was heard of the run for long, though a message is never lost."""
        if each.published_at is None:
            return True
        return now - max(each.run.updated_at, each.published_at) > FORGOTTEN

    async def _publish(self, run: WatchRun) -> bool:
        """False: the queue is full; the rest follows at the next look."""
        urls = await self.store.unchecked(run.run_id)
        for start in range(0, len(urls), PUBLISHED_AT_ONCE):
            messages = [
                PageCheck(run_id=run.run_id, job_id=run.watch_id, url=url).message
                for url in urls[start : start + PUBLISHED_AT_ONCE]
            ]
            if None in await self.broker.publish_many(CHECK_QUEUE, messages):
                return False
        return True

    async def _finish(self, each: Attended, now: datetime) -> None:
        watch, tally = each.watch, each.run.tally
        is_failed = tally.processed == tally.failed  # what is missing counts as failed
        next_run_at = next_run(
            watch.config,
            now=now,
            failures=watch.failures + 1 if is_failed else 0,
            spread=spread(),
        )
        await self.after_run(watch, each.run)
        run = await self.store.finish_run(each.run.run_id, next_run_at=next_run_at)
        if run is not None and run.status is RunStatus.FAILED:
            log.warning("no page of a watch could be checked", extra={"watch_id": watch.watch_id})


async def _all(actions: Iterable[Awaitable[Result]]) -> list[Result]:
    """At the same time; one that fails does not keep the others from their end."""
    results = await asyncio.gather(*actions, return_exceptions=True)
    done: list[Result] = []
    for each in results:
        if isinstance(each, BaseException):
            raise each
        done.append(each)
    return done
