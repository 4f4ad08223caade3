"""Loom & Weft, a small made-up shop with a newspaper, served on loopback for the demo and tests.

It does what real sites do to a fetcher: redirects, cookies, errors that pass and errors that stay,
slow answers, old encodings, large pages. The server speaks as much HTTP/1.1 as that takes. The
job feeds are in `feeds.py`.
"""

from __future__ import annotations

import asyncio
import gzip
import html
import json
import struct
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from http import HTTPStatus

IDLE_SECONDS = 30.0
HTML = {"Content-Type": "text/html; charset=utf-8"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Response:
    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: HTML)
    cookies: tuple[str, ...] = ()
    after: float = 0.0  # seconds before it is given


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    path: str
    # The first request gets the first, and so on; the last one stays. Or they are made as they are
    # asked for: of the n-th request, from 0.
    responses: tuple[Response, ...] | Callable[[int], Response]

    def response(self, turn: int) -> Response:
        if callable(self.responses):
            return self.responses(turn)
        return self.responses[min(turn, len(self.responses) - 1)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Site:
    address: str  # host:port
    urls: list[str]


@asynccontextmanager
async def serve(pages: Iterable[Page], *, ports: Sequence[int] = (0,)) -> AsyncIterator[Site]:
    """Serve the pages on loopback, at the first port that is free; 0 is any.

    Raises OSError when none can.
    """
    handler = _Handler(pages)
    server = await _start(handler, ports)
    address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield Site(address=address, urls=[f"http://{address}{path}" for path in handler.pages])
    finally:
        server.close()
        for task in handler.tasks:
            task.cancel()
        await asyncio.gather(*handler.tasks, return_exceptions=True)
        await server.wait_closed()


async def _start(handler: _Handler, ports: Sequence[int]) -> asyncio.Server:
    *first, last = ports
    for port in first:
        with suppress(OSError):
            return await asyncio.start_server(handler, "127.0.0.1", port, backlog=1024)
    return await asyncio.start_server(handler, "127.0.0.1", last, backlog=1024)


class _Handler:
    def __init__(self, pages: Iterable[Page]) -> None:
        self.pages = {page.path: page for page in pages}
        self.tasks: set[asyncio.Task[None]] = set()
        self._served: dict[str, int] = {}  # requests for each path so far

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine that runs has a task
        self.tasks.add(task)
        try:
            while await self._serve_one(reader, writer):
                pass
        except (OSError, TimeoutError, ValueError, EOFError, asyncio.LimitOverrunError):
            pass  # the client left, stayed silent or did not speak HTTP
        except asyncio.CancelledError:
            pass  # the site closes
        finally:
            self.tasks.discard(task)
            writer.close()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request. False: the connection ends with it."""
        async with asyncio.timeout(IDLE_SECONDS):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *fields = head.split("\r\n")
        method, target, version = first.split(" ")
        given = {name.lower(): value for name, _, value in (each.partition(":") for each in fields)}
        response = self._response(method, target)
        if (
            "ETag" in response.headers
            and given.get("if-none-match", "").strip() == (response.headers["ETag"])
        ):
            response = replace(response, status=304, body=b"")
        await asyncio.sleep(response.after)
        stays = (
            version == "HTTP/1.1"
            and given.get("connection", "").strip().lower() != "close"
            and not given.keys() & {"content-length", "transfer-encoding"}  # bodies are not read
        )
        writer.write(_head(response, stays).encode("latin-1"))
        if method != "HEAD":
            writer.write(response.body)
        await writer.drain()
        return stays

    def _response(self, method: str, target: str) -> Response:
        if method not in ("GET", "HEAD"):
            return Response(status=405, headers={"Allow": "GET, HEAD"})
        page = self.pages.get(target) or self.pages.get(target.partition("?")[0])
        if page is None:
            return Response(status=404, body=_html("Not found", "<p>Page not found.</p>"))
        turn = self._served.get(page.path, 0)
        self._served[page.path] = turn + 1
        return page.response(turn)


def _head(response: Response, stays: bool) -> str:
    headers = {
        **response.headers,
        "Content-Length": str(len(response.body)),
        "Connection": "keep-alive" if stays else "close",
    }
    lines = [f"HTTP/1.1 {response.status} {HTTPStatus(response.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    lines += [f"Set-Cookie: {cookie}" for cookie in response.cookies]
    return "\r\n".join([*lines, "", ""])


# The shop and its newspaper.

_COLORS = ("Indigo", "Madder", "Weld", "Walnut", "Ash", "Sloe", "Saffron", "Moss", "Chalk", "Rust")
_GOODS = (
    ("Linen", 24.50, "Flax from the river meadows, woven plain and washed twice."),
    ("Twill", 31.00, "A steep diagonal that wears in and never quite wears out."),
    ("Tweed", 48.00, "Wool from hill sheep, dyed in the fleece, with the burrs picked out."),
    ("Velvet", 62.00, "A short, dense pile on a cotton ground; brush it one way."),
    ("Muslin", 9.80, "Open and soft, for patterns, cheese and summer curtains."),
    ("Brocade", 85.00, "Figured on the old Jacquard loom, four repeats to the width."),
)
_HEADLINES = (
    "The loom in the window is older than the street",
    "How to read a selvedge",
    "Madder had a poor year; weld did not",
    "A repair café for coats opens on Thursday",
    "What the moths taught us about drawers",
    "Four shafts are enough",
    "Letters: in defence of the safety pin",
    "The price of flax, explained with a kettle",
    "Weaving by ear: a visit to a blind weaver",
    "Why our parcels are late in lambing season",
)
_SECTIONS = ("weaving", "dyeing", "letters", "markets")


def demo_pages() -> list[Page]:
    """About 120 of them; the same every time."""
    return [
        *_fixed_pages(),
        *_shelves(),
        *_products(),
        *_articles(),
        *_well_behaved(),
        *_troublesome(),
    ]


def _fixed_pages() -> Iterator[Page]:
    links = _list([*(f"/shelf/{name.lower()}" for name, _, _ in _GOODS), "/news", "/about"])
    yield _page("/", "Loom & Weft", f"<p>Cloth by the metre, and the news of the trade.</p>{links}")
    yield _page("/about", "About us", "<p>Three looms, two people, one cat. Since 1987.</p>")
    yield _page("/delivery", "Delivery", "<p>We send on Tuesdays and Fridays, by post.</p>")
    yield _page("/contact", "Contact", "<p>Loom &amp; Weft, 4 Fuller's Row. Knock twice.</p>")
    yield _page("/news", "The Weft Gazette", _list(f"/news/{n}" for n in range(1, 31)))


def _shelves() -> Iterator[Page]:
    for kind, _, about in _GOODS:
        goods = _list(f"/cloth/{color.lower()}-{kind.lower()}" for color in _COLORS)
        yield _page(f"/shelf/{kind.lower()}", f"{kind} by the metre", f"<p>{about}</p>{goods}")


def _products() -> Iterator[Page]:
    for kind, base, about in _GOODS:
        for number, color in enumerate(_COLORS):
            price = f"{base + number * 0.75:.2f}"
            name = f"{color} {kind}"
            offer = {"@type": "Offer", "price": price, "priceCurrency": "EUR"}
            facts = {"@context": "https://schema.org", "@type": "Product", "name": name}
            yield _page(
                f"/cloth/{color.lower()}-{kind.lower()}",
                name,
                f'<p>{about}</p><p class="price">€ {price} a metre</p>'
                f"<p>{12 + number * 3} metres in stock.</p>",
                extra=f'<script type="application/ld+json">{json.dumps(facts | {"offers": offer})}'
                "</script>",
            )


def _articles() -> Iterator[Page]:
    for number in range(1, 31):
        headline = _HEADLINES[number % len(_HEADLINES)]
        section = _SECTIONS[number % len(_SECTIONS)]
        paragraphs = "".join(
            f"<p>{about} {_HEADLINES[(number + step) % len(_HEADLINES)]}, they say.</p>"
            for step, (_, _, about) in enumerate(_GOODS)
        )
        yield _page(
            f"/news/{number}",
            f"{headline} (no. {number})",
            f"<article><p><em>{section}</em></p>{paragraphs}</article>",
        )


def _well_behaved() -> Iterator[Page]:
    """What a fetcher meets every day and must simply get right."""
    yield _redirect("/shop", "/", 301)
    yield _redirect("/old/catalogue", "/old/catalogue/", 301)
    yield _redirect("/old/catalogue/", "/catalogue.html", 302)
    yield _redirect("/catalogue.html", "/shelf/linen", 308)
    yield _once(
        "/basket",
        Response(
            body=_html("Your basket", "<p>It is empty, and remembers that.</p>"),
            cookies=("basket=empty; Path=/; HttpOnly", "visitor=4711; Path=/; Max-Age=3600"),
        ),
    )
    latin = _html("Façonné et velours frappé", "<p>Für Köper und Crêpe: à 12 £.</p>", "iso-8859-1")
    yield _once(
        "/history",
        Response(body=latin, headers={"Content-Type": "text/html; charset=iso-8859-1"}),
    )
    stock = {f"{color} {kind}": 12 for color in _COLORS for kind, _, _ in _GOODS}
    yield _once(
        "/stock.json",
        Response(body=json.dumps(stock).encode(), headers={"Content-Type": "application/json"}),
    )
    yield _once("/swatch.png", Response(body=_png(64), headers={"Content-Type": "image/png"}))
    packed = gzip.compress(_html("Size chart", f"<table>{'<tr><td>140 cm' * 300}</table>"), mtime=0)
    yield _once("/sizes", Response(body=packed, headers={**HTML, "Content-Encoding": "gzip"}))
    yield _once("/slow", Response(body=_html("Hand-woven", "<p>It takes a while.</p>"), after=1.5))
    entry = "<p>Woven, washed, measured, folded, sold.</p>\n"
    ledger = _html("The whole ledger", entry * (1_200_000 // len(entry)))
    yield _once("/ledger", Response(body=ledger))


def _troublesome() -> Iterator[Page]:
    """What fails: for a moment, for good, or on purpose."""
    yield _page("/cloth/sold-out", "Sold out", "<p>Gone.</p>", status=410)
    yield _page("/cloth/misspelt", "Not found", "<p>We have no such cloth.</p>", status=404)
    yield _page("/cellar", "Staff only", "<p>Mind the step.</p>", status=403)
    yield _page("/till", "Internal error", "<p>The till is stuck.</p>", status=500)
    open_again = Response(body=_html("Open again", "<p>We were at lunch.</p>"))
    lunch = Response(
        body=_html("At lunch", "<p>Back in a second.</p>"),
        status=503,
        headers={**HTML, "Retry-After": "1"},
    )
    yield Page(path="/lunch", responses=(lunch, open_again))
    yield Page(path="/long-lunch", responses=(lunch, lunch, open_again))
    yield _redirect("/carousel", "/carousel/next", 302)
    yield _redirect("/carousel/next", "/carousel", 302)
    yield _redirect("/back-door", "http://10.0.0.1/", 302)  # the gate refuses to follow


def _once(path: str, response: Response) -> Page:
    return Page(path=path, responses=(response,))


def _page(path: str, title: str, body: str, *, status: int = 200, extra: str = "") -> Page:
    return _once(path, Response(status=status, body=_html(title, body, extra=extra)))


def _redirect(path: str, target: str, status: int) -> Page:
    headers = {**HTML, "Location": target}
    return _once(path, Response(status=status, headers=headers, body=b"<p>Moved.</p>"))


def layout(name: str, body: str) -> str:
    """What follows the head of a page; its name is HTML."""
    return f"""<body>
<header><a href="/">Loom &amp; Weft</a> <a href="/news">Gazette</a></header>
<main><h1>{name}</h1>
{body}
</main>
<footer>Loom &amp; Weft, 4 Fuller's Row</footer>
</body>
</html>
"""


def _html(title: str, body: str, charset: str = "utf-8", extra: str = "") -> bytes:
    name = html.escape(title)
    text = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="{charset}">
<title>{name} | Loom &amp; Weft</title>
<meta name="description" content="{name}, from Loom &amp; Weft, weavers and printers.">
<meta property="og:title" content="{name}">
{extra}
</head>
{layout(name, body)}"""
    return text.encode(charset)


def _list(paths: Iterable[str]) -> str:
    items = "".join(f'<li><a href="{path}">{path}</a></li>' for path in paths)
    return f"<ul>{items}</ul>"


def _png(side: int) -> bytes:
    """A square of twill, grey in grey."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        checksum = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)

    rows = b"".join(
        b"\0" + bytes(200 if (x + y) % 4 < 2 else 90 for x in range(side)) for y in range(side)
    )
    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )
