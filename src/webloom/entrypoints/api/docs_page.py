"""/docs: the OpenAPI document as a page that needs neither a script nor another site."""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
:root { color-scheme: light dark }
summary { cursor: pointer; padding: .2rem 0 } summary b { display: inline-block; width: 4.5rem }
details > :not(summary) { margin-left: 4.5rem } pre, table { overflow-x: auto; font-size: .9rem }
td, th { text-align: left; vertical-align: top; padding: .1rem 1rem .1rem 0 }
"""
_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-cache",
}


class DocsRoute(Route):
    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._page: str | None = None
        super().__init__("/docs", self._respond, methods=["GET"], include_in_schema=False)

    async def _respond(self, _: Request) -> HTMLResponse:
        if self._page is None:
            self._page = _page(self._app.openapi())
        return HTMLResponse(self._page, headers=HEADERS)


def _page(document: dict[str, Any]) -> str:
    by_tag: dict[str, list[str]] = {each["name"]: [] for each in document["tags"]}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            by_tag[operation["tags"][0]].append(_operation(method.upper(), path, operation))
    sections = [
        f"<h2 id='{escape(tag['name'])}'>{escape(tag['name'].capitalize())}</h2>"
        f"<p>{escape(tag['description'])}</p>{''.join(by_tag[tag['name']])}"
        for tag in document["tags"]
    ]
    schemas = document["components"]["schemas"]
    sections += ["<h2>Schemas</h2>", *(_component(name, schemas[name]) for name in sorted(schemas))]
    info = document["info"]
    return (
        "<!doctype html><html lang='en'><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width'>"
        f"<title>Webloom API</title><style>{STYLE}</style>"
        f"<h1>Webloom API {escape(info['version'])}</h1><p>{escape(info['description'])} "
        "For programs: <a href='/openapi.json'>openapi.json</a>.</p>"
        f"{''.join(sections)}</html>"
    )


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    parts = [f"<p>{escape(operation['description'])}</p>"]
    if parameters := operation.get("parameters"):
        rows = [
            [each["name"], each["in"], _type(each["schema"]), each.get("description", "")]
            for each in parameters
        ]
        parts.append(_table("parameter", rows))
    for media_type, body in operation.get("requestBody", {}).get("content", {}).items():
        parts.append(f"<p>Body, {escape(media_type)}: {_type(body['schema'])}</p>")
        if "example" in body:
            parts.append(f"<pre>{escape(json.dumps(body['example'], indent=2))}</pre>")
    rows = [
        [status, each["description"], *(_type(it["schema"]) for it in each["content"].values())]
        if "content" in each
        else [status, each["description"]]
        for status, each in operation["responses"].items()
    ]
    parts.append(_table("response", rows))
    title = f"<b>{method}</b> <code>{escape(path)}</code> {escape(operation['summary'])}"
    name = operation["operationId"]
    return f"<details id='{name}'><summary>{title}</summary><div>{''.join(parts)}</div></details>"


def _component(name: str, schema: dict[str, Any]) -> str:
    required = schema.get("required", [])
    rows = [
        [field, "required" if field in required else "", _type(kind)]
        for field, kind in schema.get("properties", {}).items()
    ]
    text = f"<p>{escape(schema.get('description', ''))}</p>"
    body = _table("field", rows) if rows else f"<p>{_type(schema)}</p>"
    title = f"<summary><code>{escape(name)}</code></summary>"
    return f"<details id='{escape(name)}'>{title}<div>{text}{body}</div></details>"


def _table(first: str, rows: list[list[str]]) -> str:
    """The first cell of a row is code; the others are escaped, unless they are links already."""
    lines = [
        f"<tr><td><code>{escape(row[0])}</code>"
        + "".join(f"<td>{each if each.startswith('<') else escape(each)}" for each in row[1:])
        for row in rows
    ]
    return f"<table><tr><th>{first}</th></tr>{''.join(lines)}</table>"


def _type(schema: dict[str, Any]) -> str:
    """A schema in a few words, as HTML."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"<a href='#{name}'>{name}</a>"
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return "<span>" + " or ".join(map(_type, schema[key])) + "</span>"
    if "enum" in schema:
        return "<span>" + escape(", ".join(map(str, schema["enum"]))) + "</span>"
    if schema.get("type") == "array":  # a tuple has `items: false`
        return f"<span>array of {_type(schema.get('items') or {})}</span>"
    shown = str(schema.get("type", "any"))
    limits = ("format", "minimum", "maximum", "maxLength", "default")
    shown += "".join(f", {name} {schema[name]}" for name in limits if name in schema)
    return f"<span>{escape(shown)}</span>"
