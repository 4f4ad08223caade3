"""Shop pages on many hosts, for loopback: `python -m bench.watch_site HOSTS`.

    http://127.0.0.H:PORT/p/N    page N, the same on every host
    http://127.0.0.1:PORT/later  from now on every page is as it is at the second check

Made pages, cut to 50 KB of markup as in the bench of pages; number and price make each another one.
"ready PORT" on standard output says that it listens.
"""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum
from typing import cast

import uvloop

from bench.pages import SMALL, made_pages, trimmed
from bench.processes import PYTHON, running, wait_for_url
from servers.private import free_port

_END = b"\r\n\r\n"


class Kind(Enum):
    """What the second check finds."""

    TEXT_CHANGED = "another text"
    PRICE_CHANGED = "another text and price"
    NOT_MODIFIED = "304"
    TOKEN_CHANGED = "other bytes, which nothing reads"
    SAME = "the same bytes"


def kind_of(number: int) -> Kind:
    """5 % have changed, 25 % are answered 304, 20 % differ in what is not compared."""
    place = number % 20
    if place == 0:
        return Kind.PRICE_CHANGED if number % 40 == 0 else Kind.TEXT_CHANGED
    if place <= 5:
        return Kind.NOT_MODIFIED
    return Kind.TOKEN_CHANGED if place <= 9 else Kind.SAME


@dataclass(frozen=True, kw_only=True)
class WatchSite:
    hosts: int
    port: int

    def url(self, number: int, host: int) -> str:
        return f"http://127.0.0.{1 + host % self.hosts}:{self.port}/p/{number}"

    async def turn_later(self) -> None:
        await wait_for_url(f"http://127.0.0.1:{self.port}/later")


@asynccontextmanager
async def watch_site(hosts: int) -> AsyncIterator[WatchSite]:
    async with running([PYTHON, "-m", "bench.watch_site", str(hosts)]) as process:
        port = (await process.wait_for_line("ready ")).split()[1]
        yield WatchSite(hosts=hosts, port=int(port))


class _Pages:
    def __init__(self) -> None:
        self.is_later = False
        self._made = [_parts(trimmed(page, SMALL).body) for page in made_pages()]

    def response(self, path: bytes, head: bytes) -> bytes:
        if path == b"/later":
            self.is_later = True
            return b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        number = int(path.rpartition(b"/")[2])
        kind = kind_of(number)
        etag = b'ETag: "%d"\r\n' % number if kind is Kind.NOT_MODIFIED else b""
        if etag and b'if-none-match: "%d"' % number in head.lower():
            return b"HTTP/1.1 304 Not Modified\r\n%b\r\n" % etag
        body = self._body(number, kind)
        return (
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
            b"%bContent-Length: %d\r\n\r\n%b" % (etag, len(body), body)
        )

    def _body(self, number: int, kind: Kind) -> bytes:
        has_new_text = self.is_later and kind in (Kind.TEXT_CHANGED, Kind.PRICE_CHANGED)
        has_new_price = self.is_later and kind is Kind.PRICE_CHANGED
        price = b"%d.%d9" % (100 + number, 4 if has_new_price else 5)
        top, *rest = price.join(self._made[number % len(self._made)]).split(b"<main>")
        return b"".join(
            (
                top,
                b"<!-- token %d -->" % (self.is_later and kind is Kind.TOKEN_CHANGED),
                b"<main><p>Article %d of this shop.</p>" % number,
                b"<p>Now with a longer warranty.</p>" if has_new_text else b"",
                *rest,
            )
        )


def _parts(body: bytes) -> list[bytes]:
    """A page, split where its price stands."""
    price = body.partition(b'"price": "')[2].partition(b'"')[0]
    return body.split(price)


class _Protocol(asyncio.Protocol):
    """HTTP/1.1 with keep-alive: heads may come in pieces."""

    def __init__(self, pages: _Pages) -> None:
        self._pages = pages
        self._pending = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's has another base class

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        *heads, self._pending = (self._pending + data).split(_END)
        for head in heads:
            self._transport.write(self._pages.response(head.split(b" ", 2)[1], head))


async def serve(hosts: int) -> None:
    """Serve until SIGTERM or SIGINT."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    pages, port = _Pages(), free_port()
    addresses = [f"127.0.0.{1 + host}" for host in range(hosts)]
    server = await loop.create_server(lambda: _Protocol(pages), addresses, port, backlog=1024)
    print(f"ready {port}", flush=True)
    await stopped.wait()
    server.close()


def main() -> None:
    uvloop.run(serve(int(sys.argv[1])))


if __name__ == "__main__":
    main()
