"""How the routes are told of in the OpenAPI document."""

from __future__ import annotations

import inspect
from typing import Any

import msgspec
from fastapi import FastAPI

from webloom.entrypoints.api import (
    admin_schemas,
    import_schemas,
    schemas,
    watch_page_schemas,
    watch_schemas,
)

REFERENCE = "#/components/schemas/{name}"


def answers(bodies: dict[int, Any], *problems: int) -> dict[int | str, dict[str, Any]]:
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


def or_text(
    documented: dict[int | str, dict[str, Any]], media_type: str
) -> dict[int | str, dict[str, Any]]:
    """That it can be asked for in another form."""
    documented[200]["content"][media_type] = {"schema": {"type": "string"}}
    return documented


def problem(status: int, kind: type[schemas.Problem]) -> dict[int | str, dict[str, Any]]:
    return {status: _documented("application/problem+json", kind)}


def _documented(media_type: str, body: Any) -> dict[str, Any]:
    description = (getattr(body, "__doc__", None) or "Answers").strip().split("\n")[0]
    return {"description": description, "content": {media_type: {"schema": _schema(body)}}}


def takes(bodies: dict[str, Any], *, required: bool = True) -> dict[str, Any]:
    content = {media_type: {"schema": _schema(body)} for media_type, body in bodies.items()}
    return {"requestBody": {"required": required, "content": content}}


def _schema(body: Any) -> dict[str, Any]:
    [schema], _ = msgspec.json.schema_components([body], ref_template=REFERENCE)
    return schema


def add_components(app: FastAPI) -> None:
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        document = generate()
        parts = (schemas, import_schemas, watch_schemas, watch_page_schemas, admin_schemas)
        every = [body for part in parts for body in part.ALL]
        _, components = msgspec.json.schema_components(every, ref_template=REFERENCE)
        for each in components.values():  # Python 3.13 takes the indentation away by itself
            if "description" in each:
                each["description"] = inspect.cleandoc(each["description"])
        known = document.setdefault("components", {}).setdefault("schemas", {})
        known.update(components)
        _tell_numbers(document)
        for unused in ("HTTPValidationError", "ValidationError"):
            known.pop(unused, None)
        return document

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way to extend it


def _tell_numbers(part: Any) -> None:
    """Decimals are written as JSON numbers, which msgspec does not know of."""
    if isinstance(part, dict):
        if part.get("type") == "string" and part.get("format") == "decimal":
            part["type"] = "number"
        for each in part.values():
            _tell_numbers(each)
    elif isinstance(part, list):
        for each in part:
            _tell_numbers(each)
