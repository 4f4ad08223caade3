"""Routers whose routes document themselves, and the OpenAPI document.

A route's documentation is what its handler declares: the name is the operation id and the summary,
the docstring the description, `-> Json[X]` the response, `Depends(json_body(X))` the body. Errors
of every route (401, 403, 422, 503) are added here.

FastAPI tells only through a route's `dependant`, which it doesn't document, which dependencies and
query model a handler has; tests/unit/test_patched_libraries.py fails when that changes. It can go
when FastAPI documents a body that a dependency reads, and solves a query model as fast as we do.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
from fastapi import APIRouter, FastAPI, Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from webloom import __version__
from webloom.entrypoints.api.formats import EXAMPLES, IMPOSSIBLE
from webloom.entrypoints.api.requests import BodyReader, query_of, readers, refuse_bad_query
from webloom.entrypoints.api.responses import Json, phrase
from webloom.entrypoints.api.schemas import Problem

REFERENCE = "#/components/schemas/{name}"
DESCRIPTION = (
    "Ask for the HTTP metadata of any URL; import job postings from feeds; watch pages. "
    "Errors are problem+json (RFC 9457). Lists are `{data, nextCursor}`. "
    "Bound beyond loopback, every route but /health/live requires an API key."
)
TAGS = {
    "metadata": "HTTP metadata of URLs: submit, look up, list",
    "addresses": "What is at an address: a feed, a page, something else",
    "feeds": "Where job postings come from",
    "imports": "Runs of feeds: start, follow, cancel",
    "jobs": "The job postings that imports have stored",
    "watches": "Pages that are checked on a schedule",
    "watch runs": "Checks of watches, and events of other programs",
    "watched pages": "Versions, changes and prices of watched pages",
    "inbox": "Changes of all watches until someone has looked at them",
    "queues": "How deep the queues are, and their dead letters",
    "backup": "Everything as one file, and back",
    "installation": "Overview, health, metrics and settings",
}
SECURITY_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "A key from `webloom new-key`"},
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}
# Without keys in its settings, an API on loopback requires none.
SECURITY: list[dict[str, list[str]]] = [{"bearer": []}, {"header": []}, {}]
Responses = dict[int | str, dict[str, Any]]

_kinds: list[Any] = []  # of all requests and responses


class ApiRoute(APIRoute):
    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        options |= {"response_model": None, "response_class": Response}  # msgspec writes them
        options["responses"] = _success(endpoint, options) | options.get("responses", {})
        options["generate_unique_id_function"] = lambda route: route.name
        super().__init__(path, endpoint, **options)
        body = next(
            (readers[each.call] for each in self.dependant.dependencies if each.call in readers),
            None,
        )
        if body is not None:
            self.openapi_extra = takes(body)
        problems = [401, 403, 422, 431, 503] + ([] if body is None else [400, 413])
        for status in problems:
            self.responses.setdefault(status, _problem(status))

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def checked(request: Request) -> Response:
            if query := request.scope["query_string"]:
                refuse_bad_query(query)
            return await handle(request)

        return checked


class DirectRoute(ApiRoute):
    """For a hot handler, which takes the request and at most its query. FastAPI's way to solve
    dependencies took a fifth of a look-up's CPU (349 µs of it, 280 without)."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        endpoint = self.endpoint
        if not self.dependant.query_params:
            return endpoint
        model = self.dependant.query_params[0].field_info.annotation

        async def handle(request: Request) -> Response:
            refuse_bad_query(request.scope["query_string"])
            response: Response = await endpoint(request, query_of(model, request))
            return response

        return handle


def router(prefix: str, tag: str, route_class: type[ApiRoute] = ApiRoute) -> APIRouter:
    return APIRouter(prefix=prefix, tags=[tag], route_class=route_class)


def _success(endpoint: Callable[..., Any], options: dict[str, Any]) -> Responses:
    hint = get_type_hints(endpoint).get("return")
    if get_origin(hint) is not Json:
        return {}
    return {options.get("status_code") or 200: _content("application/json", get_args(hint)[0])}


def described(bodies: dict[int, Any], *problems: int) -> Responses:
    """Responses besides the one that the handler declares. A body is a struct, a subclass of
    Problem, or the media type of a text."""
    described: Responses = {status: _problem(status) for status in problems}
    for status, body in bodies.items():
        if isinstance(body, str):
            text = {"schema": {"type": "string"}}
            described[status] = {"description": "OK", "content": {body: text}}
        elif isinstance(body, type) and issubclass(body, Problem):
            described[status] = _problem(status, body)
        else:
            described[status] = _content("application/json", body)
    return described


