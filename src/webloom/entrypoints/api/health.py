"""/health: how this installation is doing."""

from __future__ import annotations

from dataclasses import replace

from webloom import __version__
from webloom.application.overview.facts import Backend, Facts
from webloom.application.overview.troubles import (
    exhausted,
    missing_scheduler,
    no_room_for_feeds,
    status,
)
from webloom.bootstrap.use_cases import gather_facts
from webloom.domain.inventory import METADATA_QUEUE
from webloom.entrypoints.advice import storage_problems
from webloom.entrypoints.api.context import Context
from webloom.entrypoints.api.openapi import described, router
from webloom.entrypoints.api.requests import InContext
from webloom.entrypoints.api.responses import Json
from webloom.entrypoints.api.schemas import (
    Alive,
    Dependency,
    Health,
    ProcessHealth,
    QueueHealth,
    filled,
)
from webloom.ports.heartbeats import ALIVE_SECONDS, SeenProcess
from webloom.settings import Settings

routes = router("/health", "installation")


@routes.head("/live", include_in_schema=False)
@routes.get("/live")
async def get_liveness() -> Json[Alive]:
    """Check that this process is up. Needs no key."""
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
    health = await health_of(context)
    return Json(health, 503 if health.status == "down" else 200)


async def health_of(context: Context) -> Health:
    services = context.services
    gather, beat = gather_facts(services), services.send_heartbeat.complete(context.beat)
    return _health(await gather.after_writing(beat, await gather()), services.settings)


def _health(facts: Facts, settings: Settings) -> Health:
    needs_store = settings.accepts_into_the_store
    # A full store can be read; `detail` says that it is full.
    is_usable = facts.store.answers or (facts.full is not None and not needs_store)
    processes = [_process(each) for each in facts.processes]
    queues = {queue.name: queue for queue in facts.queues if queue.ready is not None}
    missing = exhausted(facts.alive)
    return Health(
        status=status(facts, needs_store=needs_store),
        version=__version__,
        dependencies=[
            _dependency(replace(facts.store, answers=is_usable)),
            *(_dependency(each) for each in facts.brokers),
        ],
        storage=next(storage_problems(facts), None),
        scheduler=missing_scheduler(facts),
        resources=None if missing is None else str(missing),
        imports=no_room_for_feeds(facts.alive),
        queues=[
            filled(QueueHealth, queues[name]) for name in settings.broker_urls if name in queues
        ],
        workers=[each for each in processes if each.role == "worker"],
        others=[each for each in processes if each.role != "worker"],
    )


def _dependency(backend: Backend) -> Dependency:
    return filled(
        Dependency,
        backend,
        backend.connection,
        name="broker" if METADATA_QUEUE in backend.queues else backend.name,
        state="up" if backend.answers else "down",
        connection=backend.connection.state,
        detail=backend.problem or backend.connection.detail,
        queues=list(backend.queues) or None,
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
