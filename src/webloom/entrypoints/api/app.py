"""All routes of the API, on one page."""

from __future__ import annotations

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
from webloom.entrypoints.api import schemas
from webloom.entrypoints.api.answers import install_problem_handlers
from webloom.entrypoints.api.guard import Guard
from webloom.entrypoints.api.health import HealthRoutes, request_histogram
from webloom.entrypoints.api.metadata import MetadataRoutes
from webloom.entrypoints.api.start_page import START_PAGE
from webloom.ports.heartbeats import Heartbeat

DESCRIPTION = (
    "Ask for the HTTP metadata of any URL. Errors are problem+json (RFC 9457). "
    "Bound beyond loopback, every route but /health/live asks for a key."
)
REFERENCE = "#/components/schemas/{name}"


class DirectRoute(APIRoute):
    """For handlers that take nothing but the request and answer with a Response."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        return self.endpoint


def create_app(services: Services, beat: Heartbeat) -> ASGIApp:
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

    install_problem_handlers(app)
    _add_components(app)
    return Guard(app, services.settings, request_histogram(registry))


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


def _documented(media_type: str, body: Any) -> dict[str, Any]:
    description = (getattr(body, "__doc__", None) or "Answers").strip().split("\n")[0]
    return {"description": description, "content": {media_type: {"schema": _schema(body)}}}


def _takes(bodies: dict[str, Any]) -> dict[str, Any]:
    content = {media_type: {"schema": _schema(body)} for media_type, body in bodies.items()}
    return {"requestBody": {"required": True, "content": content}}


def _schema(body: Any) -> dict[str, Any]:
    [schema], _ = msgspec.json.schema_components([body], ref_template=REFERENCE)
    return schema


def _add_components(app: FastAPI) -> None:
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        document = generate()
        _, components = msgspec.json.schema_components(schemas.ALL, ref_template=REFERENCE)
        known = document.setdefault("components", {}).setdefault("schemas", {})
        known.update(components)
        for unused in ("HTTPValidationError", "ValidationError"):
            known.pop(unused, None)
        return document

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way to extend it
