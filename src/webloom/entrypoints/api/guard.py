"""Checks every request before its route: host, origin, key, and limits on size and number.

A page in the user's browser can send requests to a loopback address. Its Host header (after DNS
rebinding), its Origin or its Sec-Fetch-Site gives it away, and it is refused before anything
happens. Pages of origins that WEBLOOM_ALLOW_ORIGINS names may pass: cors.py.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import logging
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import NoReturn

from prometheus_client import Histogram
from starlette.types import ASGIApp, Receive, Scope, Send

from webloom.entrypoints.api.bodies import BODY_SECONDS, BoundedResponse, body_of
from webloom.entrypoints.api.clients import TrustedProxies
from webloom.entrypoints.api.cors import (
    AllowedOrigins,
    Headers,
    is_preflight,
    preflight_response,
)
from webloom.entrypoints.api.memory_room import TRY_LATER, MemoryRoom, Share
from webloom.entrypoints.api.responses import FAILED, Refusal, problem
from webloom.entrypoints.api.ui import is_ui
from webloom.entrypoints.api.wrong_keys import WrongKeys
from webloom.settings import LONGEST_KEY, Settings

log = logging.getLogger(__name__)

REQUEST_ROOM = 32 * 1024 * 1024  # for bodies of requests: two of the largest
RESPONSE_ROOM = 64 * 1024 * 1024
MOST_COMPOSED = 2  # responses of a kind at a time whose size is not known before
STREAM_PATHS = frozenset({"/api/live", "/api/import-logs/stream", "/api/import-logs/sse"})
OPEN_PATHS = frozenset({"/health/live"})  # need no key
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
ONCE = frozenset({b"host", b"origin", b"authorization", b"x-api-key", b"content-length"})
COMPOSED = (  # beginnings of paths whose responses may be large
    "/metadata/records", "/api/jobs", "/api/queues/", "/api/watches", "/api/watch/pages",
    "/api/watch/feed.atom", "/api/feeds/opml", "/api/changes",
)  # fmt: skip
_UNCOUNTED = nullcontext()


class Guard:
    """ASGI middleware, outermost."""

    def __init__(self, app: ASGIApp, settings: Settings, durations: Histogram) -> None:
        self._app = app
        self._hosts = _allowed_hosts(settings)
        self._origins = AllowedOrigins(settings.allow_origins)
        self._any_address = not settings.binds_to_loopback
        self._key_hashes = [bytes.fromhex(each) for each in settings.api_key_hashes]
        self._wrong_keys = WrongKeys()
        self._proxies = TrustedProxies(settings.trusted_proxies)
        self._most_of_client = settings.connections_per_address
        self._most_streamed = settings.spool_budget
        self._streams: Counter[str] = Counter()
        self._forwarded: Counter[str] = Counter()  # requests that a proxy has passed on
        self._request_room = MemoryRoom(REQUEST_ROOM)
        self._response_room = MemoryRoom(RESPONSE_ROOM)
        self._composing = {path: asyncio.Semaphore(MOST_COMPOSED) for path in COMPOSED}
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
        peer = scope["client"][0] if scope.get("client") else ""
        client = self._proxies.client(peer, scope["headers"])
        share = Share(self._response_room, client)
        # For routes that know the size beforehand.
        scope.setdefault("state", {})["response_share"] = share
        sent = BoundedResponse(
            scope, send, self._origins.response_headers(headers.get(b"origin")), share
        )
        try:
            with self._counted(scope["path"], peer, client):
                await self._serve(scope, headers, receive, sent, client)
        except Refusal as refusal:
            if sent.status is None:
                share.close()
                sent.refusal = None
                response = problem(refusal.status, refusal.detail, refusal.headers)
                await response(scope, receive, sent)
        finally:
            share.close()
            self._observe(scope, sent.status, time.perf_counter() - started)

    async def _serve(
        self, scope: Scope, headers: Headers, receive: Receive, sent: BoundedResponse, client: str
    ) -> None:
        body = None
        try:
            self._check_site(scope, headers)
            if self._is_allowed_preflight(scope, headers):
                await preflight_response()(scope, receive, sent)
                return
            await self._check_key(headers, scope["path"], client)
            share = Share(self._request_room, client)
            body = body_of(scope, headers, receive, share, most_streamed=self._most_streamed)
            if turn := self._turn(scope):
                await turn.acquire()
                sent.when_composed(turn.release)
            await self._app(scope, body or receive, sent)
            if sent.refusal is not None:
                raise sent.refusal
        except Refusal:
            raise
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if body is None or not body.expired or task is None or task.uncancel():
                raise
            raise Refusal(408, f"The body did not arrive within {BODY_SECONDS:.0f} s.") from None
        except Exception:
            log.exception("a request failed", extra={"path": scope["path"]})
            raise Refusal(500, FAILED) from None
        finally:
            sent.end_composing()
            if body is not None:
                body.close()

    def _turn(self, scope: Scope) -> asyncio.Semaphore | None:
        if scope["method"] != "GET" or not scope["path"].startswith(COMPOSED):
            return None
        return next(self._composing[each] for each in COMPOSED if scope["path"].startswith(each))

    def _counted(self, path: str, peer: str, client: str) -> AbstractContextManager[object]:
        """A proxy has few connections, so requests of its clients are counted instead."""
        if path in STREAM_PATHS:
            return _one_more(self._streams, client, max(1, self._most_of_client // 2), "streams")
        if self._proxies.include(peer):
            return _one_more(self._forwarded, client, self._most_of_client, "requests")
        return _UNCOUNTED

    def _observe(self, scope: Scope, status: int | None, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "none")
        method = scope["method"] if scope["method"] in METHODS else "other"
        labels = (method, route, status or 499)
        series = self._series.get(labels)
        if series is None:
            series = self._series[labels] = self._durations.labels(*labels)
        series.observe(seconds)

    def _check_site(self, scope: Scope, headers: Headers) -> None:
        if len(headers) != len(scope["headers"]):
            _refuse_repeated(scope["headers"])
        host = headers.get(b"host", b"")
        if not self._is_allowed(host):
            raise Refusal(
                421,
                f"Host {_shown(host)} is not allowed. "
                "If it is a name of this API, add it to WEBLOOM_ALLOWED_HOSTS.",
            )
        origin = headers.get(b"origin")
        if self._origins.admit(origin):
            return
        site = headers.get(b"sec-fetch-site", b"none")
        if origin is not None:
            self._check_origin(scope, origin, host, site)
        if site not in (b"none", b"same-origin") and not is_ui(scope["path"]):
            raise Refusal(403, "Requests from pages of other sites are refused.")

    def _check_origin(self, scope: Scope, origin: bytes, host: bytes, site: bytes) -> None:
        """`Sec-Fetch-Site: same-origin` from an https:// page means that a proxy terminates TLS."""
        scheme, _, name = origin.partition(b"://")
        peer = scope["client"][0] if scope.get("client") else ""
        schemes = {b"https" if self._proxies.uses_https(peer, scope["headers"]) else b"http"}
        if site == b"same-origin":
            schemes.add(b"https")
        if name != host or scheme not in schemes:
            hint = ""
            if name == host and scheme == b"https":
                hint = " If a proxy serves this API over HTTPS, name it in WEBLOOM_TRUSTED_PROXIES."
            raise Refusal(403, f"Requests from pages of {_shown(origin)} are refused.{hint}")

    def _is_allowed_preflight(self, scope: Scope, headers: Headers) -> bool:
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

    async def _check_key(self, headers: Headers, path: str, client: str) -> None:
        if not self._key_hashes or path in OPEN_PATHS or is_ui(path):
            return
        key = headers.get(b"x-api-key")
        scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
        if key is None and scheme.lower() == b"bearer":
            key = token.strip()
        if not key:
            raise Refusal(
                401,
                "An API key is required: send it as Authorization: Bearer <key>.",
                {"WWW-Authenticate": "Bearer"},
            )
        digest = hashlib.sha256(key[: LONGEST_KEY + 1]).digest()
        # Compare with every key, so that timing reveals nothing.
        if not sum(hmac.compare_digest(digest, each) for each in self._key_hashes):
            await self._refuse_key(client)

    async def _refuse_key(self, client: str) -> NoReturn:
        verdict = self._wrong_keys.note(client)
        await asyncio.sleep(verdict.pause)
        if verdict.retry_after is not None:
            raise Refusal(
                429,
                "The API key is wrong, and there were too many wrong keys from this address.",
                {"Retry-After": str(verdict.retry_after)},
            )
        raise Refusal(403, "The API key is wrong.")


@contextmanager
def _one_more(counts: Counter[str], client: str, most: int, what: str) -> Iterator[None]:
    if counts[client] >= most:
        raise Refusal(
            429,
            f"This address has {most} {what} already, which is the limit.",
            TRY_LATER,
        )
    counts[client] += 1
    try:
        yield
    finally:
        counts[client] -= 1
        if not counts[client]:
            del counts[client]


def _refuse_repeated(headers: Iterable[tuple[bytes, bytes]]) -> None:
    seen = set()
    for name, _ in headers:
        if name in seen and name in ONCE:
            raise Refusal(400, f"The request has more than one header {name.decode()}.")
        seen.add(name)


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