def lines_of(*kinds: Any) -> Responses:
    """Lines of JSON, each of one of these kinds."""
    for kind in kinds:
        _schema(kind)
    return described({200: "application/x-ndjson"})


def or_text(kind: Any, media_type: str, status: int = 200) -> Responses:
    """JSON, or on request a text."""
    response = _content("application/json", kind)
    response["content"][media_type] = {"schema": {"type": "string"}}
    return {status: response}


def takes(body: BodyReader) -> dict[str, Any]:
    content = {media_type: {"schema": _schema(kind)} for media_type, kind in body.content.items()}
    return {"requestBody": {"required": body.is_required, "content": content}}


def _problem(status: int, kind: type[Problem] = Problem) -> dict[str, Any]:
    schema = {"schema": _schema(kind)}
    return {
        "description": phrase(status), "content": {"application/problem+json": schema},
    }  # fmt: skip


def _content(media_type: str, kind: Any) -> dict[str, Any]:
    description = (getattr(kind, "__doc__", None) or "Results").strip().split("\n")[0]
    return {"description": description, "content": {media_type: {"schema": _schema(kind)}}}


def _schema(kind: Any) -> dict[str, Any]:
    if isinstance(kind, dict):
        return kind
    _kinds.append(kind)
    [schema], _ = msgspec.json.schema_components([kind], ref_template=REFERENCE)
    return schema


def install_document(app: FastAPI) -> None:
    app.title, app.version, app.description = "Webloom", __version__, DESCRIPTION
    app.openapi_tags = [{"name": name, "description": text} for name, text in TAGS.items()]
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _completed(generate())
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way to extend it


def _completed(document: dict[str, Any]) -> dict[str, Any]:
    _, components = msgspec.json.schema_components(_kinds, ref_template=REFERENCE)
    for each in components.values():  # Python 3.13 takes the indentation away by itself
        if "description" in each:
            each["description"] = inspect.cleandoc(each["description"])
    for name, combinations in IMPOSSIBLE.items():
        components[name]["not"] = {"anyOf": combinations}
    document["components"] = {
        "schemas": dict(sorted(components.items())) | _parameter_schemas(document),
        "securitySchemes": SECURITY_SCHEMES,
    }
    document["security"] = SECURITY
    for operations in document["paths"].values():
        for operation in operations.values():
            for body in operation.get("requestBody", {}).get("content", {}).values():
                if (example := _example(body["schema"], components)) is not None:
                    body["example"] = example
    live = document["paths"]["/health/live"]["get"]
    live["security"] = []  # and it needs no dependency
    for status in ("401", "503"):
        del live["responses"][status]
    _correct(document)
    return document


def _example(schema: dict[str, Any], components: dict[str, Any]) -> Any:
    """A small example, built from those of the fields; None if one has none."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return EXAMPLES.get(name) or _example(components[name], components)
    if examples := schema.get("examples"):
        return examples[0]
    for choice in schema.get("anyOf", ()):
        if (example := _example(choice, components)) is not None:
            return example
    if schema.get("type") == "array":
        item = _example(schema["items"], components)
        return None if item is None else [item]
    fields = schema.get("properties", {})
    names = schema.get("required") or [name for name in fields if name in ("url", "sourceUrl")]
    example = {name: _example(fields[name], components) for name in names}
    return None if None in example.values() else example or None


def _parameter_schemas(document: dict[str, Any]) -> dict[str, Any]:
    """Enums of parameters, by FastAPI."""
    known: dict[str, Any] = document.get("components", {}).get("schemas", {})
    return {name: known[name] for name in known if not name.endswith("ValidationError")}


def _correct(part: Any) -> None:
    """Decimals are written as JSON numbers, which msgspec does not know; a query has no null."""
    if isinstance(part, dict):
        if part.get("type") == "string" and part.get("format") == "decimal":
            part["type"] = "number"
            del part["format"]
        if "in" in part and "schema" in part:
            _correct_parameter(part["schema"])
        for each in part.values():
            _correct(each)
    elif isinstance(part, list):
        for each in part:
            _correct(each)


def _correct_parameter(schema: dict[str, Any]) -> None:
    for name in ("title", "description"):  # the parameter has them
        schema.pop(name, None)
    choices = [each for each in schema.pop("anyOf", ()) if each != {"type": "null"}]
    if len(choices) == 1:
        schema |= choices[0]
    elif choices:
        schema["anyOf"] = choices
    text = schema.get("items", schema)  # or each text of a list
    if text.get("type") == "string" and not text.keys() & {"enum", "format", "pattern"}:
        text["pattern"] = "^[^\\u0000]*$"
