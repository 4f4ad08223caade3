"""A site that counts who is inside, and answers when the test says so.

    async with WatchedSite() as site:
        ... submit site.url("/gated") ...
        await site.started.wait()  # a worker is waiting for the answer now
        site.opened.set()

Each site has an address of its own on loopback, all of them in ALLOWED: what one test did to a host
or left in a shared inventory does not concern another.
"""

from __future__ import annotations

import asyncio
import itertools
import ssl
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Self

import trustme

from e2e.hostile_site import PAGE, HostileSite, Request, answer

ALLOWED = "127.1.0.0/16"
# Ports that the gate refuses in any network, of those that a system may hand out.
UNFIT_PORTS = frozenset({33060, 50000, 61613, 61616})

_hosts = (f"127.1.{high}.{low}" for high in range(256) for low in range(1, 255))


@dataclass(kw_only=True)
class Watch:
    """What was seen; several sites may share one."""

    inside: Counter[str] = field(default_factory=Counter)  # by URL
    most_inside: int = 0
    most_of_one: int = 0  # requests of one URL at the same time
    starts: list[tuple[float, str]] = field(default_factory=list)  # when, and which URL

    @contextmanager
    def over(self, url: str) -> Iterator[None]:
        self.starts.append((time.monotonic(), url))
        self.inside[url] += 1
        self.most_of_one = max(self.most_of_one, self.inside[url])
        self.most_inside = max(self.most_inside, self.inside.total())
        try:
            yield
        finally:
            self.inside[url] -= 1

    def of(self, url: str) -> list[float]:
        return [moment for moment, started in self.starts if started == url]


class WatchedSite(HostileSite):
    def __init__(self, *, watch: Watch | None = None) -> None:
        super().__init__(host=next(_hosts))
        self.watch = watch or Watch()
        self.opened = asyncio.Event()
        self._requested: Counter[str] = Counter()

    def secured_by(self, authority: trustme.CA) -> Self:
        """To be entered: serves https, with a certificate for its address."""
        self._ssl = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(self.host).configure_cert(self._ssl)
        return self

    async def __aenter__(self) -> Self:
        for _ in itertools.count():
            await super().__aenter__()
            if self.port not in UNFIT_PORTS:
                break
            await self.__aexit__(None, None, None)
        return self

    async def do_gated(self, request: Request, writer: asyncio.StreamWriter) -> None:
        with self.watch.over(self.url(request.target)):
            await self.opened.wait()
        await self.do_page(request, writer)

    async def do_slow(self, request: Request, writer: asyncio.StreamWriter) -> None:
        """?seconds="""
        with self.watch.over(self.url(request.target)):
            await asyncio.sleep(float(request.query["seconds"]))
        await self.do_page(request, writer)

    async def do_in_turn(self, request: Request, writer: asyncio.StreamWriter) -> None:
        """?codes=503,200: the first request gets the first, and so on; the last one stays.
        What is not 200 comes with the Retry-After of ?after=, when given."""
        codes = request.query["codes"].split(",")
        code = int(codes[min(self._requested[request.target], len(codes) - 1)])
        self._requested[request.target] += 1
        headers = ["Content-Type: text/html", f"Content-Length: {len(PAGE)}"]
        if code != 200 and (after := request.query.get("after")):
            headers.append(f"Retry-After: {after}")
        with self.watch.over(self.url(request.target)):
            writer.write(answer(code, *headers) + PAGE)
