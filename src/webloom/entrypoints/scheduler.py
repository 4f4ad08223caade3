"""The scheduler: what must happen from time to time, and the imports of feeds."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace

from webloom.application.imports.run_import import RunImport
from webloom.application.lease import Lease
from webloom.application.shortage import shortage
from webloom.application.watch.send_notifications import SendNotifications
from webloom.bootstrap.network import spool_room
from webloom.bootstrap.services import Services
from webloom.bootstrap.use_cases import open_notifications, open_run_import, run_watches
from webloom.domain.errors import Unavailable
from webloom.domain.exhaustion import exhaustion_in
from webloom.domain.import_run import ImportRun
from webloom.domain.politeness import busy_hosts
from webloom.entrypoints.heartbeat import beating, first_beat
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
        seconds = {LOCK: 2 * TICK_SECONDS, WATCH_LOCK: WATCH_SECONDS, TELL_LOCK: TELL_LEASE}
        leases = {
            name: Lease(services.lock, name, beat.process_id, seconds[name]) for name in seconds
        }
        watcher = _Watcher(services, notifications, leases, stop)
        pruner = _Pruner(services)
        async with asyncio.TaskGroup() as group:
            for regularly in (
                lambda: _tick(services, leases[LOCK]),
                lambda: _clear_spool(services),
                watcher.gather,
            ):
                group.create_task(_again_and_again(regularly, stop, TICK_SECONDS))
            group.create_task(_again_and_again(pruner.prune, stop, PRUNE_SECONDS))
            group.create_task(_again_and_again(room.look, stop, SPOOL_SECONDS))
            group.create_task(producer.run(stop))
            group.create_task(_again_and_again(watcher.attend, stop, LOOK_SECONDS))
            group.create_task(_again_and_again(watcher.tell, stop, TELL_SECONDS))
        for lease in leases.values():
            await lease.release()
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


async def _tick(services: Services, lease: Lease) -> None:
    if not await lease.hold():
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
        self._prune_pages = services.prune_pages
        self._room = services.room
        self._due = 0.0  # on the event loop's clock

    async def prune(self) -> None:
        now = asyncio.get_running_loop().time()
        if now < self._due and not self._room.is_scarce:
            return
        self._due = now + TICK_SECONDS
        if removed := await self._prune_pages():
            log.info("removed what has expired", extra={"items": removed})


class _Watcher:
    """Attends the runs of watches, and tells people of them. Of many schedulers, the one that
    holds the lock acts."""

    def __init__(
        self,
        services: Services,
        notifications: SendNotifications,
        leases: dict[str, Lease],
        stop: asyncio.Event,
    ) -> None:
        self._run_watches = run_watches(services, notifications)
        self._notifications = notifications
        self._watching, self._telling = leases[WATCH_LOCK], leases[TELL_LOCK]
        self._stop = stop

    async def attend(self) -> None:
        if await self._watching.hold():
            await self._run_watches()

    async def tell(self) -> None:
        await self._telling.during(lambda: self._notifications.send_due(self._stop))

    async def gather(self) -> None:
        """Seldom, so that what comes one by one is told in few messages."""
        await self._telling.during(self._notifications.after_late_events)


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
            claim = await self._run_import.claim(
                f"{self._owner}.{self._claims}",
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
