"""What stands before every route: who may ask, from where, and how much.

A page in the user's browser can send requests to a loopback address. Its Host header (after a DNS
trick), its Origin or its Sec-Fetch-Site gives it away, and it is refused before anything happens.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import logging
import time

from prometheus_client import Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from webloom.entrypoints.api.answers import problem
from webloom.settings import Settings

log = logging.getLogger(__name__)

MAX_BODY_BYTES = 1024 * 1024
MAX_BATCH_BODY_BYTES = 16 * 1024 * 1024
BATCH_PATH = "/metadata/batch"
BODY_SECONDS = 30.0
OPEN_PATHS = frozenset({"/health/live"})  # need no key
STATIC_PATHS = frozenset({"/"})  # harmless to be linked to
MAX_KEY_BYTES = 512

Headers = dict[bytes, bytes]


class Refusal(Exception):
    def __init__(self, status: int, detail: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = headers


class Guard:
    """ASGI middleware, outermost."""

    def __init__(self, app: ASGIApp, settings: Settings, durations: Histogram) -> None:
        self._app = app
        self._hosts = _allowed_hosts(settings)
        self._any_address = not settings.binds_to_loopback
        self._key_hashes = [bytes.fromhex(each) for each in settings.api_key_hashes]
        self._durations = durations

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        started = time.perf_counter()
        sent = _Sent(send)
        try:
            headers: Headers = dict(scope["headers"])
            self._check_site(headers, scope["path"])
            self._check_key(headers, scope["path"])
            await self._app(scope, _bounded(scope, headers, receive), sent)
        except Refusal as refusal:
            if sent.status is None:
                answer = problem(refusal.status, refusal.detail, refusal.headers)
                await answer(scope, receive, sent)
        except Exception:
            log.exception("a request failed", extra={"path": scope["path"]})
            if sent.status is None:
                answer = problem(500, "Webloom failed to answer; its log says why.")
                await answer(scope, receive, sent)
        finally:
            route = getattr(scope.get("route"), "path", "none")
            self._durations.labels(scope["method"], route, sent.status or 499).observe(
                time.perf_counter() - started
            )

    def _check_site(self, headers: Headers, path: str) -> None:
        host = headers.get(b"host", b"")
        if not self._is_allowed(host):
            raise Refusal(
                421,
                f"This API is not called {_shown(host)}. "
                "If it should be, name it in WEBLOOM_ALLOWED_HOSTS.",
            )
        origin = headers.get(b"origin")
        if origin is not None and origin.partition(b"://")[2] != host:
            raise Refusal(403, f"Requests from pages of {_shown(origin)} are refused.")
        site = headers.get(b"sec-fetch-site", b"none")
        if site not in (b"none", b"same-origin") and path not in STATIC_PATHS:
            raise Refusal(403, "Requests from pages of other sites are refused.")

    def _is_allowed(self, host: bytes) -> bool:
        if host in self._hosts:
            return True
        name = _without_port(host.lower())
        if name in self._hosts:
            return True
        return self._any_address and _is_address(name)

    def _check_key(self, headers: Headers, path: str) -> None:
        if not self._key_hashes or path in OPEN_PATHS:
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
        digest = hashlib.sha256(key[:MAX_KEY_BYTES]).digest()
        # Every key is compared, so that the time says nothing.
        if not sum(hmac.compare_digest(digest, each) for each in self._key_hashes):
            raise Refusal(403, "This key is not known here.")


class _Sent:
    """Passes messages on and remembers whether the answer has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status: int | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        await self._send(message)


def _bounded(scope: Scope, headers: Headers, receive: Receive) -> Receive:
    """Refuse a body that is too large, announced or not, or too slow."""
    if b"content-length" not in headers and b"transfer-encoding" not in headers:
        return receive
    limit = MAX_BATCH_BODY_BYTES if scope["path"] == BATCH_PATH else MAX_BODY_BYTES
    too_large = f"The body is larger than {limit} bytes."
    announced = headers.get(b"content-length", b"0")
    if not announced.isdigit() or int(announced[:20]) > limit:
        raise Refusal(413, too_large)
    deadline = time.monotonic() + BODY_SECONDS
    size = 0

    async def receive_some() -> Message:
        nonlocal size
        try:
            async with asyncio.timeout(deadline - time.monotonic()):
                message = await receive()
        except TimeoutError:
            raise Refusal(408, f"The body did not arrive within {BODY_SECONDS:.0f} s.") from None
        size += len(message.get("body", b""))
        if size > limit:
            raise Refusal(413, too_large)
        return message

    return receive_some


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
