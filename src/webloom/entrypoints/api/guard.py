"""What stands before every route: who may ask, from where, and how much.

A page in the user's browser can send requests to a loopback address. Its Host header (after a DNS
trick), its Origin or its Sec-Fetch-Site gives it away, and it is refused before anything happens.
Pages of origins that WEBLOOM_ALLOW_ORIGINS names are let through: cors.py.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import logging
import time
from typing import Any

from prometheus_client import Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from webloom.entrypoints.api.answers import Refusal, problem
from webloom.entrypoints.api.cors import (
    AllowedOrigins,
    HeaderList,
    Headers,
    is_preflight,
    preflight_answer,
)
from webloom.entrypoints.api.security_headers import with_defaults
from webloom.entrypoints.api.ui import is_ui
from webloom.settings import LONGEST_KEY, Settings

log = logging.getLogger(__name__)

MAX_BODY_BYTES = 1024 * 1024
MAX_BATCH_BODY_BYTES = 16 * 1024 * 1024
BATCH_PATHS = frozenset(
    {"/metadata/batch", "/api/feeds/opml", "/api/watch/events", "/api/watches/import"}
)
BODY_SECONDS = 30.0
OPEN_PATHS = frozenset({"/health/live"})  # need no key
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Guard:
    """ASGI middleware, outermost."""

    def __init__(self, app: ASGIApp, settings: Settings, durations: Histogram) -> None:
        self._app = app
        self._hosts = _allowed_hosts(settings)
        self._origins = AllowedOrigins(settings.allow_origins)
        self._any_address = not settings.binds_to_loopback
        self._key_hashes = [bytes.fromhex(each) for each in settings.api_key_hashes]
        self._durations = durations
        self._series: dict[tuple[str, str, int], Histogram] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        started = time.perf_counter()
        headers: Headers = dict(scope["headers"])
        sent = _Sent(send, self._origins.response_headers(headers.get(b"origin")))
        try:
            refusal = await self._serve(scope, headers, receive, sent)
            if refusal is not None and sent.status is None:
                answer = problem(refusal.status, refusal.detail, refusal.headers)
                await answer(scope, receive, sent)
        finally:
            self._observe(scope, sent.status, time.perf_counter() - started)

    async def _serve(
        self, scope: Scope, headers: Headers, receive: Receive, sent: _Sent
    ) -> Refusal | None:
        body = None
        try:
            self._check_site(headers, scope["path"])
            if self._is_answerable_preflight(scope, headers):
                await preflight_answer()(scope, receive, sent)
                return None
            self._check_key(headers, scope["path"])
            body = _body_of(scope, headers, receive)
            await self._app(scope, body or receive, sent)
        except Refusal as refusal:
            return refusal
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if body is None or not body.expired or task is None or task.uncancel():
                raise
            return Refusal(408, f"The body did not arrive within {BODY_SECONDS:.0f} s.")
        except Exception:
            log.exception("a request failed", extra={"path": scope["path"]})
            return Refusal(500, "Webloom failed to answer; its log says why.")
        finally:
            if body is not None:
                body.close()
        return None

    def _observe(self, scope: Scope, status: int | None, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "none")
        method = scope["method"] if scope["method"] in METHODS else "other"
        labels = (method, route, status or 499)
        series = self._series.get(labels)
        if series is None:
            series = self._series[labels] = self._durations.labels(*labels)
        series.observe(seconds)

    def _check_site(self, headers: Headers, path: str) -> None:
        host = headers.get(b"host", b"")
        if not self._is_allowed(host):
            raise Refusal(
                421,
                f"This API is not called {_shown(host)}. "
                "If it should be, name it in WEBLOOM_ALLOWED_HOSTS.",
            )
        origin = headers.get(b"origin")
        if self._origins.admit(origin):
            return
        if origin is not None and origin.partition(b"://")[2] != host:
            raise Refusal(403, f"Requests from pages of {_shown(origin)} are refused.")
        site = headers.get(b"sec-fetch-site", b"none")
        if site not in (b"none", b"same-origin") and not is_ui(path):
            raise Refusal(403, "Requests from pages of other sites are refused.")

    def _is_answerable_preflight(self, scope: Scope, headers: Headers) -> bool:
        return is_preflight(scope["method"], headers) and self._origins.admit(
            headers.get(b"origin")
        )

    def _is_allowed(self, host: bytes) -> bool:
        if host in self._hosts:
            return True
        name = _without_port(host.lower())
        if name in self._hosts:
            return True
        return self._any_address and _is_address(name)

    def _check_key(self, headers: Headers, path: str) -> None:
        if not self._key_hashes or path in OPEN_PATHS or is_ui(path):
            return
        key = headers.get(b"x-api-key")
        scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
        if key is None and scheme.lower() == b"bearer":
            key = token.strip()
        if not key:
            raise Refusal(
                401,
                "This API asks for a key: send it as Authorization: Bearer <key>.",
                {"WWW-Authenticate": "Bearer"},
            )
        digest = hashlib.sha256(key[: LONGEST_KEY + 1]).digest()
        # Every key is compared, so that the time says nothing.
        if not sum(hmac.compare_digest(digest, each) for each in self._key_hashes):
            raise Refusal(403, "This key is not known here.")


class _Sent:
    """Passes messages on, adds headers, and remembers whether the answer has begun."""

    def __init__(self, send: Send, headers: HeaderList) -> None:
        self._send = send
        self._headers = headers
        self.status: int | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [*message.get("headers", ()), *self._headers]
            message["headers"] = with_defaults(headers)
        await self._send(message)


class _Body:
    """Receives a body and refuses one that is too large, announced or not, or too slow."""

    def __init__(self, limit: int, receive: Receive) -> None:
        self._limit = limit
        self._receive = receive
        self._size = 0
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[Any] | None = None
        self.expired = False

    async def __call__(self) -> Message:
        if self._task is None:  # cheaper than asyncio.timeout, which every request would pay for
            self._task = asyncio.current_task()
            self._timer = asyncio.get_running_loop().call_later(BODY_SECONDS, self._expire)
        message = await self._receive()
        self._size += len(message.get("body", b""))
        if self._size > self._limit:
            raise Refusal(413, _too_large(self._limit))
        if not message.get("more_body", False):
            self.close()
        return message

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _expire(self) -> None:
        if self._task is not None:
            self.expired = True
            self._task.cancel()


def _too_large(limit: int) -> str:
    return f"The body is larger than {limit} bytes."


def _body_of(scope: Scope, headers: Headers, receive: Receive) -> _Body | None:
    if b"content-length" not in headers and b"transfer-encoding" not in headers:
        return None
    limit = MAX_BATCH_BODY_BYTES if scope["path"] in BATCH_PATHS else MAX_BODY_BYTES
    announced = headers.get(b"content-length", b"0")
    if not announced.isdigit() or int(announced[:20]) > limit:
        raise Refusal(413, _too_large(limit))
    return _Body(limit, receive)


def _allowed_hosts(settings: Settings) -> frozenset[bytes]:
    names = {"localhost", "127.0.0.1", "[::1]", *settings.allowed_hosts}
    host = settings.host.lower()
    names.add(f"[{host}]" if ":" in host else host)
    return frozenset(
        form.lower().encode() for name in names for form in (name, f"{name}:{settings.port}")
    )


def _without_port(host: bytes) -> bytes:
    if host.endswith(b"]"):
        return host
    name, colon, port = host.rpartition(b":")
    return name if colon and port.isdigit() else host


def _is_address(name: bytes) -> bool:
    try:
        ipaddress.ip_address(name.strip(b"[]").decode("ascii"))
    except ValueError:
        return False
    return True


def _shown(value: bytes) -> str:
    return repr(value[:200].decode("ascii", "replace"))
