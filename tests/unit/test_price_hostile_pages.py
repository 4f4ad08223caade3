"""Pages made to hurt: however large they are, the price is looked for in few steps."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
from selectolax.lexbor import LexborHTMLParser

from steps import at_most
from unit.shop_page import ADD, H1, IN, OUT, UNKNOWN, Found, found
from webloom.parsing.html_tree.elements import Elements
from webloom.parsing.html_tree.structured import Structured, read_structured
from webloom.parsing.prices.finder import PageOffer, find_offer
from webloom.parsing.prices.identity import identity_of
from webloom.parsing.prices.visible_text import read_visible_text

MOST_STEPS: Final = 6_000_000  # the worst of these pages takes 4.4 million
URL: Final = "https://s.example.de/p/1"
TITLE: Final = "<title>Oak stool Juno - Shop</title>"
PRODUCT: Final = f"{TITLE}{H1}<p class=price>12 €</p>"
NOTHING: Final = (None, UNKNOWN)
PRICE: Final = ("12", UNKNOWN)


def offer_of(page: str) -> PageOffer:
    tree = LexborHTMLParser(page)
    return find_offer(tree, read_structured(tree), url=URL, language=None)


def ld(*nodes: Any) -> str:
    return f'{TITLE}<script type="application/ld+json">{json.dumps(nodes)}</script>{H1}'


def state(value: Any) -> str:
    return f"{TITLE}{H1}<script type=application/json>{json.dumps(value)}</script>"


MANY_NUMBERS: Final = "1 " * 190
WIDE: Final = {f"k{n}": n for n in range(5000)}
REFERENCES: Final = ld(  # 40 * 40 * 40 offers in 2 kB
    {"@type": "Product", "name": "Oak stool Juno", "hasVariant": [{"@id": "#variant"}] * 40},
    {"@id": "#offer", "price": 12, "priceCurrency": "EUR", "sku": "1"},
    {"@id": "#offers", "name": "many", "offers": [{"@id": "#offer"}] * 40},
    {"@id": "#variant", "name": "more", "offers": [{"@id": "#offers"}] * 40},
)

HOSTILE: Final[dict[str, tuple[str, Found]]] = {
    # Many elements
    "prices": (H1 + "".join(f"<b class=price>${n}.99</b>" for n in range(20_000)), NOTHING),
    "bare prices": (H1 + "".join(f"<b class=price>{n}</b>" for n in range(20_000)), NOTHING),
    "prices in two elements": (f"{TITLE}<h1>Sale</h1>" + "<i>12</i><i>€</i>" * 20_000, PRICE),
    "old prices": (H1 + "<del class=price>$5.99</del>" * 20_000, NOTHING),
    "old and new prices": (PRODUCT + "<del>24 €</del><b class=price>12 €</b>" * 20_000, PRICE),
    "classes": (PRODUCT + "".join(f'<b class="x{n} price">€</b>' for n in range(20_000)), PRICE),
    "headlines": ("<title>a b</title>" + "<h1>Lamp</h1>" * 10_000, NOTHING),
    "buttons": (H1 + ADD * 20_000, NOTHING),
    "disabled buttons": (PRODUCT + "<button disabled>Buy now</button>" * 20_000, ("12", OUT)),
    "buttons of a list": (PRODUCT + f"<p><b>5</b>{ADD}</p>" * 20_000, ("12", IN)),
    "buttons that are inputs": (PRODUCT + "<input type=submit value=Buy>" * 20_000, ("12", IN)),
    "messages": (PRODUCT + "<p>Out of stock</p>" * 20_000, ("12", OUT)),
    "headings of lists": (PRODUCT + "<p>Related products</p>" * 20_000, PRICE),
    "names": (TITLE + H1 + "<p>Lamp 5</p><b>12</b>" * 5_000, NOTHING),
    "headings": (TITLE + H1 + "<h2>Lamp 5</h2>12 €" * 5_000, PRICE),
    "days": (TITLE + H1 + "<b class=price>12 €</b>30 days " * 5_000, PRICE),
    "digits in elements of their own": (f"{TITLE}<h1>Sale</h1>" + "<i>1</i>" * 20_000, NOTHING),
    "dots in elements of their own": (H1 + "<i>1</i>" + "<i>.</i>" * 20_000, NOTHING),
    "items of many texts": (
        f"{PRODUCT}<p>Sold out</p>" + f"<div>{'<i>1</i>' * 3000}<p>€ 2</p>{ADD}</div>" * 12,
        ("12", IN),
    ),
    "a price after too many elements": (H1 + "<i>x</i>" * 25_000 + "<b class=price>12 €", NOTHING),
    # Long texts
    "a long text": (f"{H1}<p>" + "out of stock 12 € " * 50_000, NOTHING),
    "long texts": (H1 + ("<p>" + "out of stock 12 € " * 100) * 500, NOTHING),
    "digits": (f"{H1}<p class=price>" + "1" * 500_000, NOTHING),
    "digits in many elements": (H1 + ("<p class=price>" + "1" * 1999) * 250, NOTHING),
    "dots": (f"{H1}<p class=price>" + "1." * 500_000, NOTHING),
    "dots in many elements": (H1 + ("<p class=price>" + "1." * 999) * 250, NOTHING),
    "spaces": (f"{H1}<p class=price>1" + " " * 500_000 + "€", ("1", UNKNOWN)),
    "spaces in many elements": (PRODUCT + ("<p>1" + " " * 1990 + "x") * 250, PRICE),
    "dashes": (f"{H1}<p class=price>1" + "-" * 500_000 + "€", NOTHING),
    "stock": (f"{PRODUCT}<p>{'Stock: ' * 200_000}0</p>", PRICE),
    "requests": (f"{PRODUCT}<p>{'price on request ' * 50_000}</p>", PRICE),
    "shares": (f"{PRODUCT}<p>{'12% ' * 200_000}</p>", PRICE),
    "shares in many elements": (PRODUCT + "<p>12% 13 €</p>" * 20_000, PRICE),
    # Markup
    "depth": (H1 + "<div class=price>" * 1000 + "12 €", PRICE),
    "depth and breadth": (H1 + "<div class=price>" * 500 + "<i>12 €</i>" * 20_000, PRICE),
    "attributes": (
        f"{H1}<b class=price {' '.join(f'a{n}=1' for n in range(2000))}>12 €</b>", PRICE
    ),
    "a long class": (f'{H1}<b class="{"price " * 100_000}">12 €</b>', PRICE),
    "nothing": ("", NOTHING),
    "frames": ("<frameset><frame></frameset>", NOTHING),
    # Structured data
    "references": (REFERENCES, ("12", UNKNOWN)),
    "references to a wide node": (
        ld(
            {"@id": "#wide", **WIDE},
            *[{"@type": "Product", "hasVariant": [{"@id": "#wide"}] * 300}] * 10,
        ),
        NOTHING,
    ),
    "references to a node of many types": (
        ld(
            {"@id": "#typed", "price": 12, "@type": ["a/b"] * 5000},
            *[{"@type": "WebPage", "mainEntity": {"@id": "#typed"}}] * 900,
        ),
        PRICE,
    ),
    "offers": (ld(*[{"@type": "Product", "offers": [{"price": 12}] * 90}] * 90), NOTHING),
    "offers of many numbers": (
        ld(*[{"@type": "Product", "offers": [{"price": MANY_NUMBERS}] * 90}] * 90),
        NOTHING,
    ),
    "script data": (
        state([{"name": "Oak stool Juno", "price": MANY_NUMBERS, "currency": "EUR"}] * 3000),
        NOTHING,
    ),
    "script data without a price": (
        state([{"name": "Oak stool Juno", "price": "0 " * 190, "currency": "EUR"}] * 3000),
        NOTHING,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("page", "expected"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_page_takes_few_steps(page: str, expected: Found) -> None:
    with at_most(MOST_STEPS):
        offer = offer_of(page)
    assert found(offer) == expected


@pytest.mark.parametrize(("nested", "is_titled"), [(90, True), (110, False)])
def test_headlines_inside_each_other_are_read_in_part(nested: int, is_titled: bool) -> None:
    """The text of each has that of all others in it."""
    headlines = "<h1><div>" * nested + "x" * 10_000 + "</div></h1>" * nested
    tree = LexborHTMLParser(f"{TITLE}{headlines}<h1>Oak <b>stool</b> Juno</h1>")
    elements = Elements(tree)
    identity = identity_of(elements, Structured(), URL)
    assert read_visible_text(tree, elements, identity).is_titled is is_titled
