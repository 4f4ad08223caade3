"""A shop on loopback whose pages change from edition to edition, each in its own way.

The test says which edition is out. Within one, a page is the same for every client, however often:
so it is known what a run must find, even if a page was fetched twice as a worker died.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from faults.site import Site

CAPTCHA = (
    "<!doctype html><title>Just a moment...</title><h1>Verify you are human</h1>"
    '<div class="g-recaptcha"></div>'
)
WALL = "<!doctype html><title>Forbidden</title><h1>Access denied</h1>"
BROKEN = "<!doctype html><title>500</title><h1>Internal Server Error</h1>"
PARAGRAPH = (
    "The shuttle goes from one side of the loom to the other, and the weaver beats the weft "
    "against the cloth that is there already. "
)


@dataclass(frozen=True, kw_only=True)
class Served:
    body: str
    status: int = 200
    etag: str | None = None
    hangs: bool = False


Make = Callable[[int, int], Served]  # by the page's number and the edition


def article(number: int, words: str, *, nonce: object = "") -> str:
    text = "".join(f"<p>Part {part} of story {number}. {PARAGRAPH}</p>" for part in range(4))
    return (
        f"<!doctype html><html lang=en><title>Story {number}</title><!-- {nonce} -->"
        f"<article><h1>Story {number}</h1><p>{words}</p>{text}</article></html>"
    )


def product(number: int, price: str) -> str:
    offer = {"@type": "Offer", "price": price, "priceCurrency": "EUR", "availability": "InStock"}
    whole = {"@context": "https://schema.org", "@type": "Product", "name": "Loom", "offers": offer}
    return (
        f'<!doctype html><html lang=en><title>Loom {number}</title><script type="application/'
        f'ld+json">{json.dumps(whole)}</script><h1>Loom {number}</h1><p>{PARAGRAPH * 3}</p>'
        f"<p>{price} EUR</p><button>Add to cart</button></html>"
    )


def price_of(number: int, edition: int) -> str:
    return f"{100 + number * 10 + edition}.50"


def _steady(number: int, edition: int) -> Served:
    return Served(body=article(number, "As ever."), etag=f'"{number}"')


def _plain(number: int, edition: int) -> Served:
    return Served(body=article(number, "As ever."))


def _news(number: int, edition: int) -> Served:
    return Served(body=article(number, f"News of edition {edition}."), etag=f'"{edition}"')


def _shop(number: int, edition: int) -> Served:
    return Served(body=product(number, price_of(number, edition)))


def _then(other: Served) -> Make:
    """A page in the first edition, something else in its place afterwards."""
    return lambda number, edition: other if edition else _plain(number, edition)


HANGS_IN = 2  # edition

KINDS: dict[str, Make] = {
    "steady": _steady,
    "plain": _plain,
    "noisy": _plain,  # and a comment that is another each time
    "news": _news,
    "shop": _shop,
    "wall": _then(Served(body=WALL, status=403)),
    "captcha": _then(Served(body=CAPTCHA)),
    "broken": _then(Served(body=BROKEN, status=500)),
    "hang": lambda number, edition: Served(
        body=article(number, "As ever."), hangs=edition == HANGS_IN
    ),
    "missing": lambda number, edition: Served(body="<title>Not found</title>", status=404),
}
FAILING = ("wall", "captcha", "broken")  # from the second edition on
CHANGING = ("news", "shop")


@dataclass(kw_only=True)
class Expected:
    processed: int
    failed: int
    changes: int
    price_changes: int


@dataclass(kw_only=True)
class Shelf:
    """So many pages of each kind."""

    pages: dict[str, int]
    edition: int = 0
    paths: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.paths = [
            f"/{kind}/{number}" for kind, count in self.pages.items() for number in range(count)
        ]

    def expected(self) -> Expected:
        """Of a run in this edition, after runs in all that were before."""
        failing = [*(FAILING if self.edition else ()), "missing"]
        failing += ["hang"] if self.edition == HANGS_IN else []
        changing = CHANGING if self.edition else ()
        return Expected(
            processed=len(self.paths),
            failed=self._count(*failing),
            changes=self._count(*changing),
            price_changes=self.pages["shop"] if self.edition else 0,
        )

    def _count(self, *kinds: str) -> int:
        return sum(self.pages[kind] for kind in kinds)


class WatchSite(Site):
    def __init__(self, shelf: Shelf, *, seconds: float) -> None:
        super().__init__(seconds=seconds)
        self.shelf = shelf
        self.statuses: Counter[int] = Counter()
        self._nonce = 0

    def urls(self) -> list[str]:
        return [self.url(path) for path in self.shelf.paths]

    async def _answer_all(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        path = request.split(b" ", 2)[1].decode()
        served = self._served(path)
        self.arrivals[path].append(asyncio.get_running_loop().time())
        if served.hangs:
            await reader.read()  # until the client has gone
            return
        await asyncio.sleep(self.seconds)
        etag = served.etag
        if etag and f"If-None-Match: {etag}".encode() in request:
            served = Served(body="", status=304, etag=etag)
        self.statuses[served.status] += 1
        body = served.body.encode()
        head = [
            f"HTTP/1.1 {served.status} X",
            "Connection: close",
            "Content-Type: text/html; charset=utf-8",
            *([f"ETag: {etag}"] if etag else []),
            *([] if served.status == 304 else [f"Content-Length: {len(body)}"]),
        ]
        writer.write("\r\n".join([*head, "", ""]).encode() + body)
        await writer.drain()

    def _served(self, path: str) -> Served:
        kind, number = path.strip("/").split("/")
        if kind == "noisy":
            self._nonce += 1
            return Served(body=article(int(number), "As ever.", nonce=self._nonce))
        return KINDS[kind](int(number), self.shelf.edition)
