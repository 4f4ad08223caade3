"""/metrics: counters and states for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from prometheus_client import CollectorRegistry, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.responses import Response

from webloom.bootstrap.services import Services
from webloom.domain.network_policy import RefusalReason
from webloom.entrypoints.api.health import HealthReport, ask
from webloom.entrypoints.api.openapi import described, router
from webloom.entrypoints.api.requests import InContext
from webloom.entrypoints.api.schemas import Health, ProcessHealth

routes = router("/metrics", "installation")


@routes.get("", responses=described({200: "text/plain"}))
async def get_metrics(context: InContext) -> Response:
    """Get metrics in Prometheus's text format."""
    health = await HealthReport(context.services, context.beat).health()
    state = await state_registry(context.services, health)
    text = generate_latest(context.registry) + generate_latest(state)
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


async def state_registry(services: Services, health: Health) -> CollectorRegistry:
    """What the store and the broker say now, for all processes together."""
    registry = CollectorRegistry()
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
    busy = Gauge("webloom_worker_in_flight", "Fetches running now", ["worker"], registry=registry)
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
    counts = await ask(services.store.count_by_status)
    for status, count in (counts.result or {}).items():
        records.labels(status.value).set(count)
    await _add_imports(services, registry)
    await _add_watches(services, registry)
    return registry


async def _add_imports(services: Services, registry: CollectorRegistry) -> None:
    postings = Gauge("webloom_postings", "Job postings", ["state"], registry=registry)
    feeds = Gauge("webloom_feeds", "Feeds", ["state"], registry=registry)
    counted = await ask(services.imports.postings.count)
    for state, count in zip(("open", "closed"), counted.result or (), strict=False):
        postings.labels(state).set(count)
    known = await ask(services.imports.feeds.all)
    if known.result is not None:
        states = {
            "all": known.result,
            "enabled": [feed for feed in known.result if feed.config.enabled],
            "importing": [feed for feed in known.result if feed.active_run_id],
            "failing": [feed for feed in known.result if feed.failures],
        }
        for state, found in states.items():
            feeds.labels(state).set(len(found))


async def _add_watches(services: Services, registry: CollectorRegistry) -> None:
    watches = Gauge("webloom_watches", "Watches", ["state"], registry=registry)
    counted = await ask(services.watches.count_watches)
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
    budget.set(services.settings.storage_budget)
    used = await ask(lambda: services.page_storage.usage(with_superseded=False))
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
