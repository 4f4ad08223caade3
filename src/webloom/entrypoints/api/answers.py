"""Responses, written by msgspec, and the one place where errors become problems."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any

import msgspec
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from webloom.domain.errors import (
    BackendRefused,
    BadCursor,
    BrokerFull,
    FeedBusy,
    FeedRefused,
    FeedUnreadable,
    QueueFull,
    ResourcesExhausted,
    StoreFull,
    Unavailable,
    UrlRefused,
    WatchRefused,
)
from webloom.entrypoints.api.schemas import Problem

log = logging.getLogger(__name__)

RETRY_WHEN_FULL = 1
RETRY_WHEN_UNAVAILABLE = 5

_encoder = msgspec.json.Encoder(decimal_format="number")


def answer(body: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(_encoder.encode(body), status, headers, "application/json")


def problem(
    status: int,
    detail: str,
    headers: dict[str, str] | None = None,
    *,
    kind: type[Problem] = Problem,
    **more: Any,  # fields that this kind has
) -> Response:
    body = kind(title=HTTPStatus(status).phrase, status=status, detail=detail, **more)
    return Response(_encoder.encode(body), status, headers, "application/problem+json")


class Refusal(Exception):
    """The guard's, before a route is reached or while one reads its body."""

    def __init__(self, status: int, detail: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = headers


def install_problem_handlers(app: FastAPI) -> None:
    @app.exception_handler(Refusal)
    async def refused_by_guard(_: Request, refusal: Refusal) -> Response:
        return problem(refusal.status, refusal.detail, refusal.headers)

    @app.exception_handler(ClientDisconnect)
    async def gone(_: Request, __: ClientDisconnect) -> Response:
        return problem(400, "The connection ended before the body did.")  # which nobody hears

    @app.exception_handler(Exception)
    async def unexpected(_: Request, __: Exception) -> Response:
        """It is raised again after this answer, and the guard logs it."""
        return problem(500, "Webloom failed to answer; its log says why.")

    @app.exception_handler(UrlRefused)
    async def refused(_: Request, error: UrlRefused) -> Response:
        return problem(422, f"This URL can't be fetched: {error}.")

    @app.exception_handler(BadCursor)
    async def bad_cursor(_: Request, error: BadCursor) -> Response:
        return problem(422, f"cursor: {error}. Take it from the page before as it is.")

    @app.exception_handler(WatchRefused)
    @app.exception_handler(FeedRefused)
    async def bad_settings(_: Request, error: FeedRefused | WatchRefused) -> Response:
        return problem(422, f"{error}.")

    @app.exception_handler(FeedUnreadable)
    async def unreadable(_: Request, error: FeedUnreadable) -> Response:
        return problem(422, f"The body does not fit: {error}.")

    @app.exception_handler(FeedBusy)
    async def busy(_: Request, error: FeedBusy) -> Response:
        return problem(409, f"{error}.")

    @app.exception_handler(QueueFull)
    async def full(_: Request, error: QueueFull) -> Response:
        return problem(
            503, f"Not accepted: {error}. Try again.", {"Retry-After": str(RETRY_WHEN_FULL)}
        )

    @app.exception_handler(BackendRefused)
    @app.exception_handler(Unavailable)
    async def unavailable(_: Request, error: Unavailable | BackendRefused) -> Response:
        log.warning("a dependency is unavailable", extra={"error": str(error)})
        return problem(
            503,
            "Not accepted: a database or broker can't be used now. GET /health says which. "
            "Try again.",
            {"Retry-After": str(RETRY_WHEN_UNAVAILABLE)},
        )

    @app.exception_handler(ResourcesExhausted)
    async def exhausted(_: Request, error: ResourcesExhausted) -> Response:
        log.warning("a request has no resources", extra={"error": str(error)})
        return problem(
            503, f"Not done: {error}. Try again.", {"Retry-After": str(RETRY_WHEN_UNAVAILABLE)}
        )

    @app.exception_handler(BrokerFull)
    @app.exception_handler(StoreFull)
    async def database_full(_: Request, error: StoreFull | BrokerFull) -> Response:
        return problem(503, f"Not stored: {error}.", {"Retry-After": str(RETRY_WHEN_UNAVAILABLE)})

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        sentences = dict(_sentence(each) for each in reversed(error.errors()))
        return problem(422, "; ".join(reversed(sentences.values())))

    @app.exception_handler(HTTPException)
    async def plain(_: Request, error: HTTPException) -> Response:
        return problem(error.status_code, str(error.detail), dict(error.headers or {}))


def _sentence(error: dict[str, Any]) -> tuple[str, str]:
    """The parameter and what is wrong with it; one that may be of two types has an error of each,
    of which the first is told."""
    name = str(error["loc"][1])  # behind "query"
    if error["type"] == "missing":
        return name, f"{name} is missing"
    return name, f"{name}: {error['msg']}"
