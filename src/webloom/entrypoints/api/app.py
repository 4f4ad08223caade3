"""All routes of the API, on one page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import msgspec
from fastapi import FastAPI, Request
from fastapi.routing import APIRoute
from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp

from webloom import __version__
from webloom.bootstrap import Services
from webloom.entrypoints.api import (
    import_schemas,
    schemas,
    watch_page_schemas,
    watch_schemas,
)
from webloom.entrypoints.api.answers import install_problem_handlers
from webloom.entrypoints.api.feeds import FeedRoutes
from webloom.entrypoints.api.guard import Guard
from webloom.entrypoints.api.health import HealthRoutes, request_histogram
from webloom.entrypoints.api.import_logs import ImportLogRoutes
from webloom.entrypoints.api.imports import ImportRoutes
from webloom.entrypoints.api.jobs import JobRoutes
from webloom.entrypoints.api.live import LiveRuns
from webloom.entrypoints.api.metadata import MetadataRoutes
from webloom.entrypoints.api.start_page import START_PAGE
from webloom.entrypoints.api.watch_events import EventRoutes
from webloom.entrypoints.api.watch_pages import WatchPageRoutes
from webloom.entrypoints.api.watches import WatchRoutes
from webloom.ports.heartbeats import Heartbeat

DESCRIPTION = (
    "Ask for the HTTP metadata of any URL; import job postings from feeds; watch pages. "
    "Errors are problem+json (RFC 9457). "
    "Bound beyond loopback, every route but /health/live asks for a key."
)
REFERENCE = "#/components/schemas/{name}"


class DirectRoute(APIRoute):
    """For handlers that take nothing but the request and answer with a Response."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        return self.endpoint


