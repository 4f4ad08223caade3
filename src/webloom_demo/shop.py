"""The sale of Loom & Weft, for the demo and tests: pages that change while they are watched.

Each request moves a page on: prices fall and rise, things sell out and come back, a bot check
stands in the way now and then, and a page that says the time of day says nothing new.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from dataclasses import dataclass

from webloom_demo.site import HTML, Page, Response, layout

WALL_EVERY = 4  # requests
_IN_STOCK, _SOLD_OUT = "https://schema.org/InStock", "https://schema.org/OutOfStock"

# Round and round, one for each request. A price of None: it is sold out.
_COAT = ("189.00", "179.00", "164.50", "164.50", "149.90", "158.00", "172.00", "189.00")
_SHIRT = ("49.90", "49.90", None, None, "44.90", "39.90", "39.90", "54.90")
_CARPET = ("1.299,00", "1.249,00", "1.249,00", "1.199,00", "1.099,00", "1.189,00")
_LOOM = ("79,999", "79,999", "82,000", "82,000", "76,500")
_NEWS = (
    "The fair on Fuller's Row opens at nine.",
    "The fair on Fuller's Row opens at ten, as the tea is late.",
    "The fair on Fuller's Row is open. There is tea.",
    "The fair on Fuller's Row is open. There was tea.",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ShopPage:
    path: str
    name: str
    about: str  # shown in the demo
    make: Callable[[int], Response]  # of the n-th request

    @property
    def page(self) -> Page:
        return Page(path=self.path, responses=self.make)


def shop_pages() -> list[ShopPage]:
    return [
        ShopPage(path="/sale/coat", name="Tweed coat", about="JSON-LD", make=_coat),
        ShopPage(path="/sale/shirt", name="Linen shirt", about="microdata", make=_shirt),
        ShopPage(path="/sale/carpet", name="Carpet", about="visible text", make=_carpet),
        ShopPage(path="/sale/loom", name="Table loom", about="bot checks", make=_loom),
        ShopPage(path="/sale/news", name="News of the fair", about="an article", make=_news),
        ShopPage(path="/sale/clock", name="Town clock", about="a clock", make=_clock),
    ]


def _coat(turn: int) -> Response:
    price = _COAT[turn % len(_COAT)]
    offer = {
        "@type": "Offer", "price": price, "priceCurrency": "EUR", "availability": _IN_STOCK,
    }  # fmt: skip
    facts = {"@context": "https://schema.org", "@type": "Product", "name": "Tweed coat"}
    data = json.dumps(facts | {"offers": offer})
    return _response(
        "Tweed coat",
        f"<p>Cut long, lined, with pockets for both hands.</p><p class='price'>€ {price}</p>"
        "<button>Add to basket</button>",
        head=f'<script type="application/ld+json">{data}</script>',
    )


def _shirt(turn: int) -> Response:
    price = _SHIRT[turn % len(_SHIRT)]
    is_there = price is not None
    return _response(
        "Linen shirt",
        f"""<div itemscope itemtype="https://schema.org/Product">
<p itemprop="name">Linen shirt</p><p>Flax, washed twice; it wants no ironing.</p>
<div itemprop="offers" itemscope itemtype="https://schema.org/Offer">
<meta itemprop="priceCurrency" content="EUR">
<span itemprop="price" content="{price or "49.90"}">€ {price or "49.90"}</span>
<link itemprop="availability" href="{_IN_STOCK if is_there else _SOLD_OUT}">
<p>{"In stock" if is_there else "Sold out"}</p>
</div></div>""",
    )


def _carpet(turn: int) -> Response:
    return _response(
        "Carpet",
        "<p>Knotted by two people over one winter; wool on linen.</p>"
        f"<p class='price'>{_CARPET[turn % len(_CARPET)]} €</p>"
        "<form><button>Add to cart</button></form><p>In stock, sent within three days.</p>",
    )


def _loom(turn: int) -> Response:
    if turn % WALL_EVERY == WALL_EVERY - 1:
        return _response("Just a moment", "<p>Please verify that you are human.</p>")
    price = _LOOM[(turn - turn // WALL_EVERY) % len(_LOOM)]
    return _response(
        "Table loom",
        f"<p>Eight shafts, folds flat.</p><p class='price'>₹{price}</p>"
        "<form><button>Buy now</button></form><p>In stock</p>",
    )


def _news(turn: int) -> Response:
    return _response(
        "News of the fair",
        f"<article><p>{_NEWS[turn % len(_NEWS)]}</p>"
        "<p>Weavers, dyers and one fuller show what they make. Dogs may come in.</p></article>",
        head='<meta property="og:type" content="article">',
    )


def _clock(turn: int) -> Response:
    """A watch ignores lines that begin like the first one; the rest is the same in other blanks."""
    return _response(
        "Town clock",
        f"<p>It is now {turn // 60 % 12 + 1}:{turn % 60:02}.</p>"
        f"<p>The clock in{' ' * (turn % 3 + 1)}the square was made in 1787.</p>",
    )


def _response(title: str, body: str, *, head: str = "") -> Response:
    name = html.escape(title)
    text = f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>{name} | Loom &amp; Weft</title>{head}</head>
{layout(name, body)}"""
    return Response(body=text.encode(), headers=HTML)
