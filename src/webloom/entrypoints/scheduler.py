"""The scheduler: recurring maintenance, imports of feeds, runs of watches, notifications."""

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

LOCK, WATCH_LOCK, NOTIFY_LOCK = "scheduler", "watches", "notices"
TICK_SECONDS = 60.0
LOOK_SECONDS = 0.25  # how soon a requested import begins
WATCH_SECONDS = 15.0  # for which a scheduler has the watches
SPOOL_SECONDS = 5.0  # between two checks of its room, when no import needs it
PRUNE_SECONDS = 2.0  # between two rounds, while room is scarce
NOTIFY_SECONDS = 5.0
NOTIFY_LEASE = 20.0  # after which another scheduler notifies, when one has died
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
        seconds = {LOCK: 2 * TICK_SECONDS, WATCH_LOCK: WATCH_SECONDS, NOTIFY_LOCK: NOTIFY_LEASE}
        leases = {
            name: Lease(services.lock, name, beat.process_id, seconds[name]) for name in seconds
        }
        watcher = _Watcher(services, notifications, leases, stop)
        pruner = _Pruner(services)
        async with asyncio.TaskGroup() as group:
            for regularly in (
                lambda: _tick(services, leases[LOCK]),
                lambda: _clear_spool(services),
                _unless_restoring(services, watcher.notify_late),
            ):
                group.create_task(_repeat(regularly, stop, TICK_SECONDS))
            group.create_task(_repeat(pruner.prune, stop, PRUNE_SECONDS))
            group.create_task(_repeat(room.look, stop, SPOOL_SECONDS))
            group.create_task(producer.run(stop))
            run_watches = _unless_restoring(services, watcher.run)
            group.create_task(_repeat(run_watches, stop, LOOK_SECONDS))
            group.create_task(_repeat(watcher.notify, stop, NOTIFY_SECONDS))
        for lease in leases.values():
            await lease.release()
    log.info("scheduler stopped")


def _unless_restoring(
    services: Services, action: Callable[[], Awaitable[None]]
) -> Callable[[], Awaitable[None]]:
    """What would see half of a dump."""
    restore = services.restore

    async def act() -> None:
        if not await restore.is_unfinished():
            await action()

    return act


async def _repeat(action: Callable[[], Awaitable[None]], stop: asyncio.Event, pause: float) -> None:
    trouble = ""
    while not stop.is_set():
        try:
            await action()
            trouble = ""
            shortage.end(action)
        except Exception as error:
            if found := exhaustion_in(error):
                shortage.begin(action, found.exhausted)
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
    if edited := await services.make_searchable():
        log.info("an earlier version has edited watches or feeds", extra={"items": edited})


async def _clear_spool(services: Services) -> None:
    if removed := await services.clear_spool():
        log.info("removed files of imports that have ended", extra={"files": removed})


class _Pruner:
    """Prunes from time to time, and as often as it is called while room is scarce. What has not
    expired stays until a restore is complete."""

    def __init__(self, services: Services) -> None:
        self._prune_pages = services.prune_pages
        self._room = services.room
        self._is_restoring = services.restore.is_unfinished
        self._due = 0.0  # on the event loop's clock

    async def prune(self) -> None:
        now = asyncio.get_running_loop().time()
        if now < self._due and not self._room.is_scarce:
            return
        self._due = now + TICK_SECONDS
        if removed := await self._prune_pages(expired_only=await self._is_restoring()):
            log.info("removed what has expired", extra={"items": removed})


class _Watcher:
    """Runs watches and sends notifications, while this scheduler holds the lock."""

    def __init__(
        self,
        services: Services,
        notifications: SendNotifications,
        leases: dict[str, Lease],
        stop: asyncio.Event,
    ) -> None:
        self._run_watches = run_watches(services, notifications)
        self._notifications = notifications
        self._watching, self._notifying = leases[WATCH_LOCK], leases[NOTIFY_LOCK]
        self._stop = stop

    async def run(self) -> None:
        if await self._watching.hold():
            await self._run_watches()

    async def notify(self) -> None:
        await self._notifying.during(lambda: self._notifications.send_due(self._stop))

    async def notify_late(self) -> None:
        """Seldom, so that events that arrive one by one share a message."""
        await self._notifying.during(self._notifications.after_late_events)


class _Producer:
    """Starts the imports that are due and runs those that no process has. Every scheduler may: the
    store gives one run to a feed, and one producer to a run. The feeds of one host get half of this
    scheduler's slots; others wait in the store."""

    def __init__(self, services: Services, run_import: RunImport, owner: str) -> None:
        self._services = services
        self._run_import = run_import
        self._owner = owner
        self._runs: dict[asyncio.Task[ImportRun | None], str] = {}  # -> the feed's host
        self._claims = 0  # an owner has one claim

    async def run(self, stop: asyncio.Event) -> None:
        try:
            await _repeat(_unless_restoring(self._services, self._look), stop, LOOK_SECONDS)
        finally:
            for task in self._runs:
                task.cancel()  # another scheduler continues with them, or this one when it is back
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
            log.error("an import failed; another scheduler resumes it", exc_info=error)
