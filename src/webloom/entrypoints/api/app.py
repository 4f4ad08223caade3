"""All routes of the API, on one page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from fastapi import FastAPI, Request
from fastapi.routing import APIRoute
from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from starlette.responses import Response
from starlette.types import ASGIApp

from webloom import __version__
from webloom.bootstrap import Services
from webloom.entrypoints.api import (
    admin_schemas,
    import_schemas,
    schemas,
    watch_page_schemas,
    watch_schemas,
)
from webloom.entrypoints.api.activity import Activity
from webloom.entrypoints.api.answers import install_problem_handlers
from webloom.entrypoints.api.documented import add_components, answers, or_text, problem, takes
from webloom.entrypoints.api.feeds import FeedRoutes
from webloom.entrypoints.api.guard import Guard
from webloom.entrypoints.api.health import HealthRoutes, request_histogram
from webloom.entrypoints.api.import_logs import ImportLogRoutes
from webloom.entrypoints.api.imports import ImportRoutes
from webloom.entrypoints.api.jobs import JobRoutes
from webloom.entrypoints.api.live import LiveRuns
from webloom.entrypoints.api.metadata import MetadataRoutes
from webloom.entrypoints.api.overview import OverviewRoutes
from webloom.entrypoints.api.previews import PreviewRoutes
from webloom.entrypoints.api.queues import QueueRoutes
from webloom.entrypoints.api.system import SystemRoutes
from webloom.entrypoints.api.ui import AdminUi, UiRoute
from webloom.entrypoints.api.watch_events import EventRoutes
from webloom.entrypoints.api.watch_pages import WatchPageRoutes
from webloom.entrypoints.api.watches import WatchRoutes
from webloom.ports.heartbeats import Heartbeat

DESCRIPTION = (
    "Ask for the HTTP metadata of any URL; import job postings from feeds; watch pages. "
    "Errors are problem+json (RFC 9457). "
    "Bound beyond loopback, every route but /health/live asks for a key."
)


class DirectRoute(APIRoute):
    """For handlers that take nothing but the request and answer with a Response."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        return self.endpoint


def create_app(
    services: Services,
    beat: Heartbeat,
    activity: Activity,
    stopping: asyncio.Event,
) -> ASGIApp:
    """`stopping` ends what would go on for ever: streams of events."""
    app = FastAPI(
        title="Webloom", version=__version__, description=DESCRIPTION, docs_url=None, redoc_url=None
    )
    registry = CollectorRegistry()
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=registry)
    metadata = MetadataRoutes(services)
    health = HealthRoutes(services, beat, registry)

    route = app.add_api_route
    direct = partial(app.router.add_api_route, route_class_override=DirectRoute)
    direct(
        "/metadata",
        metadata.submit,
        methods=["POST"],
        status_code=202,
        responses=answers({202: schemas.Submitted}, 400, 413, 422, 503),
        openapi_extra=takes({"application/json": schemas.SubmitBody}),
    )
    direct(
        "/metadata/batch",
        metadata.submit_batch,
        methods=["POST"],
        status_code=202,
        responses=answers({202: list[schemas.BatchAnswer]}, 400, 413, 422, 503),
        openapi_extra=takes(
            {
                "application/json": list[str | schemas.SubmitBody],
                "application/x-ndjson": str | schemas.SubmitBody,
            }
        ),
    )
    route(
        "/metadata",
        metadata.look_up,
        methods=["GET"],
        responses=answers({200: schemas.RecordAnswer, 202: schemas.Submitted}, 404, 422, 503),
    )
    route(
        "/metadata",
        metadata.invalidate,
        methods=["DELETE"],
        status_code=204,
        responses=answers({}, 404, 422, 503),
    )
    route(
        "/metadata/source",
        metadata.source,
        methods=["GET"],
        responses=answers({200: "text/plain", 202: schemas.Submitted}, 404, 422, 503),
    )
    route(
        "/metadata/records",
        metadata.records,
        methods=["GET"],
        responses=answers({200: schemas.RecordsPage}, 422, 503),
    )
    route(
        "/health",
        health.health,
        methods=["GET"],
        responses=answers({200: schemas.Health, 503: schemas.Health}),
    )
    route(
        "/health/live",
        health.live,
        methods=["GET"],
        responses=answers({200: schemas.Alive}),
    )
    route(
        "/health/ready",
        health.ready,
        methods=["GET"],
        responses=answers({200: schemas.Health, 503: schemas.Health}),
    )
    probes = {
        "/health": health.health, "/health/live": health.live, "/health/ready": health.ready,
    }  # fmt: skip
    for path, probe in probes.items():  # a route of its own, as its operation id must be one too
        route(path, probe, methods=["HEAD"], include_in_schema=False)
    route("/metrics", health.metrics, methods=["GET"], responses=answers({200: "text/plain"}))

    _add_admin(app, services, activity)
    _add_imports(app, services, stopping)
    _add_watches(app, services)
    app.router.routes.append(UiRoute(AdminUi()))
    install_problem_handlers(app)
    add_components(app)
    return Guard(app, services.settings, request_histogram(registry))


