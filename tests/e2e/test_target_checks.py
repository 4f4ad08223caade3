"""While the notification targets of an import are checked, the API serves other requests."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from timeouts import TIMEOUT_SECONDS
from webloom.bootstrap import services
from webloom.bootstrap.connections import open_services
from webloom.entrypoints.api.activity import Activity
from webloom.entrypoints.api.app import create_app
from webloom.entrypoints.heartbeat import first_beat
from webloom.settings import load_settings

TOO_LONG = 10.0  # seconds, after which a check gives up on an event loop that it blocks


class SlowCheck:
    """A check of addresses that ends when `may_end` is set."""

    def __init__(self) -> None:
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.was_in_the_way = False

    def __call__(self, address: str) -> None:
        self.begun.set()
        self.was_in_the_way |= not self.may_end.wait(TOO_LONG)


async def called(app: Any, method: str, path: str, body: bytes = b"") -> tuple[int, Any]:
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1"), (b"content-length", b"%d" % len(body))],
        "server": ("127.0.0.1", 8081),
    }
    await app(scope, receive, send)
    start, *parts = sent
    return start["status"], msgspec.json.decode(b"".join(each["body"] for each in parts))


async def test_other_requests_are_served_while_addresses_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = SlowCheck()
    monkeypatch.setattr(services, "check_target", check)
    settings = load_settings({"WEBLOOM_DATA_DIR": str(tmp_path)})
    watches = [
        {"url": f"https://{name}.test/", "targets": [{"url": f"json://{name}.test"}]}
        for name in "abc"
    ]
    async with open_services(settings) as opened, asyncio.timeout(TIMEOUT_SECONDS):
        stopping = asyncio.Event()
        beat = first_beat(opened, "api")
        app = create_app(opened, beat, Activity(opened, beat, stopping), stopping)
        importing = asyncio.create_task(
            called(app, "POST", "/api/watches/import", msgspec.json.encode(watches))
        )
        await asyncio.to_thread(check.begun.wait)
        status, _ = await called(app, "GET", "/health/live")
        assert (status, importing.done()) == (200, False)
        check.may_end.set()
        status, answer = await importing
    assert (status, answer["added"]) == (200, 3)
    assert not check.was_in_the_way
