"""Large responses and the limit on their memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from prometheus_client import CollectorRegistry
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from webloom.entrypoints.api.guard import RESPONSE_ROOM, Guard
from webloom.entrypoints.api.memory_room import SMALL
from webloom.entrypoints.api.metrics import request_histogram
from webloom.settings import load_settings

LARGE = b"x" * (RESPONSE_ROOM // 2)


class Client:
    """Takes what it is sent, or stops at the first piece of the body."""

    def __init__(self, guard: Guard, path: str, *, address: str, reads: bool = True) -> None:
        self.sent: list[Message] = []
        self.stands_still = asyncio.Event()
        self._reads = reads
        scope = {
            "type": "http", "http_version": "1.1", "method": "GET", "scheme": "http",
            "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "",
            "headers": [(b"host", b"127.0.0.1")], "client": (address, 1), "server": None,
        }  # fmt: skip
        self.task = asyncio.create_task(guard(scope, self._receive, self._send))

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def body(self) -> bytes:
        return b"".join(bytes(message["body"]) for message in self.sent[1:])

    async def _receive(self) -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def _send(self, message: Message) -> None:
        self.sent.append(message)
        if message["type"] == "http.response.body" and not self._reads:
            self.stands_still.set()
            await asyncio.Event().wait()


def guarded(body: Callable[[str], bytes]) -> Guard:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await Response(body(scope["path"]))(scope, receive, send)

    return Guard(app, load_settings({}), request_histogram(CollectorRegistry()))


def sized(path: str) -> bytes:
    return LARGE if "large" in path else b"small"


async def test_a_large_response_without_room_is_refused_and_a_small_one_is_not() -> None:
    guard = guarded(sized)
    stuck = [
        Client(guard, "/api/jobs/large", address=f"192.0.2.{number}", reads=False)
        for number in range(2)
    ]
    for each in stuck:
        await each.stands_still.wait()
    refused = Client(guard, "/api/jobs/large", address="192.0.2.9")
    small = Client(guard, "/api/jobs/1", address="192.0.2.9")
    await asyncio.gather(refused.task, small.task)
    assert (refused.status, small.status) == (503, 200)
    assert (b"retry-after", b"10") in refused.sent[0]["headers"]
    stuck[0].task.cancel()
    await asyncio.wait([stuck[0].task])
    again = Client(guard, "/api/jobs/large", address="192.0.2.9")
    await again.task
    assert (again.status, again.body) == (200, LARGE)
    stuck[1].task.cancel()
    await asyncio.wait([stuck[1].task])


async def test_clients_that_stand_still_do_not_keep_others_from_being_answered() -> None:
    """Of responses that are composed a few at a time."""
    guard = guarded(lambda path: b"x" * (SMALL + 1))
    stuck = [
        Client(guard, "/api/jobs", address=f"192.0.2.{number}", reads=False) for number in range(20)
    ]
    for each in stuck:
        await each.stands_still.wait()
    other = Client(guard, "/api/jobs", address="192.0.2.99")
    await other.task
    assert other.status == 200
    for each in stuck:
        each.task.cancel()
    await asyncio.wait([each.task for each in stuck])


async def test_a_large_body_is_sent_in_pieces() -> None:
    client = Client(guarded(sized), "/api/jobs/large", address="192.0.2.1")
    await client.task
    pieces: list[dict[str, Any]] = [dict(message) for message in client.sent[1:]]
    assert max(len(piece["body"]) for piece in pieces) == SMALL
    assert [piece["more_body"] for piece in pieces] == [True] * (len(pieces) - 1) + [False]
    assert client.body == LARGE