def _add_admin(app: FastAPI, services: Services, activity: Activity) -> None:
    overview = OverviewRoutes(activity)
    queues = QueueRoutes(services, activity)
    previews = PreviewRoutes(services)
    of = admin_schemas

    route = app.add_api_route
    route(
        "/api/overview",
        overview.overview,
        methods=["GET"],
        responses=answers({200: of.Overview}, 503),
    )
    route(
        "/metadata/counts",
        overview.record_counts,
        methods=["GET"],
        responses=answers({200: of.RecordCounts}, 422, 503),
    )
    route(
        "/api/live",
        overview.live,
        methods=["GET"],
        responses=answers({200: "text/event-stream"}, 422, 503),
    )
    route(
        "/api/queues",
        queues.listing,
        methods=["GET"],
        responses=answers({200: of.QueuesAnswer}, 503),
    )
    route(
        "/api/queues/{queue}/dead",
        queues.dead_letters,
        methods=["GET"],
        responses=answers({200: of.DeadLettersPage}, 404, 422, 503),
    )
    for verb, handler in (("put-back", queues.put_back), ("discard", queues.discard)):
        route(
            f"/api/queues/{{queue}}/dead/{verb}",
            handler,
            methods=["POST"],
            responses=answers({200: of.DeadLettersDone}, 400, 404, 413, 422, 503),
            openapi_extra=takes({"application/json": of.DeadLetterChoice}),
        )
    route(  # before the feeds, as it looks like the id of one
        "/api/feeds/preview",
        previews.feed,
        methods=["POST"],
        responses=answers({200: of.FeedPreview}, 400, 413, 422, 503),
        openapi_extra=takes({"application/json": of.FeedPreviewBody}),
    )
    route(
        "/api/watches/preview",
        previews.watch,
        methods=["POST"],
        responses=answers({200: of.WatchPreview}, 400, 413, 422, 503),
        openapi_extra=takes({"application/json": of.WatchPreviewBody}),
    )
    route(
        "/api/system",
        SystemRoutes(services).show,
        methods=["GET"],
        responses=answers({200: of.SystemAnswer}, 503),
    )


def _add_imports(app: FastAPI, services: Services, stopping: asyncio.Event) -> None:
    feeds = FeedRoutes(services)
    imports = ImportRoutes(services)
    logs = ImportLogRoutes(services, LiveRuns(services.imports.runs, stopping))
    jobs = JobRoutes(services)
    of = import_schemas

    route = app.add_api_route
    route(
        "/api/feeds",
        feeds.add,
        methods=["POST"],
        status_code=201,
        responses=answers({201: of.FeedAnswer}, 400, 413, 422, 503) | problem(409, of.FeedExists),
        openapi_extra=takes({"application/json": of.AddFeedBody}),
    )
    route(
        "/api/feeds",
        feeds.listing,
        methods=["GET"],
        responses=answers({200: of.FeedsAnswer}, 422, 503),
    )
    route(  # before the feeds, as it looks like the id of one
        "/api/feeds/opml",
        feeds.export_opml,
        methods=["GET"],
        responses=answers({200: "text/x-opml"}, 503),
    )
    route(
        "/api/feeds/opml",
        feeds.import_opml,
        methods=["POST"],
        responses=answers({200: of.OpmlImported}, 413, 422, 503),
        openapi_extra=takes({"text/x-opml": str}),
    )
    one_feed = answers({200: of.FeedAnswer}, 404, 422, 503)
    route("/api/feeds/{feedId}", feeds.show, methods=["GET"], responses=one_feed)
    route(
        "/api/feeds/{feedId}",
        feeds.edit,
        methods=["PATCH"],
        responses=one_feed | answers({}, 400, 409, 413),
        openapi_extra=takes({"application/json": of.EditFeedBody}),
    )
    route(
        "/api/feeds/{feedId}",
        feeds.remove,
        methods=["DELETE"],
        status_code=204,
        responses=answers({}, 404, 422, 503),
    )
    route("/api/feeds/{feedId}/pause", feeds.pause, methods=["POST"], responses=one_feed)
    route("/api/feeds/{feedId}/resume", feeds.resume, methods=["POST"], responses=one_feed)
    route(
        "/api/import/run",
        imports.run,
        methods=["POST"],
        status_code=202,
        responses=answers({202: of.RunsStarted}, 400, 404, 413, 422, 503)
        | problem(409, of.AlreadyRunning),
        openapi_extra=takes({"application/json": of.RunImportBody}, required=False),
    )
    route(
        "/api/import-logs",
        logs.listing,
        methods=["GET"],
        responses=answers({200: of.ImportLogsPage}, 422, 503),
    )
    for path in ("/api/import-logs/stream", "/api/import-logs/sse"):
        route(
            path,
            logs.stream,
            methods=["GET"],
            responses=answers({200: "text/event-stream"}, 422, 503),
        )
    route(
        "/api/import-logs/{runId}",
        logs.show,
        methods=["GET"],
        responses=answers({200: of.ImportLogDetail}, 404, 422, 503),
    )
    route(
        "/api/import-logs/{runId}/retry",
        logs.retry,
        methods=["POST"],
        status_code=202,
        responses=answers({202: of.RunsStarted}, 404, 422, 503) | problem(409, of.AlreadyRunning),
    )
    route(
        "/api/import-logs/{runId}/cancel",
        logs.cancel,
        methods=["POST"],
        status_code=202,
        responses=answers({202: of.ImportLog}, 404, 409, 422, 503),
    )
    route(
        "/api/jobs",
        jobs.listing,
        methods=["GET"],
        responses=answers({200: of.JobsPage}, 422, 503),
    )
    route(
        "/api/jobs/{dedupeKey}",
        jobs.show,
        methods=["GET"],
        responses=answers({200: of.JobAnswer}, 404, 422, 503),
    )


