"""Responses, encoded by msgspec, and the one place where errors become problems."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Generic, TypeVar

import msgspec
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Match

from webloom.domain import errors
from webloom.entrypoints.api.schemas import Problem

log = logging.getLogger(__name__)

RETRY_WHEN_FULL = 1
RETRY_WHEN_UNAVAILABLE = 5
FAILED = "Webloom failed to handle this request; its log says why."
UNAVAILABLE = (
    "Not accepted: a database or broker can't be used now. GET /health says which. Try again."
)

Body = TypeVar("Body")
Found = TypeVar("Found")

# The same on every Python: 3.13 has other names for these.
_PHRASES = {
    413: "Request Entity Too Large",
    414: "Request-URI Too Long",
    416: "Requested Range Not Satisfiable",
    422: "Unprocessable Entity",
}
_encoder = msgspec.json.Encoder(decimal_format="number")


class Json(Response, Generic[Body]):
    """A handler that returns `Json[X]` is documented as returning an X."""

    def __init__(
        self, body: Body, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(_encoder.encode(body), status, headers, "application/json")


def phrase(status: int) -> str:
    return _PHRASES.get(status) or HTTPStatus(status).phrase


def problem(
    status: int,
    detail: str,
    headers: Mapping[str, str] | None = None,
    *,
    kind: type[Problem] = Problem,
    **more: Any,  # fields that this kind has
) -> Response:
    body = kind(title=phrase(status), status=status, detail=detail, **more)
    return Response(_encoder.encode(body), status, headers, "application/problem+json")


class Refusal(Exception):
    """A problem, raised by a route, or by the guard before a route is reached."""

    def __init__(
        self, status: int, detail: str, headers: dict[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = headers
        self.more = more  # `kind` and its fields


def found(it: Found | None, detail: str) -> Found:
    """Raises Refusal (404) for None."""
    if it is None:
        raise Refusal(404, detail)
    return it


def install_problem_handlers(app: FastAPI) -> None:
    for kind in PROBLEMS:
        app.exception_handler(kind)(_known)
    app.exception_handler(Refusal)(_refusal)
    app.exception_handler(RequestValidationError)(_invalid)
    app.exception_handler(HTTPException)(_from_starlette)


PROBLEMS: dict[type, tuple[int, str, int | None]] = {  # status, detail, Retry-After
    ClientDisconnect: (400, "The connection ended before the body did.", None),  # goes unread
    Exception: (500, FAILED, None),  # raised again after this response, and logged by the guard
    errors.UrlRefused: (422, "This URL can't be fetched: {}.", None),
    errors.BadCursor: (422, "cursor: {}. Take it from the page before as it is.", None),
    errors.WatchRefused: (422, "{}.", None),
    errors.FeedRefused: (422, "{}.", None),
    errors.BulkRefused: (422, "{}.", None),
    errors.BulkGrown: (409, "{}.", None),
    errors.FeedUnreadable: (422, "The body does not fit: {}.", None),
    errors.FeedBusy: (409, "{}.", None),
    errors.RestoreBusy: (409, "{}.", None),
    errors.DumpRefused: (422, "This backup is refused: {}. Nothing is stored.", None),
    errors.QueueFull: (503, "Not accepted: {}. Try again.", RETRY_WHEN_FULL),
    errors.BackendRefused: (503, UNAVAILABLE, RETRY_WHEN_UNAVAILABLE),
    errors.Unavailable: (503, UNAVAILABLE, RETRY_WHEN_UNAVAILABLE),
    errors.ResourcesExhausted: (503, "Not done: {}. Try again.", RETRY_WHEN_UNAVAILABLE),
    errors.BrokerFull: (503, "Not stored: {}.", RETRY_WHEN_UNAVAILABLE),
    errors.StoreFull: (503, "Not stored: {}.", RETRY_WHEN_UNAVAILABLE),
}
LOGGED = {errors.BackendRefused, errors.Unavailable, errors.ResourcesExhausted}


async def _known(_: Request, error: Exception) -> Response:
    status, detail, retry_after = known_problem(error)
    headers = None if retry_after is None else {"Retry-After": str(retry_after)}
    return problem(status, detail, headers)


def known_problem(error: Exception) -> tuple[int, str, int | None]:
    """Of the nearest class in its hierarchy: status, detail, Retry-After."""
    kind = next(each for each in type(error).__mro__ if each in PROBLEMS)
    status, text, retry_after = PROBLEMS[kind]
    if kind in LOGGED:
        log.warning("a dependency is unavailable", extra={"error": str(error)})
    return status, text.format(error), retry_after


async def _refusal(_: Request, error: Refusal) -> Response:
    return problem(error.status, error.detail, error.headers, **error.more)


async def _invalid(_: Request, error: RequestValidationError) -> Response:
    return problem(422, _sentences(error))


async def _from_starlette(request: Request, error: HTTPException) -> Response:
    """Starlette's own 404 and 405; the latter names the methods of one route only."""
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = ", ".join(_allowed(request))
    return problem(error.status_code, str(error.detail), headers)


def _allowed(request: Request) -> list[str]:
    """The methods of the first path that fits: /api/feeds/opml is not the feed `opml`."""
    routes: list[Any] = request.app.routes
    path = next(each.path for each in routes if each.matches(request.scope)[0] is not Match.NONE)
    return sorted({method for each in routes if each.path == path for method in each.methods})


_WANTED = {  # by pydantic's types of errors
    "int_parsing": "wants a whole number",
    "int_from_float": "wants a whole number",
    "float_parsing": "wants a number",
    "finite_number": "wants a number",
    "bool_parsing": "wants true or false",
    "greater_than_equal": "wants {ge} or more",
    "less_than_equal": "wants {le} at most",
    "string_too_long": "wants {max_length} characters at most",
    "string_too_short": "wants {min_length} characters or more",
    "literal_error": "wants {expected}",
    "enum": "wants {expected}",
    "value_error": "{error}",
}


def _wanted(error: dict[str, Any]) -> str:
    form = _WANTED.get(error["type"])
    return str(error["msg"]) if form is None else form.format(**error.get("ctx", {}))


def _sentences(error: RequestValidationError) -> str:
    """What is wrong with each parameter. One that may have two types has an error for each: the
    first is shown."""
    sentences: dict[str, str] = {}
    for each in error.errors():
        name = str(each["loc"][1])  # after "query" or "path"
        match each["type"]:
            case "missing":
                sentence = f"{name} is missing"
            case "extra_forbidden":
                sentence = (
                    f"Unknown parameter {name!r}. "
                    "A URL given as a parameter must be percent-encoded"
                )
            case _:
                sentence = f"{name}: {_wanted(each)}"
        sentences.setdefault(name, sentence)
    return "; ".join(sentences.values())
