"""/health: how this installation is doing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from webloom import __version__
from webloom.application.overview import caching
from webloom.application.overview.liveness import (
    Waiting,
    exhausted,
    missing_scheduler,
    no_room_for_feeds,
    unserved,
)
from webloom.bootstrap.brokers import queue_limits
from webloom.bootstrap.services import Services
from webloom.domain.import_run import IMPORT_QUEUE
from webloom.domain.inventory import METADATA_QUEUE
from webloom.domain.page import CHECK_QUEUE
from webloom.entrypoints.api.context import Context
from webloom.entrypoints.api.openapi import described, router
from webloom.entrypoints.api.requests import InContext
from webloom.entrypoints.api.responses import Json
from webloom.entrypoints.api.schemas import (
    STORAGE_FULL,
    Alive,
    Dependency,
    Health,
    ProcessHealth,
    QueueHealth,
    filled,
)
from webloom.ports.broker import QueueDepth
from webloom.ports.connection import BrokerLink, Connected
from webloom.ports.heartbeats import ALIVE_SECONDS, Heartbeat, SeenProcess

Result = TypeVar("Result")
SHOWN_SECONDS = 300.0  # how long a process that is gone stays in the answer


routes = router("/health", "installation")


@routes.head("/live", include_in_schema=False)
@routes.get("/live")
async def get_liveness() -> Json[Alive]:
    """Check that this process answers. Needs no key."""
    return Json(Alive())


@routes.head("/ready", include_in_schema=False)
@routes.get("/ready", responses=described({503: Health}))
async def get_readiness(context: InContext) -> Json[Health]:
    """Check whether URLs can be accepted: 200, else 503."""
    return await _response(context)


@routes.head("", include_in_schema=False)
@routes.get("", responses=described({503: Health}))
async def get_health(context: InContext) -> Json[Health]:
    """Get every dependency and its state, the depth of each queue, the workers' heartbeats."""
    return await _response(context)


async def _response(context: Context) -> Json[Health]:
    health = await HealthReport(context.services, context.beat).health()
    return Json(health, 503 if health.status == "down" else 200)


class HealthReport:
    def __init__(self, services: Services, beat: Heartbeat) -> None:
        self._services = services
        self._beat = beat
        self._queues = [METADATA_QUEUE, IMPORT_QUEUE, services.settings.input_queue, CHECK_QUEUE]

    async def health(self) -> Health:
        services = self._services
        store, seen, full, brokers = await asyncio.gather(
            self._store(),
            ask(lambda: services.heartbeats.seen(SHOWN_SECONDS)),
            ask(services.page_storage.is_full),
            asyncio.gather(*(self._broker(link) for link in services.broker_links)),
        )
        broker, *aside = [dependency for dependency, _ in brokers]
        queues = {queue.name: queue for _, found in brokers for queue in found}
        processes = [_process(each) for each in seen.result or []]
        workers = [each for each in processes if each.role == "worker"]
        no_room = services.room.full
        # A process that can't write its heartbeat may well be alive.
        is_known = seen.result is not None and no_room is None
        scheduler = await self._scheduler(processes) if is_known else None
        alive = [each.heartbeat for each in seen.result or [] if each.age <= ALIVE_SECONDS]
        resources = exhausted(alive)
        imports_wait = no_room_for_feeds(alive)
        waiting = [name for name, queue in queues.items() if queue.ready]
        status = "ok"
        needs_store = services.settings.accepts_into_the_store
        is_store_down = store.state == "down" or no_room is not None
        if broker.state == "down" or (is_store_down and needs_store):
            status = "down"
        elif (
            is_store_down
            or not any(worker.alive for worker in workers)
            or unserved(waiting, alive)
            or any(each.state == "down" for each in aside)
            or full.result
            or scheduler
            or resources
            or imports_wait
        ):
            status = "degraded"
        return Health(
            status=status,
            version=__version__,
            dependencies=[store, broker, *aside],
            storage=f"full: {no_room}" if no_room else STORAGE_FULL if full.result else None,
            scheduler=scheduler,
            resources=resources,
            imports=imports_wait,
            queues=[queues[name] for name in self._queues if name in queues],
            workers=workers,
            others=[each for each in processes if each.role != "worker"],
        )

    async def _scheduler(self, processes: list[ProcessHealth]) -> str | None:
        """What is wrong with it. The stores are asked only while none is alive."""
        roles = {each.role for each in processes if each.alive}
        if "scheduler" in roles:
            return None
        feeds, watches = await asyncio.gather(
            ask(self._services.imports.feeds.all), ask(self._services.watches.count_watches)
        )
        if feeds.result is None or watches.result is None:
            return None
        return missing_scheduler(Waiting.of(feeds.result, watches.result), roles)

    async def _store(self) -> Dependency:
        services = self._services
        outcome = await ask(lambda: services.send_heartbeat(self._beat))
        shown = _dependency("store", services.store_link, outcome)
        if services.room.full and not services.settings.accepts_into_the_store:
            shown.state = "up"  # it can be read; `detail` says that it is full
        return shown

    async def _broker(self, link: BrokerLink) -> tuple[Dependency, list[QueueHealth]]:
        shown = [name for name in self._queues if name in link.queues]
        first, *others = shown or link.queues[:1]
        outcome = await ask(lambda: self._services.broker.depth(first))
        depths = [(first, outcome.result)]
        if outcome.result is not None:  # else the others would be waited for in vain
            depths += [(name, await self._depth(name)) for name in others]
        name = "broker" if METADATA_QUEUE in link.queues else f"broker of {', '.join(link.queues)}"
        found = [self._queue(name, depth) for name, depth in depths if depth and name in shown]
        return _dependency(name, link.connected, outcome, link.queues), found

    async def _depth(self, name: str) -> QueueDepth | None:
        return (await ask(lambda: self._services.broker.depth(name))).result

    def _queue(self, name: str, depth: QueueDepth) -> QueueHealth:
        settings = self._services.settings
        return filled(QueueHealth, depth, name=name, limit=queue_limits(settings)[name])


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome(Generic[Result]):
    result: Result | None
    problem: str | None
    milliseconds: float


async def ask(call: Callable[[], Awaitable[Result]]) -> Outcome[Result]:
    started = time.perf_counter()
    result, problem = await caching.probe(call())
    spent = round((time.perf_counter() - started) * 1000, 2)
    return Outcome(result=result, problem=problem, milliseconds=spent)


def _dependency(
    name: str, connected: Connected, outcome: Outcome[Any], queues: list[str] | None = None
) -> Dependency:
    connection = connected.connection()
    return Dependency(
        name=name,
        kind=connection.kind,
        address=connection.address,
        state="up" if outcome.problem is None else "down",
        connection=connection.state,
        detail=outcome.problem or connection.detail,
        milliseconds=outcome.milliseconds,
        queues=queues,
    )


def _process(seen: SeenProcess) -> ProcessHealth:
    return filled(
        ProcessHealth,
        seen.heartbeat,
        queues=list(seen.heartbeat.queues),
        refused=dict(seen.heartbeat.refused),
        last_beat_seconds_ago=round(seen.age, 1),
        alive=seen.age <= ALIVE_SECONDS,
    )
