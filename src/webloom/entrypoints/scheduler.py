"""The scheduler: what must happen from time to time, and the imports of feeds."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace

from webloom.application.imports.run_import import RunImport
from webloom.application.shortage import shortage
from webloom.application.watch.send_notifications import SendNotifications
from webloom.bootstrap import (
    Services,
    open_notifications,
    open_run_import,
    run_watches,
    spool_room,
)
from webloom.domain.errors import Unavailable
from webloom.domain.exhaustion import exhaustion_in
from webloom.domain.import_run import ImportRun
from webloom.domain.politeness import busy_hosts
from webloom.entrypoints.heartbeat import beating, first_beat
from webloom.entrypoints.lease import while_holding
from webloom.parsing.web_url import host_of

log = logging.getLogger(__name__)

LOCK, WATCH_LOCK, TELL_LOCK = "scheduler", "watches", "notices"
TICK_SECONDS = 60.0
LOOK_SECONDS = 0.25  # how soon an import that was asked for begins
WATCH_SECONDS = 15.0  # for which a scheduler has the watches
SPOOL_SECONDS = 5.0  # between two looks at its room, when no import asks for it
PRUNE_SECONDS = 2.0  # between two rounds, while room is scarce
TELL_SECONDS = 5.0
TELL_LEASE = 20.0  # after which others tell people, when a scheduler has died
MOST_RUNS = 8  # that one scheduler carries out at a time


async def run_scheduler(services: Services, stop: asyncio.Event) -> None:
    beat = first_beat(services, "scheduler")
    room = spool_room(services.settings)
    log.info("scheduler started")
    async with (
        beating(services, beat, lambda beat: replace(beat, imports_wait=room.full)),
        open_run_import(services, room) as run_import,
        open_notifications(services) as notifications,
    ):
        producer = _Producer(services, run_import, beat.process_id)
        watcher = _Watcher(services, notifications, beat.process_id, stop)
        pruner = _Pruner(services)
        async with asyncio.TaskGroup() as group:
            for regularly in (
                lambda: _tick(services, beat.process_id),
                lambda: _clear_spool(services),
                watcher.gather,
            ):
                group.create_task(_again_and_again(regularly, stop, TICK_SECONDS))
            group.create_task(_again_and_again(pruner.prune, stop, PRUNE_SECONDS))
            group.create_task(_again_and_again(room.look, stop, SPOOL_SECONDS))
            group.create_task(producer.run(stop))
            group.create_task(_again_and_again(watcher.attend, stop, LOOK_SECONDS))
            group.create_task(_again_and_again(watcher.tell, stop, TELL_SECONDS))
        for lock in (LOCK, WATCH_LOCK, TELL_LOCK):
            with suppress(Unavailable):
                await services.lock.release(lock, beat.process_id)
    log.info("scheduler stopped")


async def _again_and_again(
    action: Callable[[], Awaitable[None]], stop: asyncio.Event, pause: float
) -> None:
    trouble = ""
    while not stop.is_set():
        try:
            await action()
            trouble = ""
            shortage.end(action)
        except Exception as error:
            if exhausted := exhaustion_in(error):
                shortage.begin(action, str(exhausted))
            elif not isinstance(error, Unavailable):
                raise
            elif trouble != str(error):
                trouble = str(error)
                log.warning("a tick failed", extra={"error": trouble})
        with suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await stop.wait()


async def _tick(services: Services, owner: str) -> None:
    """Of many schedulers, the one that holds the lock acts."""
    if await services.lock.acquire(LOCK, owner, 2 * TICK_SECONDS) is None:
        return
    found = await services.requeue_forgotten()
    if found:
        log.warning("put forgotten requests back on the queue", extra={"requests": found})


async def _clear_spool(services: Services) -> None:
    if removed := await services.clear_spool():
        log.info("removed files of imports that have ended", extra={"files": removed})


class _Pruner:
    """Prunes from time to time, and as often as it is called while room is scarce."""

    def __init__(self, services: Services) -> None:
        self._pages = services.pages
        self._room = services.room
        self._due = 0.0  # on the event loop's clock

    async def prune(self) -> None:
        now = asyncio.get_running_loop().time()
        if now < self._due and not self._room.is_scarce:
            return
        self._due = now + TICK_SECONDS
        if removed := await self._pages.prune():
            log.info("removed what has expired", extra={"items": removed})


class _Watcher:
    """Attends the runs of watches, and tells people of them. Of many schedulers, the one that
    holds the lock acts."""

    def __init__(
        self, services: Services, notifications: SendNotifications, owner: str, stop: asyncio.Event
    ) -> None:
        self._lock = services.lock
        self._run_watches = run_watches(services, notifications)
        self._notifications = notifications
        self._owner = owner
        self._stop = stop
        self._ours_until = 0.0  # on the event loop's clock

    async def attend(self) -> None:
        if await self._has_lease():
            await self._run_watches()

    async def _has_lease(self) -> bool:
        """To renew it at every look would be most of what an idle scheduler does."""
        now = asyncio.get_running_loop().time()
        if now < self._ours_until - WATCH_SECONDS / 2:
            return True
        is_ours = await self._lock.acquire(WATCH_LOCK, self._owner, WATCH_SECONDS) is not None
        self._ours_until = now + WATCH_SECONDS if is_ours else 0.0
        return is_ours

    async def tell(self) -> None:
        await self._as_teller(lambda: self._notifications.send_due(self._stop))

    async def gather(self) -> None:
        """Seldom, so that what comes one by one is told in few messages."""
        await self._as_teller(self._notifications.gather_late)

    async def _as_teller(self, action: Callable[[], Awaitable[object]]) -> None:
        await while_holding(self._lock, TELL_LOCK, self._owner, TELL_LEASE, action)


class _Producer:
    """Starts the imports that are due and carries out those that nobody does. Every scheduler
    may: the store gives one run to a feed, and one producer to a run. The feeds of one host get
    half of this scheduler's slots; what is beyond waits in the store."""

    def __init__(self, services: Services, run_import: RunImport, owner: str) -> None:
        self._services = services
        self._run_import = run_import
        self._owner = owner
        self._runs: dict[asyncio.Task[ImportRun | None], str] = {}  # -> the feed's host
        self._claims = 0  # an owner has one claim

    async def run(self, stop: asyncio.Event) -> None:
        try:
            await _again_and_again(self._look, stop, LOOK_SECONDS)
        finally:
            for task in self._runs:
                task.cancel()  # another scheduler goes on with them, or this one when it is back
            if self._runs:
                await asyncio.wait(self._runs)

    async def _look(self) -> None:
        for feed, started in await self._services.start_import.due():
            if started.is_new:
                log.info("an import is due", extra={"source_url": feed.config.url})
        while len(self._runs) < MOST_RUNS:
            claim = await self._services.imports.runs.claim(
                f"{self._owner}.{self._claims}",
                lease=self._services.settings.lease,
                busy_hosts=busy_hosts(self._runs.values(), MOST_RUNS),
            )
            if claim is None:
                return
            self._claims += 1
            task = asyncio.create_task(self._run_import(claim))
            self._runs[task] = host_of(claim.feed.config.fetch_url)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[ImportRun | None]) -> None:
        self._runs.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("an import is left until its lease has run out", exc_info=error)