def _add_watches(app: FastAPI, services: Services) -> None:
    watches = WatchRoutes(services)
    pages = WatchPageRoutes(services)
    events = EventRoutes(services)
    of = watch_schemas
    seen = watch_page_schemas

    route = app.add_api_route
    route(
        "/api/watch/events",
        events.take,
        methods=["POST"],
        status_code=202,
        responses=answers({202: seen.EventsAccepted}, 400, 413, 422)
        | problem(503, seen.EventsNotAccepted),
        openapi_extra=takes({"application/json": dict[str, Any] | list[dict[str, Any]]}),
    )
    route(
        "/api/watches",
        watches.add,
        methods=["POST"],
        status_code=201,
        responses=answers({201: of.WatchAnswer}, 400, 413, 422, 503),
        openapi_extra=takes({"application/json": of.AddWatchBody}),
    )
    route(
        "/api/watches",
        watches.listing,
        methods=["GET"],
        responses=answers({200: of.WatchesPage}, 422, 503),
    )
    route(  # before the watches, as it looks like the id of one
        "/api/watches/import",
        watches.import_list,
        methods=["POST"],
        responses=answers({200: of.WatchesImported}, 413, 422, 503),
        openapi_extra=takes({"text/plain": str, "text/x-opml": str, "application/json": Any}),
    )
    one_watch = answers({200: of.WatchAnswer}, 404, 422, 503)
    route("/api/watches/{jobId}", watches.show, methods=["GET"], responses=one_watch)
    route(
        "/api/watches/{jobId}",
        watches.edit,
        methods=["PATCH"],
        responses=one_watch | answers({}, 400, 413),
        openapi_extra=takes({"application/json": of.EditWatchBody}),
    )
    route(
        "/api/watches/{jobId}",
        watches.remove,
        methods=["DELETE"],
        status_code=204,
        responses=answers({}, 404, 422, 503),
    )
    route("/api/watches/{jobId}/pause", watches.pause, methods=["POST"], responses=one_watch)
    route("/api/watches/{jobId}/resume", watches.resume, methods=["POST"], responses=one_watch)
    route(
        "/api/watches/{jobId}/run",
        watches.run,
        methods=["POST"],
        status_code=202,
        responses=answers({202: of.JobRun}, 404, 422, 503) | problem(409, of.WatchBusy),
    )
    route(
        "/api/watches/{jobId}/notices",
        watches.notices,
        methods=["GET"],
        responses=answers({200: of.NoticesPage}, 404, 422, 503),
    )
    atom = answers({200: "application/atom+xml"}, 503)
    route("/api/watch/feed.atom", watches.feed_of_all, methods=["GET"], responses=atom)
    atom = atom | answers({}, 404, 422)
    route("/api/watches/{jobId}/feed.atom", watches.feed, methods=["GET"], responses=atom)
    route(
        "/api/watch/runs",
        watches.runs,
        methods=["GET"],
        responses=answers({200: of.JobRunsPage}, 422, 503),
    )
    route(
        "/api/watch/runs/{runId}",
        watches.show_run,
        methods=["GET"],
        responses=answers({200: of.JobRun}, 404, 422, 503),
    )
    route(
        "/api/watch/pages",
        pages.listing,
        methods=["GET"],
        responses=answers({200: seen.PagesPage}, 422, 503),
    )
    route(
        "/api/watch/pages/versions",
        pages.versions,
        methods=["GET"],
        responses=answers({200: seen.VersionsPage}, 422, 503),
    )
    route(
        "/api/watch/pages/versions/{version}",
        pages.version,
        methods=["GET"],
        responses=answers({200: seen.VersionDetail}, 404, 422, 503),
    )
    route(
        "/api/watch/pages/diff",
        pages.diff,
        methods=["GET"],
        responses=or_text(answers({200: seen.VersionDiff}, 404, 422, 503), "text/plain"),
    )
    route(
        "/api/watch/pages/changes",
        pages.changes,
        methods=["GET"],
        responses=answers({200: seen.ChangesPage}, 422, 503),
    )
    route(
        "/api/watch/pages/prices",
        pages.prices,
        methods=["GET"],
        responses=or_text(answers({200: seen.PricesPage}, 422, 503), "text/csv"),
    )
    route(
        "/api/watch/storage",
        pages.storage,
        methods=["GET"],
        responses=answers({200: seen.StorageAnswer}, 503),
    )
