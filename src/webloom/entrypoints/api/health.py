"""/health and /metrics: how this installation is doing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Generic, TypeVar

from prometheus_client import CollectorRegistry, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.responses import Response

from webloom import __version__
from webloom.application.overview import caching
from webloom.application.overview.exhausted import exhausted
from webloom.application.overview.missing_scheduler import Waiting, missing_scheduler
from webloom.application.overview.room_for_feeds import no_room_for_feeds
from webloom.application.overview.serving import unserved
from webloom.bootstrap import Services, queue_limits
from webloom.domain.import_run import IMPORT_QUEUE
from webloom.domain.inventory import METADATA_QUEUE
from webloom.domain.network_policy import RefusalReason
from webloom.domain.page import CHECK_QUEUE
from webloom.entrypoints.api.answers import answer
from webloom.entrypoints.api.schemas import (
    Alive,
    Dependency,
    Health,
    ProcessHealth,
    QueueHealth,
)
from webloom.entrypoints.heartbeat import as_it_is
from webloom.ports.broker import QueueDepth
from webloom.ports.connection import BrokerLink, Connected
from webloom.ports.heartbeats import ALIVE_SECONDS, Heartbeat, SeenProcess

Result = TypeVar("Result")
STORAGE_FULL = (
    "full: nothing new is stored of watched pages, and nothing superseded is left to prune. "
    "Raise WEBLOOM_STORAGE_BUDGET, or remove watches and their pages"
)
SHOWN_SECONDS = 300.0  # how long a process that is gone stays in the answer


class HealthRoutes:
    def __init__(self, services: Services, beat: Heartbeat, registry: CollectorRegistry) -> None:
        self._services = services
        self._beat = beat
        self._registry = registry
        self._queues = [METADATA_QUEUE, IMPORT_QUEUE, services.settings.input_queue, CHECK_QUEUE]

    async def live(self) -> Response:
        """This process answers. Needs no key."""
        return answer(Alive())

    async def ready(self) -> Response:
        """200 when URLs can be accepted, else 503."""
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
        store, seen, full, brokers = await asyncio.gather(
            self._store(),
            _ask(lambda: services.heartbeats.seen(SHOWN_SECONDS)),
            _ask(services.pages.is_full),
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
            _ask(self._services.imports.feeds.all), _ask(self._services.watches.count_watches)
        )
        if feeds.result is None or watches.result is None:
            return None
        return missing_scheduler(Waiting.of(feeds.result, watches.result), roles)

    async def _store(self) -> Dependency:
        services = self._services
        asked = await _ask(lambda: services.heartbeats.beat(as_it_is(services, self._beat)))
        shown = _dependency("store", services.store_link, asked)
        if services.room.full and not services.settings.accepts_into_the_store:
            shown.state = "up"  # it can be read; `detail` says that it is full
        return shown

    async def _broker(self, link: BrokerLink) -> tuple[Dependency, list[QueueHealth]]:
        shown = [name for name in self._queues if name in link.queues]
        first, *others = shown or link.queues[:1]
        asked = await _ask(lambda: self._services.broker.depth(first))
        depths = [(first, asked.result)]
        if asked.result is not None:  # else the others would be waited for in vain
            depths += [(name, await self._depth(name)) for name in others]
        name = "broker" if METADATA_QUEUE in link.queues else f"broker of {', '.join(link.queues)}"
        found = [self._queue(name, depth) for name, depth in depths if depth and name in shown]
        return _dependency(name, link.connected, asked, link.queues), found

    async def _depth(self, name: str) -> QueueDepth | None:
        return (await _ask(lambda: self._services.broker.depth(name))).result

    def _queue(self, name: str, depth: QueueDepth) -> QueueHealth:
        settings = self._services.settings
        return QueueHealth(
            name=name,
            limit=queue_limits(settings)[name],
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
                if (count := getattr(queue, state)) is not None:
                    messages.labels(queue.name, state).set(count)
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
        registry.register(_Refusals([*health.workers, *health.others]))
        waiting = Gauge(
            "webloom_imports_wait",
            "1 when there is no room for feeds in the spool",
            registry=registry,
        )
        waiting.set(health.imports is not None)
        records = Gauge("webloom_records", "Records by status", ["status"], registry=registry)
        counts = await _ask(self._services.store.count_by_status)
        for status, count in (counts.result or {}).items():
            records.labels(status.value).set(count)
        await self._tell_imports(registry)
        await self._tell_watches(registry)
        return registry

    async def _tell_imports(self, registry: CollectorRegistry) -> None:
        postings = Gauge("webloom_postings", "Job postings", ["state"], registry=registry)
        feeds = Gauge("webloom_feeds", "Feeds", ["state"], registry=registry)
        counted = await _ask(self._services.imports.postings.count)
        for state, count in zip(("open", "closed"), counted.result or (), strict=False):
            postings.labels(state).set(count)
        known = await _ask(self._services.imports.feeds.all)
        if known.result is not None:
            states = {
                "all": known.result,
                "enabled": [feed for feed in known.result if feed.config.enabled],
                "importing": [feed for feed in known.result if feed.active_run_id],
                "failing": [feed for feed in known.result if feed.failures],
            }
            for state, found in states.items():
                feeds.labels(state).set(len(found))

    async def _tell_watches(self, registry: CollectorRegistry) -> None:
        watches = Gauge("webloom_watches", "Watches", ["state"], registry=registry)
        counted = await _ask(self._services.watches.count_watches)
        if counted.result is not None:
            for state, count in asdict(counted.result).items():
                watches.labels(state).set(count)
        items = Gauge(
            "webloom_storage_items",
            "What is kept of watched pages",
            ["collection"],
            registry=registry,
        )
        size = Gauge("webloom_storage_bytes", "About", ["collection"], registry=registry)
        budget = Gauge("webloom_storage_budget_bytes", "What they may take", registry=registry)
        budget.set(self._services.settings.storage_budget)
        used = await _ask(lambda: self._services.pages.usage(with_superseded=False))
        for each in used.result or ():
            items.labels(each.collection).set(each.items)
            size.labels(each.collection).set(each.bytes)


class _Refusals(Collector):
    """The processes count, and say so in their heartbeats."""

    def __init__(self, processes: list[ProcessHealth]) -> None:
        self._counts: dict[tuple[str, str], int] = {}
        for each in processes:
            if each.alive:  # the roles of one process share their count
                for reason in RefusalReason:
                    key = (f"{each.host}:{each.pid}", reason.value)
                    count = each.refused.get(reason.value, 0)
                    self._counts[key] = max(count, self._counts.get(key, 0))

    def collect(self) -> Iterator[Metric]:
        family = CounterMetricFamily(
            "webloom_gate_refusals",
            "Outgoing connections that the gate refused since the process started",
            labels=["process", "reason"],
        )
        for labels, count in self._counts.items():
            family.add_metric(labels, count)
        yield family


def request_histogram(registry: CollectorRegistry) -> Histogram:
    return Histogram(
        "webloom_http_request_seconds",
        "Time to answer a request",
        ["method", "route", "status"],
        registry=registry,
        buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Asked(Generic[Result]):
    result: Result | None
    problem: str | None
    milliseconds: float


async def _ask(call: Callable[[], Awaitable[Result]]) -> _Asked[Result]:
    started = time.perf_counter()
    result, problem = await caching.probe(call())
    spent = round((time.perf_counter() - started) * 1000, 2)
    return _Asked(result=result, problem=problem, milliseconds=spent)


def _dependency(
    name: str, connected: Connected, asked: _Asked[Any], queues: list[str] | None = None
) -> Dependency:
    connection = connected.connection()
    return Dependency(
        name=name,
        kind=connection.kind,
        address=connection.address,
        state="up" if asked.problem is None else "down",
        connection=connection.state,
        detail=asked.problem or connection.detail,
        milliseconds=asked.milliseconds,
        queues=queues,
    )


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
        queues=list(beat.queues),
        refused=dict(beat.refused),
        exhausted=beat.exhausted,
        last_beat_seconds_ago=round(seen.age, 1),
        alive=seen.age <= ALIVE_SECONDS,
    )
