"""The API as one ASGI application."""

from __future__ import annotations

import asyncio

from fastapi import FastAPI
from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from starlette.types import ASGIApp

from webloom.bootstrap.services import Services
from webloom.entrypoints.api import (
    backup,
    feeds,
    health,
    imports,
    inbox,
    jobs,
    metadata,
    metrics,
    previews,
    queues,
    recognise,
    system,
    watch_imports,
    watch_pages,
    watch_runs,
    watches,
    worker_logs,
)
from webloom.entrypoints.api.activity import Activity
from webloom.entrypoints.api.context import Context
from webloom.entrypoints.api.docs_page import DocsRoute
from webloom.entrypoints.api.guard import Guard
from webloom.entrypoints.api.live_runs import LiveRuns
from webloom.entrypoints.api.metrics import request_histogram
from webloom.entrypoints.api.openapi import install_document
from webloom.entrypoints.api.responses import install_problem_handlers
from webloom.entrypoints.api.ui import AdminUi, UiRoute
from webloom.ports.heartbeats import Heartbeat

ROUTERS = (  # the hot ones first; previews before what looks like an id
    metadata.hot_routes, metadata.routes, previews.feed_routes, previews.watch_routes,
    recognise.routes,
    feeds.routes, imports.routes, jobs.routes, watch_imports.routes, watches.routes,
    watch_runs.routes, watch_pages.routes, inbox.routes, queues.routes, worker_logs.routes,
    backup.routes, system.routes,
    health.routes, metrics.routes,
)  # fmt: skip


def create_app(
    services: Services,
    beat: Heartbeat,
    activity: Activity,
    stopping: asyncio.Event,
) -> ASGIApp:
    """`stopping` ends what would continue forever: streams of events."""
    app = FastAPI(docs_url=None, redoc_url=None)
    registry = CollectorRegistry()
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=registry)
    app.state.context = Context(
        services=services,
        beat=beat,
        activity=activity,
        live_runs=LiveRuns(services.imports.listed_runs, stopping),
        registry=registry,
        started_at=services.clock.now(),
    )
    for each in ROUTERS:
        app.router.routes.extend(each.routes)
    app.router.routes += [DocsRoute(app), UiRoute(AdminUi())]
    install_problem_handlers(app)
    install_document(app)
    return Guard(app, services.settings, request_histogram(registry))
