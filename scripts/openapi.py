"""Prints the OpenAPI document of the API, which the types of the admin UI are made from."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from typing import Any

from webloom.bootstrap.connections import open_services
from webloom.entrypoints.api.activity import Activity
from webloom.entrypoints.api.app import create_app
from webloom.entrypoints.heartbeat import first_beat
from webloom.settings import load_settings


async def document() -> bytes:
    with tempfile.TemporaryDirectory(prefix="webloom-") as folder:
        settings = load_settings({"WEBLOOM_DATA_DIR": folder})
        async with open_services(settings) as services:
            stopping = asyncio.Event()
            beat = first_beat(services, "api")
            app = create_app(services, beat, Activity(services, beat, stopping), stopping)
            return await _get(app, "/openapi.json")


async def _get(app: Any, path: str) -> bytes:
    parts: list[bytes] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        parts.append(message.get("body", b""))

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
    }
    await app(scope, receive, send)
    return b"".join(parts)


if __name__ == "__main__":
    sys.stdout.buffer.write(asyncio.run(document()))