def create_app(
    services: Services, beat: Heartbeat, stopping: asyncio.Event | None = None
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

    page = _answers({200: "text/html"})
    route = app.add_api_route
    direct = partial(app.router.add_api_route, route_class_override=DirectRoute)
    route("/", lambda: HTMLResponse(START_PAGE), include_in_schema=False, responses=page)
    direct(
        "/metadata",
        metadata.submit,
        methods=["POST"],
        status_code=202,
        responses=_answers({202: schemas.Submitted}, 400, 413, 422, 503),
        openapi_extra=_takes({"application/json": schemas.SubmitBody}),
    )
    direct(
        "/metadata/batch",
        metadata.submit_batch,
        methods=["POST"],
        status_code=202,
        responses=_answers({202: list[schemas.BatchAnswer]}, 400, 413, 422, 503),
        openapi_extra=_takes(
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
        responses=_answers({200: schemas.RecordAnswer, 202: schemas.Submitted}, 422, 503),
    )
    route(
        "/metadata",
        metadata.invalidate,
        methods=["DELETE"],
        status_code=204,
        responses=_answers({}, 404, 422, 503),
    )
    route(
        "/metadata/source",
        metadata.source,
        methods=["GET"],
        responses=_answers({200: "text/plain", 202: schemas.Submitted}, 404, 422, 503),
    )
    route(
        "/metadata/records",
        metadata.records,
        methods=["GET"],
        responses=_answers({200: schemas.RecordsPage}, 422, 503),
    )
    route(
        "/health",
        health.health,
        methods=["GET"],
        responses=_answers({200: schemas.Health, 503: schemas.Health}),
    )
    route(
        "/health/live",
        health.live,
        methods=["GET"],
        responses=_answers({200: schemas.Alive}),
    )
    route(
        "/health/ready",
        health.ready,
        methods=["GET"],
        responses=_answers({200: schemas.Health, 503: schemas.Health}),
    )
    probes = {
        "/health": health.health, "/health/live": health.live, "/health/ready": health.ready,
    }  # fmt: skip
    for path, probe in probes.items():  # a route of its own, as its operation id must be one too
        route(path, probe, methods=["HEAD"], include_in_schema=False)
    route("/metrics", health.metrics, methods=["GET"], responses=_answers({200: "text/plain"}))

    _add_imports(app, services, stopping or asyncio.Event())
    _add_watches(app, services)
    install_problem_handlers(app)
    _add_components(app)
    return Guard(app, services.settings, request_histogram(registry))


def _add_imports(app: FastAPI, services: Services, stopping: asyncio.Event) -> None:
    feeds = FeedRoutes(services)
    imports = ImportRoutes(services)
    logs = ImportLogRoutes(services, LiveRuns(services.imports, stopping))
    jobs = JobRoutes(services)
    of = import_schemas

    route = app.add_api_route
    route(
        "/api/feeds",
        feeds.add,
        methods=["POST"],
        status_code=201,
        responses=_answers({201: of.FeedAnswer}, 400, 413, 422, 503) | _problem(409, of.FeedExists),
        openapi_extra=_takes({"application/json": of.AddFeedBody}),
    )
    route(
        "/api/feeds",
        feeds.listing,
        methods=["GET"],
        responses=_answers({200: of.FeedsAnswer}, 422, 503),
    )
    route(  # before the feeds, as it looks like the id of one
        "/api/feeds/opml",
        feeds.export_opml,
        methods=["GET"],
        responses=_answers({200: "text/x-opml"}, 503),
    )
    route(
        "/api/feeds/opml",
        feeds.import_opml,
        methods=["POST"],
        responses=_answers({200: of.OpmlImported}, 413, 422, 503),
        openapi_extra=_takes({"text/x-opml": str}),
    )
    one_feed = _answers({200: of.FeedAnswer}, 404, 422, 503)
    route("/api/feeds/{feedId}", feeds.show, methods=["GET"], responses=one_feed)
    route(
        "/api/feeds/{feedId}",
        feeds.edit,
        methods=["PATCH"],
        responses=one_feed | _answers({}, 400, 409, 413),
        openapi_extra=_takes({"application/json": of.EditFeedBody}),
    )
    route(
        "/api/feeds/{feedId}",
        feeds.remove,
        methods=["DELETE"],
        status_code=204,
        responses=_answers({}, 404, 422, 503),
    )
    route("/api/feeds/{feedId}/pause", feeds.pause, methods=["POST"], responses=one_feed)
    route("/api/feeds/{feedId}/resume", feeds.resume, methods=["POST"], responses=one_feed)
    route(
        "/api/import/run",
        imports.run,
        methods=["POST"],
        status_code=202,
        responses=_answers({202: of.RunsStarted}, 400, 404, 413, 422, 503)
        | _problem(409, of.AlreadyRunning),
        openapi_extra=_takes({"application/json": of.RunImportBody}, required=False),
    )
    route(
        "/api/import-logs",
        logs.listing,
        methods=["GET"],
        responses=_answers({200: of.ImportLogsPage}, 422, 503),
    )
    for path in ("/api/import-logs/stream", "/api/import-logs/sse"):
        route(
            path,
            logs.stream,
            methods=["GET"],
            responses=_answers({200: "text/event-stream"}, 422, 503),
        )
    route(
        "/api/import-logs/{runId}",
        logs.show,
        methods=["GET"],
        responses=_answers({200: of.ImportLogDetail}, 404, 422, 503),
    )
    route(
        "/api/import-logs/{runId}/retry",
        logs.retry,
        methods=["POST"],
        status_code=202,
        responses=_answers({202: of.RunsStarted}, 404, 422, 503) | _problem(409, of.AlreadyRunning),
    )
    route(
        "/api/import-logs/{runId}/cancel",
        logs.cancel,
        methods=["POST"],
        status_code=202,
        responses=_answers({202: of.ImportLog}, 404, 409, 422, 503),
    )
    route(
        "/api/jobs",
        jobs.listing,
        methods=["GET"],
        responses=_answers({200: of.JobsPage}, 422, 503),
    )
    route(
        "/api/jobs/{dedupeKey}",
        jobs.show,
        methods=["GET"],
        responses=_answers({200: of.JobAnswer}, 404, 422, 503),
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
        responses=_answers({202: seen.EventsAccepted}, 400, 413, 422)
        | _problem(503, seen.EventsNotAccepted),
        openapi_extra=_takes({"application/json": dict[str, Any] | list[dict[str, Any]]}),
    )
    route(
        "/api/watches",
        watches.add,
        methods=["POST"],
        status_code=201,
        responses=_answers({201: of.WatchAnswer}, 400, 413, 422, 503),
        openapi_extra=_takes({"application/json": of.AddWatchBody}),
    )
    route(
        "/api/watches",
        watches.listing,
        methods=["GET"],
        responses=_answers({200: of.WatchesPage}, 422, 503),
    )
    route(  # before the watches, as it looks like the id of one
        "/api/watches/import",
        watches.import_list,
        methods=["POST"],
        responses=_answers({200: of.WatchesImported}, 413, 422, 503),
        openapi_extra=_takes({"text/plain": str, "text/x-opml": str, "application/json": Any}),
    )
    one_watch = _answers({200: of.WatchAnswer}, 404, 422, 503)
    route("/api/watches/{jobId}", watches.show, methods=["GET"], responses=one_watch)
    route(
        "/api/watches/{jobId}",
        watches.edit,
        methods=["PATCH"],
        responses=one_watch | _answers({}, 400, 413),
        openapi_extra=_takes({"application/json": of.EditWatchBody}),
    )
    route(
        "/api/watches/{jobId}",
        watches.remove,
        methods=["DELETE"],
        status_code=204,
        responses=_answers({}, 404, 422, 503),
    )
    route("/api/watches/{jobId}/pause", watches.pause, methods=["POST"], responses=one_watch)
    route("/api/watches/{jobId}/resume", watches.resume, methods=["POST"], responses=one_watch)
    route(
        "/api/watches/{jobId}/run",
        watches.run,
        methods=["POST"],
        status_code=202,
        responses=_answers({202: of.JobRun}, 404, 422, 503) | _problem(409, of.WatchBusy),
    )
    route(
        "/api/watches/{jobId}/notices",
        watches.notices,
        methods=["GET"],
        responses=_answers({200: of.NoticesPage}, 404, 422, 503),
    )
    atom = _answers({200: "application/atom+xml"}, 503)
    route("/api/watch/feed.atom", watches.feed_of_all, methods=["GET"], responses=atom)
    atom = atom | _answers({}, 404, 422)
    route("/api/watches/{jobId}/feed.atom", watches.feed, methods=["GET"], responses=atom)
    route(
        "/api/watch/runs",
        watches.runs,
        methods=["GET"],
        responses=_answers({200: of.JobRunsPage}, 422, 503),
    )
    route(
        "/api/watch/runs/{runId}",
        watches.show_run,
        methods=["GET"],
        responses=_answers({200: of.JobRun}, 404, 422, 503),
    )
    route(
        "/api/watch/pages",
        pages.listing,
        methods=["GET"],
        responses=_answers({200: seen.PagesPage}, 422, 503),
    )
    route(
        "/api/watch/pages/versions",
        pages.versions,
        methods=["GET"],
        responses=_answers({200: seen.VersionsPage}, 422, 503),
    )
    route(
        "/api/watch/pages/versions/{version}",
        pages.version,
        methods=["GET"],
        responses=_answers({200: seen.VersionDetail}, 404, 422, 503),
    )
    route(
        "/api/watch/pages/diff",
        pages.diff,
        methods=["GET"],
        responses=_or_text(_answers({200: seen.VersionDiff}, 404, 422, 503), "text/plain"),
    )
    route(
        "/api/watch/pages/changes",
        pages.changes,
        methods=["GET"],
        responses=_answers({200: seen.ChangesPage}, 422, 503),
    )
    route(
        "/api/watch/pages/prices",
        pages.prices,
        methods=["GET"],
        responses=_or_text(_answers({200: seen.PricesPage}, 422, 503), "text/csv"),
    )
    route(
        "/api/watch/storage",
        pages.storage,
        methods=["GET"],
        responses=_answers({200: seen.StorageAnswer}, 503),
    )


def _answers(bodies: dict[int, Any], *problems: int) -> dict[int | str, dict[str, Any]]:
    documented: dict[int | str, dict[str, Any]] = {}
    for status, body in bodies.items():
        if isinstance(body, str):
            documented[status] = {
                "description": "OK",
                "content": {body: {"schema": {"type": "string"}}},
            }
        else:
            documented[status] = _documented("application/json", body)
    for status in problems:
        documented[status] = _documented("application/problem+json", schemas.Problem)
    return documented


def _or_text(
    documented: dict[int | str, dict[str, Any]], media_type: str
) -> dict[int | str, dict[str, Any]]:
    """That it can be asked for in another form."""
    documented[200]["content"][media_type] = {"schema": {"type": "string"}}
    return documented


def _problem(status: int, kind: type[schemas.Problem]) -> dict[int | str, dict[str, Any]]:
    return {status: _documented("application/problem+json", kind)}


def _documented(media_type: str, body: Any) -> dict[str, Any]:
    description = (getattr(body, "__doc__", None) or "Answers").strip().split("\n")[0]
    return {"description": description, "content": {media_type: {"schema": _schema(body)}}}


def _takes(bodies: dict[str, Any], *, required: bool = True) -> dict[str, Any]:
    content = {media_type: {"schema": _schema(body)} for media_type, body in bodies.items()}
    return {"requestBody": {"required": required, "content": content}}


def _schema(body: Any) -> dict[str, Any]:
    [schema], _ = msgspec.json.schema_components([body], ref_template=REFERENCE)
    return schema


def _add_components(app: FastAPI) -> None:
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        document = generate()
        parts = (schemas, import_schemas, watch_schemas, watch_page_schemas)
        every = [body for part in parts for body in part.ALL]
        _, components = msgspec.json.schema_components(every, ref_template=REFERENCE)
        known = document.setdefault("components", {}).setdefault("schemas", {})
        known.update(components)
        for unused in ("HTTPValidationError", "ValidationError"):
            known.pop(unused, None)
        return document

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way to extend it
