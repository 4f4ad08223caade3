"""/health and /metrics: how this installation is doing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from prometheus_client import CollectorRegistry, Gauge, Histogram, generate_latest
from starlette.responses import Response

from webloom import __version__
from webloom.bootstrap import Services
from webloom.domain.errors import Unavailable
from webloom.domain.inventory import METADATA_QUEUE
from webloom.entrypoints.api.answers import answer
from webloom.entrypoints.api.schemas import (
    Alive,
    Dependency,
    Health,
    ProcessHealth,
    QueueHealth,
)
from webloom.entrypoints.heartbeat import ALIVE_SECONDS
from webloom.ports.broker import QueueDepth
from webloom.ports.heartbeats import Heartbeat, SeenProcess

PROBE_SECONDS = 2.0
SHOWN_SECONDS = 300.0  # how long a process that is gone stays in the answer


class HealthRoutes:
    def __init__(self, services: Services, beat: Heartbeat, registry: CollectorRegistry) -> None:
        self._services = services
        self._beat = beat
        self._registry = registry

    async def live(self) -> Response:
        """This process answers. Needs no key."""
        return answer(Alive())

    async def ready(self) -> Response:
        """200 when requests can be accepted, else 503."""
        health = await self._health()
        return answer(health, 503 if health.status == "down" else 200)

    async def health(self) -> Response:
        """Every dependency and its state, the depth of each queue, the workers' heartbeats."""
        health = await self._health()
        return answer(health, 503 if health.status == "down" else 200)

    async def metrics(self) -> Response:
        """For Prometheus."""
        text = generate_latest(self._registry) + generate_latest(await self._state_registry())
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    async def _health(self) -> Health:
        services = self._services
        (store, _), (broker, depth), (_, seen) = await asyncio.gather(
            _probe("store", lambda: services.heartbeats.beat(self._beat)),
            _probe("broker", lambda: services.broker.depth(METADATA_QUEUE)),
            _probe("heartbeats", lambda: services.heartbeats.seen(SHOWN_SECONDS)),
        )
        processes = [_process(each) for each in seen or []]
        workers = [each for each in processes if each.role == "worker"]
        status = "ok"
        if store.state == "down" or broker.state == "down":
            status = "down"
        elif not any(worker.alive for worker in workers):
            status = "degraded"
        return Health(
            status=status,
            version=__version__,
            dependencies=[store, broker],
            queues=[self._queue(depth)] if depth else [],
            workers=workers,
            others=[each for each in processes if each.role != "worker"],
        )

    def _queue(self, depth: QueueDepth) -> QueueHealth:
        return QueueHealth(
            name=METADATA_QUEUE,
            limit=self._services.settings.queue_limit,
            ready=depth.ready,
            delayed=depth.delayed,
            in_flight=depth.in_flight,
            dead=depth.dead,
        )

    async def _state_registry(self) -> CollectorRegistry:
        """What the store and the broker say now, for all processes together."""
        registry = CollectorRegistry()
        health = await self._health()
        up = Gauge("webloom_dependency_up", "1 when it answers", ["name"], registry=registry)
        for dependency in health.dependencies:
            up.labels(dependency.name).set(dependency.state == "up")
        messages = Gauge(
            "webloom_queue_messages", "Messages by state", ["queue", "state"], registry=registry
        )
        for queue in health.queues:
            for state in ("ready", "delayed", "in_flight", "dead"):
                messages.labels(queue.name, state).set(getattr(queue, state))
        attempts = Gauge(
            "webloom_worker_attempts",
            "Attempts that a worker has ended since its start",
            ["worker", "outcome"],
            registry=registry,
        )
        busy = Gauge(
            "webloom_worker_in_flight", "Fetches running now", ["worker"], registry=registry
        )
        for worker in health.workers:
            if worker.alive:
                name = f"{worker.host}:{worker.pid}"
                busy.labels(name).set(worker.in_flight)
                for outcome in ("completed", "retried", "failed"):
                    attempts.labels(name, outcome).set(getattr(worker, outcome))
        records = Gauge("webloom_records", "Records by status", ["status"], registry=registry)
        _, counts = await _probe("store", self._services.store.count_by_status)
        for status, count in (counts or {}).items():
            records.labels(status.value).set(count)
        return registry


def request_histogram(registry: CollectorRegistry) -> Histogram:
    return Histogram(
        "webloom_http_request_seconds",
        "Time to answer a request",
        ["method", "route", "status"],
        registry=registry,
        buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
    )


async def _probe(name: str, call: Callable[[], Awaitable[Any]]) -> tuple[Dependency, Any]:
    started = time.perf_counter()
    result, detail = None, None
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            result = await call()
    except TimeoutError:
        detail = f"no answer within {PROBE_SECONDS:.0f} s"
    except Unavailable as error:
        detail = str(error)
    dependency = Dependency(
        name=name,
        kind="sqlite",
        state="up" if detail is None else "down",
        detail=detail,
        milliseconds=round((time.perf_counter() - started) * 1000, 2),
    )
    return dependency, result


def _process(seen: SeenProcess) -> ProcessHealth:
    beat = seen.heartbeat
    return ProcessHealth(
        process_id=beat.process_id,
        role=beat.role,
        host=beat.host,
        pid=beat.pid,
        slots=beat.slots,
        in_flight=beat.in_flight,
        completed=beat.completed,
        retried=beat.retried,
        failed=beat.failed,
        started_at=beat.started_at,
        last_beat_seconds_ago=round(seen.age, 1),
        alive=seen.age <= ALIVE_SECONDS,
    )
