# ruff: noqa: A005 - always run and imported as bench.site
"""A page server for loopback that costs next to nothing: `python -m bench.site PORT`.

It answers any GET with an HTML page of about 13 KB. A path always has the same page, two paths have
different ones. Port 0 chooses a free port; "ready PORT" on standard output says that it listens.
"""

import asyncio
import random
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import cast
from zlib import crc32

import uvloop

from bench.processes import PYTHON, Process, running

HOST = "127.0.0.1"
PAGE_BYTES = 13_000  # about: the path, which is in the page twice, comes on top

_VARIANTS = 16  # different texts, all prebuilt
_HEAD_LIMIT = 65_536
_END = b"\r\n\r\n"
_HEADERS = (
    b"HTTP/1.1 200 OK\r\n"
    b"Server: bench\r\n"
    b"Content-Type: text/html; charset=utf-8\r\n"
    b"Cache-Control: max-age=600\r\n"
    b"Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\n"
    b"Vary: Accept-Encoding\r\n"
    b"X-Content-Type-Options: nosniff\r\n"
    b"Content-Length: "
)
_REFUSED = b"HTTP/1.1 405 Method Not Allowed\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_TEXT = (
    "the market opened early this morning and people from every village came with baskets of "
    "bread fruit cheese wool paper honey lamps and small wooden tools that their neighbours had "
    "made during a long quiet winter while snow lay on the roads über naïve café señor"
)


@dataclass(frozen=True, kw_only=True)
class Site:
    """A page server that is running in a process of its own."""

    url: str  # without a slash at the end
    process: Process


@asynccontextmanager
async def start_site(*, cpus: set[int] | None = None) -> AsyncIterator[Site]:
    """Start a page server on a free port, and stop it at the end."""
    async with running([PYTHON, "-m", "bench.site", "0"], cpus=cpus) as process:
        port = (await process.wait_for_line("ready ")).split()[1]
        yield Site(url=f"http://{HOST}:{port}", process=process)


def page_urls(site: str, pages: int) -> list[str]:
    """The URLs of so many different pages, the same ones for everybody who is compared."""
    return [f"{site}/shop/page-{number:06d}.html" for number in range(pages)]


def build_text(seed: int) -> bytes:
    """The part of a page that does not name its path, padded to the same length for every seed."""
    choose = random.Random(seed)
    words = _TEXT.split()
    parts: list[str] = []
    size = 0
    while size < PAGE_BYTES - 1200:
        sentence = " ".join(choose.choices(words, k=choose.randint(40, 90))).capitalize()
        price = f"{choose.randint(3, 900)}.{choose.randint(0, 99):02d}"
        parts.append(
            f'<section id="s{len(parts)}"><h2>Article {choose.randint(1000, 9999)}</h2>'
            f'<p class="text">{sentence}.</p><p>Price: <span class="price">{price} EUR</span></p>'
            f'<a href="/shop/page-{choose.randint(0, 9999):06d}.html">More</a></section>\n'
        )
        size += len(parts[-1].encode())
    text = "".join(parts).encode()
    end = b"</main><footer>All prices include tax.</footer>"
    padding = b"<!--" + b" " * (PAGE_BYTES - 320 - len(text) - len(end)) + b"-->"
    return text + end + padding + b"</body></html>\n"


class Pages:
    """All pages: a path and its checksum in front of one of a few prebuilt texts."""

    def __init__(self) -> None:
        self._texts = [build_text(seed) for seed in range(_VARIANTS)]

    def response(self, path: bytes) -> bytes:
        number = crc32(path)
        name = path.replace(b"&", b"&amp;").replace(b"<", b"&lt;")
        top = (
            b'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Page %b</title>'
            b'<meta name="description" content="Number %010d of the shop"></head>'
            b"<body><header><h1>%b</h1><p>Item %010d</p></header><main>\n"
        ) % (name, number, name, number)
        text = self._texts[number % _VARIANTS]
        return b"%b%d\r\n\r\n%b%b" % (_HEADERS, len(top) + len(text), top, text)


class SiteProtocol(asyncio.Protocol):
    """HTTP/1.1 with keep-alive: heads may come in pieces, or many at once."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._pending = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's has another base class

    def data_received(self, data: bytes) -> None:
        transport = self._transport
        assert transport is not None
        if self._pending:
            data = self._pending + data
        start = 0
        while (end := data.find(_END, start)) >= 0:
            if not data.startswith(b"GET ", start):
                transport.write(_REFUSED)
                transport.close()
                return
            path = data[start + 4 : data.index(b" ", start + 4)]
            transport.write(self._pages.response(path))
            if b"connection: close" in data[start:end].lower():
                transport.close()
                return
            start = end + 4
        self._pending = data[start:]
        if len(self._pending) > _HEAD_LIMIT:
            transport.close()

    def pause_writing(self) -> None:
        # A client that asks without reading the answers gets no more of them.
        assert self._transport is not None
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        assert self._transport is not None
        self._transport.resume_reading()


async def serve(port: int) -> None:
    """Serve until SIGTERM or SIGINT."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    pages = Pages()
    server = await loop.create_server(lambda: SiteProtocol(pages), HOST, port, backlog=1024)
    print(f"ready {server.sockets[0].getsockname()[1]}", flush=True)
    await stopped.wait()
    server.close()


def main() -> None:
    uvloop.run(serve(int(sys.argv[1])))


if __name__ == "__main__":
    main()
