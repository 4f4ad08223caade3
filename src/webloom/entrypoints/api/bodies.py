"""Bodies of requests and responses, each within its limit and within the memory for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from starlette.types import Message, Receive, Scope, Send

from webloom.entrypoints.api.cors import HeaderList, Headers
from webloom.entrypoints.api.memory_room import SMALL, TRY_LATER, Share
from webloom.entrypoints.api.pace import LEAST_RATE, Pace
from webloom.entrypoints.api.responses import Refusal
from webloom.entrypoints.api.security_headers import with_defaults
from webloom.entrypoints.api.ui import is_ui

MAX_BODY_BYTES = 1024 * 1024
MAX_BATCH_BODY_BYTES = 16 * 1024 * 1024
BATCH_PATHS = frozenset(
    {
        "/metadata/batch",
        "/api/feeds/opml",
        "/api/feeds/opml/preview",
        "/api/watch/events",
        "/api/watches/import",
        "/api/watches/import/preview",
        "/api/watches/bulk",
        "/api/feeds/bulk",
        "/api/import-logs/bulk",
        "/metadata/bulk",
    }
)
STREAMED_PATHS = frozenset({"/api/restore", "/api/restore/preview"})  # not kept in memory
BODY_SECONDS = 30.0
NO_ROOM = "Too many large responses are being sent at the moment. Try again."


class BoundedResponse:
    """Passes messages on, adds headers, sends large bodies in pieces, and remembers whether the
    response has begun. The head waits for the first piece of the body, whose size decides whether
    there is room for it."""

    def __init__(self, scope: Scope, send: Send, headers: HeaderList, share: Share) -> None:
        self._scope = scope
        self._send = send
        self._headers = headers
        self._share = share
        self._head: Message | None = None
        self._when_composed: Callable[[], None] | None = None
        self.status: int | None = None
        self.refusal: Refusal | None = None

    def when_composed(self, call: Callable[[], None]) -> None:
        self._when_composed = call

    def end_composing(self) -> None:
        if self._when_composed is not None:
            call, self._when_composed = self._when_composed, None
            call()

    async def __call__(self, message: Message) -> None:
        if self.refusal is not None:
            return
        if message["type"] == "http.response.start":
            self._head = message
            return
        if self._head is not None:
            self.end_composing()
            if not self._has_room(message):
                self.refusal = Refusal(503, NO_ROOM, TRY_LATER)
                return
            head, self._head = self._head, None
            self.status = head["status"]
            headers = [*head.get("headers", ()), *self._headers]
            head["headers"] = with_defaults(headers)
            await self._send(head)
        await self._send_in_pieces(message)

    def _has_room(self, message: Message) -> bool:
        """A GET, which the client can repeat, is refused when there is no room."""
        if message.get("more_body", False) or is_ui(self._scope["path"]):
            return True  # made piece by piece, or in memory anyway
        size = len(message.get("body", b""))
        if self._scope["method"] == "GET" and not self._share.fits(size):
            return False
        self._share.resize(size)
        return True

    async def _send_in_pieces(self, message: Message) -> None:
        body = message.get("body", b"")
        if len(body) <= SMALL:
            await self._send(message)
            return
        whole = memoryview(body)
        for start in range(0, len(whole), SMALL):
            is_last = start + SMALL >= len(whole)
            more = message.get("more_body", False) or not is_last
            piece = whole[start : start + SMALL]
            await self._send({"type": message["type"], "body": piece, "more_body": more})


class BoundedBody:
    """Receives a body and refuses one that is too large, announced or not, or too slow."""

    def __init__(self, limit: int, announced: int, receive: Receive, share: Share) -> None:
        self._limit = limit
        self._announced = announced
        self._receive = receive
        self._share = share
        self._size = 0
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[Any] | None = None
        self.expired = False

    async def __call__(self) -> Message:
        if self._task is None:
            await self._share.take(self._announced)
            # Cheaper than asyncio.timeout, which every request would pay for.
            self._task = asyncio.current_task()
            self._timer = asyncio.get_running_loop().call_later(BODY_SECONDS, self._expire)
        message = await self._receive()
        self._size += len(message.get("body", b""))
        if self._size > self._limit:
            raise Refusal(413, _too_large(self._limit))
        if not message.get("more_body", False):
            self._stop_timer()
        return message

    def close(self) -> None:
        self._stop_timer()
        self._share.close()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _expire(self) -> None:
        if self._task is not None:
            self.expired = True
            self._task.cancel()


class StreamedBody:
    """Hands a large body on piece by piece. Refuses one that is too large, announced or not, or too
    slow."""

    expired = False

    def __init__(self, limit: int, receive: Receive) -> None:
        self._limit = limit
        self._receive = receive
        self._pace = Pace()
        self._left = limit
        self._is_complete = False

    async def __call__(self) -> Message:
        if self._is_complete:
            return await self._receive()
        try:
            message = await self._pace.keep(self._receive(), _size)
        except TimeoutError:
            detail = f"The body came slower than {LEAST_RATE:,} bytes per second."
            raise Refusal(408, detail) from None
        self._left -= _size(message)
        if self._left < 0:
            raise Refusal(413, _too_large(self._limit))
        self._is_complete = not message.get("more_body", False)
        return message

    def close(self) -> None:
        pass


def _size(message: Message) -> int:
    return len(message.get("body", b""))


def _too_large(limit: int) -> str:
    return f"The body is larger than {limit} bytes."


def body_of(
    scope: Scope, headers: Headers, receive: Receive, share: Share, *, most_streamed: int
) -> BoundedBody | StreamedBody | None:
    if b"content-length" not in headers and b"transfer-encoding" not in headers:
        return None
    is_streamed = scope["path"] in STREAMED_PATHS
    limit = MAX_BATCH_BODY_BYTES if scope["path"] in BATCH_PATHS else MAX_BODY_BYTES
    limit = most_streamed if is_streamed else limit
    announced = headers.get(b"content-length", b"%d" % limit)
    if not announced.isdigit() or int(announced[:20]) > limit:
        raise Refusal(413, _too_large(limit))
    if is_streamed:
        return StreamedBody(limit, receive)
    return BoundedBody(limit, int(announced[:20]), receive, share)
