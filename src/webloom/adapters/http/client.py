"""Requests through the gate, with redirects.

follow: url -> [ request -> redirect? -> join -> ] ... -> the last answer, to be taken by the caller
post:   url, body -> status, headers
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Generic, Required, Self, TypedDict, TypeVar, Unpack, cast

from aiohttp import (
    ClientResponse,
    ClientSession,
    ClientTimeout,
    CookieJar,
    DummyCookieJar,
    TCPConnector,
)
from aiohttp.abc import AbstractResolver
from yarl import URL

from webloom import __version__
from webloom.adapters.http.body import ACCEPT_ENCODING
from webloom.adapters.http.gate import (
    Dial,
    Gate,
    GuardedResolver,
    SystemResolver,
    current_dial,
    guarded_socket_factory,
)
from webloom.adapters.http.headers import cookie_of, plain_headers
from webloom.adapters.refusal_log import RefusalLog
from webloom.adapters.resources import is_out_of_ports
from webloom.domain.errors import FetchFailed, ResourcesExhausted, UrlRefused
from webloom.domain.exhaustion import PORTS
from webloom.domain.network_policy import NetworkPolicy
from webloom.domain.transfer_rate import RATE_WINDOW, USUAL_MIN_RATE
from webloom.parsing.web_url import join

PAGES = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"  # to be accepted
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_RAW_BYTE = re.compile("[\udc80-\udcff]")  # how aiohttp hands over a byte that is not UTF-8

Taken = TypeVar("Taken")
Answer = TypeVar("Answer", bound=ClientResponse)


@dataclass(frozen=True, kw_only=True, slots=True)
class ClientLimits:
    connect_seconds: float = 10.0
    min_rate: float = USUAL_MIN_RATE  # bytes of a body per second, over each window; 0: no limit
    rate_window: float = RATE_WINDOW
    max_redirects: int = 5
    connections: int = 256  # open at the same time; a request beyond waits, within its total time


class FetchTrace:
    """What a fetch collects along its redirects."""

    __slots__ = ("chain", "cookies", "dial", "jar", "seen", "started")

    def __init__(self) -> None:
        self.started = perf_counter()
        self.chain: list[dict[str, Any]] = []  # the hops before the final one
        self.cookies: dict[str, str] = {}
        self.dial = Dial(host="")  # of the current hop
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

    def cookie_for(self, url: URL) -> str | None:
        if self.jar is None:
            return None
        found = self.jar.filter_cookies(url).values()
        return "; ".join(f"{c.key}={c.coded_value}" for c in found) or None


class ClientOptions(TypedDict, total=False):
    """Of a client, and of what is built on one."""

    policy: Required[NetworkPolicy]
    refusals: RefusalLog | None  # default: one of its own
    resolver: AbstractResolver | None  # closed with the client
    ssl_context: ssl.SSLContext | None  # default: the system's certificates


class GatedClient(Generic[Answer]):
    """One policy, one pool of connections. To be opened by `async with`."""

    def __init__(
        self,
        response_class: type[Answer],
        *,
        accept: str,
        limits: ClientLimits,
        **options: Unpack[ClientOptions],
    ) -> None:
        self._response_class = response_class
        self._gate = Gate(options["policy"], options.get("refusals") or RefusalLog())
        self._accept = accept
        self._limits = limits
        self._given_resolver = options.get("resolver")
        self._ssl_context = options.get("ssl_context")

    async def __aenter__(self) -> Self:
        self._resolver = GuardedResolver(self._gate, self._given_resolver or SystemResolver())
        self._session = ClientSession(
            connector=TCPConnector(
                resolver=self._resolver,
                socket_factory=guarded_socket_factory(self._gate),
                ssl=self._ssl_context or True,
                limit=self._limits.connections,
            ),
            headers={
                "User-Agent": f"Webloom/{__version__} (+self-hosted)",
                "Accept": self._accept,
                "Accept-Encoding": ACCEPT_ENCODING,
            },
            cookie_jar=DummyCookieJar(),
            response_class=self._response_class,
            # The total is bounded around the whole chain, and sharply, which aiohttp's is not.
            timeout=ClientTimeout(sock_connect=self._limits.connect_seconds),
            auto_decompress=False,
            trust_env=False,
            max_line_size=8190,
            max_field_size=8190,
            max_headers=128,
        )
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._session.close()
        await self._resolver.close()

    async def follow(
        self,
        url: str,
        trace: FetchTrace,
        take: Callable[[str, Answer, dict[str, str]], Awaitable[Taken]],
        *,
        conditions: Mapping[str, str] | None = None,  # headers for every hop
    ) -> Taken:
        """GET a normalised URL; what `take` makes of the last hop's URL, answer and headers."""
        while True:
            target = URL(url, encoded=True)
            cookie = trace.cookie_for(target)
            headers: Mapping[str, str] | None = conditions
            if cookie:
                headers = {**(conditions or {}), "Cookie": cookie}
            current_dial.set(dial := Dial(host=target.host or ""))
            trace.dial = dial
            response = await self._answer(
                dial, self._session.get(target, allow_redirects=False, headers=headers)
            )
            try:
                status = response.status
                if not 200 <= status <= 599:
                    raise FetchFailed(
                        reason=f"the answer has the status {status}, which means nothing",
                        retryable=False,
                    )
                received = plain_headers(response.headers)
                if "set-cookie" in received:
                    trace.keep_cookies(response)
                if status not in _REDIRECTS or not received.get("location"):
                    return await take(url, response, received)
            finally:
                if not response.closed:  # its body was not read to the end
                    response.close()
            url = self._next_hop(url, cookie, response, trace)

    async def post(
        self, url: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[int, dict[str, str]]:
        """POST to a normalised URL, once; the answer's status and headers. No redirect is followed,
        and no body is read."""
        target = URL(url, encoded=True)
        current_dial.set(dial := Dial(host=target.host or ""))
        response = await self._answer(
            dial, self._session.post(target, data=body, headers=headers, allow_redirects=False)
        )
        try:
            return response.status, plain_headers(response.headers)
        finally:
            response.close()

    async def _answer(self, dial: Dial, request: Awaitable[ClientResponse]) -> Answer:
        """Raises ResourcesExhausted where this machine ran out of sockets or ports: aiohttp merges
        the errors of several addresses."""
        try:
            return cast("Answer", await request)
        except OSError as error:
            if dial.exhausted is not None:
                raise dial.exhausted from error
            if dial.target is not None and is_out_of_ports(error, dial.target):
                raise ResourcesExhausted(PORTS) from error
            raise

    def _next_hop(
        self, url: str, cookie: str | None, response: ClientResponse, trace: FetchTrace
    ) -> str:
        trace.chain.append({"url": url, "status_code": response.status})
        most = self._limits.max_redirects
        if len(trace.chain) > most:
            raise FetchFailed(reason=f"there were more than {most} redirects", retryable=False)
        trace.seen.add((url, cookie))
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
        if (following, trace.cookie_for(URL(following, encoded=True))) in trace.seen:
            raise FetchFailed(reason="the redirects go round in a circle", retryable=False)
        return following
