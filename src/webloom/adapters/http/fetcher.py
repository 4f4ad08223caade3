"""One fetch: GET, follow redirects, read, within bounds.

fetch -> normalise -> [ request -> redirect? -> join -> ] ... -> read_body -> Received
          `---------------- all of it within total_seconds -----------------'

Each request goes through the gate; every error becomes FetchFailed in `failures.explain`.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime
from time import perf_counter
from types import TracebackType
from typing import Any, Self, cast
from weakref import WeakKeyDictionary

from aiohttp import (
    ClientResponse,
    ClientSession,
    ClientTimeout,
    CookieJar,
    DummyCookieJar,
    HttpVersion11,
    TCPConnector,
)
from aiohttp.abc import AbstractResolver
from aiohttp.connector import Connection
from yarl import URL

from webloom import __version__
from webloom.adapters.http.body import ACCEPT_ENCODING, Body, read_body
from webloom.adapters.http.deadline import Deadline
from webloom.adapters.http.failures import explain
from webloom.adapters.http.gate import (
    Dial,
    GuardedResolver,
    SystemResolver,
    current_dial,
    guarded_socket_factory,
)
from webloom.adapters.http.headers import cookie_of, plain_headers, seconds_to_wait
from webloom.domain.errors import FetchFailed, UrlRefused
from webloom.domain.inventory import MAX_SOURCE_CHARACTERS, Received
from webloom.domain.network_policy import NetworkPolicy
from webloom.parsing.web_url import join, normalise

_HEADERS = {
    "User-Agent": f"Webloom/{__version__} (+self-hosted)",
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Accept-Encoding": ACCEPT_ENCODING,
}
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_RAW_BYTE = re.compile("[\udc80-\udcff]")  # how aiohttp hands over a byte that is not UTF-8


@dataclass(frozen=True, kw_only=True, slots=True)
class FetchLimits:
    total_seconds: float = 30.0  # for the whole chain, from first lookup to last byte
    connect_seconds: float = 10.0
    max_body_bytes: int = 10 * 1024 * 1024  # on the wire and decompressed
    max_redirects: int = 5
    connections: int = 256  # open at the same time; a fetch beyond waits, within its total time


class _Journey:
    """What a fetch gathers on its way."""

    __slots__ = ("chain", "cookies", "jar", "seen", "started")

    def __init__(self, started: float) -> None:
        self.started = started
        self.chain: list[dict[str, Any]] = []  # the hops before the final one
        self.cookies: dict[str, str] = {}
        self.jar: CookieJar | None = None  # only once a redirect has set a cookie
        self.seen: set[tuple[str, str | None]] = set()

    def keep_cookies(self, response: ClientResponse) -> None:
        lines = response.headers.getall("Set-Cookie")
        for line in lines:
            if cookie := cookie_of(line):
                self.cookies[cookie[0]] = cookie[1]
        if response.status in _REDIRECTS:
            if self.jar is None:
                # Values go back as they came; sites at an address may have cookies too.
                self.jar = CookieJar(unsafe=True, quote_cookie=False)
            self.jar.update_cookies_from_headers(lines, response.url)


class HttpFetcher:
    """The Fetcher port over aiohttp. One policy, one pool of connections."""

    def __init__(
        self,
        *,
        policy: NetworkPolicy,
        limits: FetchLimits | None = None,
        resolver: AbstractResolver | None = None,  # closed with the fetcher
        ssl_context: ssl.SSLContext | None = None,  # default: the system's certificates
    ) -> None:
        self._policy = policy
        self._limits = limits or FetchLimits()
        self._given_resolver = resolver
        self._ssl_context = ssl_context

    async def __aenter__(self) -> Self:
        self._resolver = GuardedResolver(self._policy, self._given_resolver or SystemResolver())
        self._deadline = Deadline(self._limits.total_seconds)
        self._session = ClientSession(
            connector=TCPConnector(
                resolver=self._resolver,
                socket_factory=guarded_socket_factory(self._policy),
                ssl=self._ssl_context or True,
                limit=self._limits.connections,
            ),
            headers=_HEADERS,
            cookie_jar=DummyCookieJar(),
            response_class=_TimedResponse,
            # The total is bounded around the whole chain, and sharply, which aiohttp's is not.
            timeout=ClientTimeout(sock_connect=self._limits.connect_seconds),
            auto_decompress=False,
            trust_env=False,
            max_line_size=8190,
            max_field_size=8190,
            max_headers=128,
        )
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._deadline.close()
        await self._session.close()
        await self._resolver.close()

    async def fetch(self, url: str) -> Received:
        journey = _Journey(perf_counter())
        try:
            with self._deadline.running():
                return await self._follow(normalise(url), journey)
        except FetchFailed:
            raise
        except Exception as error:
            failure = explain(error, total_seconds=self._limits.total_seconds)
            if failure is None:
                raise
            raise failure from error

    async def _follow(self, url: str, journey: _Journey) -> Received:
        while True:
            target = URL(url, encoded=True)
            cookie = _cookie_header(journey.jar, target)
            dial = Dial()
            current_dial.set(dial)
            response = cast(
                "_TimedResponse",
                await self._session.get(
                    target, allow_redirects=False, headers={"Cookie": cookie} if cookie else None
                ),
            )
            first_byte_at = perf_counter()
            try:
                status = response.status
                if not 200 <= status <= 599:
                    raise FetchFailed(
                        reason=f"the answer has the status {status}, which means nothing",
                        retryable=False,
                    )
                headers = plain_headers(response.headers)
                if "set-cookie" in headers:
                    journey.keep_cookies(response)
                if status not in _REDIRECTS or not headers.get("location"):
                    body = await read_body(
                        response.content, headers, limit=self._limits.max_body_bytes
                    )
                    timings = _timings(response, dial, first_byte_at, journey.started)
                    return _received(url, response, headers, body, timings, journey)
            finally:
                if not response.closed:  # its body was not read to the end
                    response.close()
            url = self._next_hop(url, cookie, response, journey)

    def _next_hop(
        self, url: str, cookie: str | None, response: ClientResponse, journey: _Journey
    ) -> str:
        journey.chain.append({"url": url, "status_code": response.status})
        if len(journey.chain) > self._limits.max_redirects:
            raise FetchFailed(
                reason=f"there were more than {self._limits.max_redirects} redirects",
                retryable=False,
            )
        journey.seen.add((url, cookie))
        location = _RAW_BYTE.sub(
            lambda found: f"%{ord(found[0]) - 0xDC00:02X}", response.headers["Location"]
        )
        try:
            following = join(url, location)
        except UrlRefused as refused:
            raise FetchFailed(
                reason=f"the redirect cannot be followed: {refused}", retryable=False
            ) from refused
        # A site may send us to the same URL to see that the cookie it set comes back.
        next_cookie = _cookie_header(journey.jar, URL(following, encoded=True))
        if (following, next_cookie) in journey.seen:
            raise FetchFailed(reason="the redirects go round in a circle", retryable=False)
        return following


class _TimedResponse(ClientResponse):
    """Notes what only the connection knows; it may be back in the pool before the body is read."""

    connected_at = 0.0
    tls: dict[str, str | None] | None = None

    def start(self, connection: Connection) -> Coroutine[Any, Any, ClientResponse]:
        self.connected_at = perf_counter()
        if self.url.scheme == "https" and connection.transport is not None:
            self.tls = _tls_facts(connection.transport.get_extra_info("ssl_object"))
        return super().start(connection)


# Reading a certificate costs more than a small page; a connection has the same one throughout.
_known_tls: WeakKeyDictionary[ssl.SSLObject, dict[str, str | None]] = WeakKeyDictionary()


def _tls_facts(connection: ssl.SSLObject | None) -> dict[str, str | None] | None:
    if connection is None:
        return None
    facts = _known_tls.get(connection)
    if facts is None:
        cipher = connection.cipher()
        expires = (connection.getpeercert() or {}).get("notAfter")
        facts = _known_tls[connection] = {
            "version": connection.version(),
            "cipher": cipher[0] if cipher else None,
            "certificate_expires_at": (
                datetime.fromtimestamp(ssl.cert_time_to_seconds(expires), UTC).isoformat()
                if isinstance(expires, str)
                else None
            ),
        }
    return facts


def _cookie_header(jar: CookieJar | None, url: URL) -> str | None:
    if jar is None:
        return None
    return "; ".join(f"{c.key}={c.coded_value}" for c in jar.filter_cookies(url).values()) or None


def _received(
    url: str,
    response: _TimedResponse,
    headers: dict[str, str],
    body: Body,
    timings: dict[str, float | None],
    journey: _Journey,
) -> Received:
    details: dict[str, Any] = {
        "redirect_chain": journey.chain,
        "timings_ms": timings,
        "http_version": "1.1" if response.version == HttpVersion11 else "1.0",
        "content_type": headers.get("content-type"),
        "content_length": body.length,
        "content_hash": f"sha256:{body.sha256}",
        "tls": response.tls,
    }
    if body.text is None:
        details["source_omitted"] = "not text"
    elif body.characters > MAX_SOURCE_CHARACTERS:
        details["source_truncated_at"] = MAX_SOURCE_CHARACTERS
        details["source_characters"] = body.characters
    retry_after = headers.get("retry-after")
    return Received(
        status_code=response.status,
        headers=headers,
        cookies=journey.cookies,
        page_source=body.text,
        final_url=url,
        details=details,
        retry_after=None if retry_after is None else seconds_to_wait(retry_after),
    )


def _timings(
    response: _TimedResponse, dial: Dial, first_byte_at: float, started: float
) -> dict[str, float | None]:
    """Of the final hop; the total is of the whole chain."""
    dns = connect = None
    if dial.connecting_since is not None:
        dns = _milliseconds(dial.lookup_seconds)
        connect = _milliseconds(response.connected_at - dial.connecting_since)
    return {
        "dns": dns,
        "connect": connect,
        "first_byte": _milliseconds(first_byte_at - response.connected_at),
        "total": _milliseconds(perf_counter() - started),
    }


def _milliseconds(seconds: float) -> float:
    return int(seconds * 10_000 + 0.5) / 10  # rounded to 0.1; round() is several times slower
