"""A cheap, healthy web site on loopback that counts what it is asked for."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from servers.loopback import LoopbackSite


@dataclass(frozen=True, kw_only=True)
class Page:
    body: str = "<!doctype html><title>A page</title><p>Hello"
    status: int = 200


class Site(LoopbackSite):
    """Answers each path with `page(path, which)`, `which` being 1 for the first request of it."""

    def __init__(self, *, host: str = "127.0.0.1", seconds: float = 0.0) -> None:
        super().__init__(host=host)
        self.seconds = seconds  # that an answer takes
        self.arrivals: defaultdict[str, list[float]] = defaultdict(list)  # path -> monotonic times
        self.most_at_once: Counter[str] = Counter()  # path -> requests that overlapped
        self.page: Callable[[str, int], Page] = lambda path, which: Page()
        self._running: Counter[str] = Counter()
        self._held: dict[str, asyncio.Event] = {}

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    def url(self, path: str) -> str:
        return f"http://{self.address}{path}"

    def count(self, path: str) -> int:
        return len(self.arrivals[path])

    @property
    def requests(self) -> int:
        return sum(len(times) for times in self.arrivals.values())

    def hold(self, path: str) -> None:
        """Answer no request for the path until `release`."""
        self._held[path] = asyncio.Event()

    def release(self, path: str) -> None:
        self._held.pop(path).set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._answer_all(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has gone, or was killed
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer_all(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split(b" ", 2)[1].decode()
            writer.write(await self._answer(path))
            await writer.drain()

    async def _answer(self, path: str) -> bytes:
        self.arrivals[path].append(time.monotonic())
        which = self.count(path)
        self._running[path] += 1
        self.most_at_once[path] = max(self.most_at_once[path], self._running[path])
        try:
            if held := self._held.get(path):
                await held.wait()
            if self.seconds:
                await asyncio.sleep(self.seconds)
        finally:
            self._running[path] -= 1
        page = self.page(path, which)
        body = page.body.encode()
        head = (
            f"HTTP/1.1 {page.status} X\r\nContent-Type: text/html; charset=utf-8\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body
