"""/metrics: counters and states for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from prometheus_client import CollectorRegistry, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.responses import Response

from webloom.application.overview.caching import probe
from webloom.bootstrap.services import Services
from webloom.domain.network_policy import RefusalReason
from webloom.entrypoints.api.health import health_of
from webloom.entrypoints.api.openapi import described, router
from webloom.entrypoints.api.requests import InContext
from webloom.entrypoints.api.schemas import Health, ProcessHealth

routes = router("/metrics", "installation")


@routes.get("", responses=described({200: "text/plain"}))
async def get_metrics(context: InContext) -> Response:
    """Get metrics in Prometheus's text format."""
    state = await state_registry(context.services, await health_of(context))
    text = generate_latest(context.registry) + generate_latest(state)
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


async def state_registry(services: Services, health: Health) -> CollectorRegistry:
    """What the store and the broker report now, for all processes together."""
    registry = CollectorRegistry()

    def gauge(name: str, text: str, labels: Sequence[str], values: Mapping[Any, float]) -> None:
        family = Gauge(f"webloom_{name}", text, labels, registry=registry)
        for key, value in values.items():
            (family.labels(*key) if key else family).set(value)

    workers = {f"{each.host}:{each.pid}": each for each in health.workers if each.alive}
    up = {(each.name,): each.state == "up" for each in health.dependencies}
    gauge("dependency_up", "1 when it is reachable", ["name"], up)
    depths = {
        (queue.name, state): count
        for queue in health.queues
        for state in ("ready", "delayed", "in_flight", "dead")
        if (count := getattr(queue, state)) is not None
    }
    gauge("queue_messages", "Messages by state", ["queue", "state"], depths)
    outcomes = {
        (name, outcome): getattr(worker, outcome)
        for name, worker in workers.items()
        for outcome in ("completed", "retried", "failed")
    }
    text = "Attempts that a worker has ended since its start"
    gauge("worker_attempts", text, ["worker", "outcome"], outcomes)
    in_flight = {(name,): worker.in_flight for name, worker in workers.items()}
    gauge("worker_in_flight", "Fetches running now", ["worker"], in_flight)
    registry.register(_Refusals([*health.workers, *health.others]))
    is_waiting = {(): health.imports is not None}
    gauge("imports_wait", "1 when imports wait because the spool is full", [], is_waiting)
    records, _ = await probe(services.records.count_by_status())
    by_status = {(status.value,): count for status, count in (records or {}).items()}
    gauge("records", "Records by status", ["status"], by_status)
    postings, _ = await probe(services.imports.postings.count())
    by_state = dict(zip([("open",), ("closed",)], postings or (), strict=False))
    gauge("postings", "Job postings", ["state"], by_state)
    gauge("feeds", "Feeds", ["state"], await _feeds(services))
    watches, _ = await probe(services.watches.count_watches())
    counts = {} if watches is None else {(key,): count for key, count in asdict(watches).items()}
    gauge("watches", "Watches", ["state"], counts)
    usage, _ = await probe(services.page_storage.usage(with_superseded=False))
    items = {(each.collection,): each.items for each in usage or ()}
    gauge("storage_items", "What is kept of watched pages", ["collection"], items)
    sizes = {(each.collection,): each.bytes for each in usage or ()}
    gauge("storage_bytes", "About", ["collection"], sizes)
    budget = {(): services.settings.storage_budget}
    gauge("storage_budget_bytes", "What they may take", [], budget)
    return registry


async def _feeds(services: Services) -> dict[tuple[str, ...], float]:
    feeds, _ = await probe(services.imports.feeds.all())
    if feeds is None:
        return {}
    return {
        ("all",): len(feeds),
        ("enabled",): sum(feed.config.enabled for feed in feeds),
        ("importing",): sum(feed.active_run_id is not None for feed in feeds),
        ("failing",): sum(feed.failures > 0 for feed in feeds),
    }


class _Refusals(Collector):
    """Counted by the processes, reported in their heartbeats."""

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
