# ruff: noqa: RUF001  prices are written with dashes and letters that look alike
"""Amounts on pages: as each country writes them, and where machines and people are told different
things."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

from webloom.domain.price import Availability
from webloom.parsing.pages.structured import read_structured
from webloom.parsing.prices.finder import PageOffer, find_offer


def offer_of(
    body: str, *nodes: Any, url: str = "https://s.example/p/1", lang: str = ""
) -> PageOffer:
    script = f'<script type="application/ld+json">{json.dumps(list(nodes))}</script>'
    tree = LexborHTMLParser(f"<title>Oak stool Juno</title>{script}<h1>Oak stool Juno</h1>{body}")
    return find_offer(tree, read_structured(tree), url=url, language=lang)


def shown(text: str) -> str:
    return f'<div class="price">{text}</div><button>Add to cart</button>'


COM = "https://shop.example.com/p"
WRITTEN = [
    ("1.299,00 €", "1299.00", "EUR", COM, "de"),
    ("1 299,00 €", "1299.00", "EUR", COM, "fr"),
    ("EUR 1.299", "1299", "EUR", COM, "de"),
    ("€ 12,-", "12", "EUR", COM, "nl"),
    ("€ 1.299,-", "1299", "EUR", COM, "nl"),
    ("1.299,-", "1299", None, COM, "nl"),
    ("CHF 1'299.–", "1299", "CHF", "https://s.example.ch/p", "de-CH"),
    ("Fr. 89.90", "89.90", "CHF", "https://s.example.ch/p", "de-CH"),
    ("99:-", "99", "SEK", "https://s.example.se/p", "sv"),
    ("1 299:-", "1299", "SEK", "https://s.example.se/p", "sv"),
    ("12.800 kr.", "12800", "DKK", "https://s.example.dk/p", "da"),
    ("12 800 kr", "12800", "NOK", "https://s.example.no/p", "nb"),
    ("1 299 kr", "1299", "SEK", COM, "sv-SE"),
    ("₹79,999", "79999", "INR", COM, "en"),
    ("₹1,29,999.00", "129999.00", "INR", COM, "en"),
    ("Rp 1.299.000", "1299000", "IDR", COM, "id"),
    ("Rp1.299.000,00", "1299000.00", "IDR", COM, "id"),
    ("1.299.000₫", "1299000", "VND", COM, "vi"),
    ("1.299.000 VNĐ", "1299000", "VND", COM, "vi"),
    ("2,990 ฿", "2990", "THB", COM, "th"),
    ("¥12,800", "12800", "JPY", COM, "ja"),
    ("12,800円(税込)", "12800", "JPY", COM, "ja"),
    ("39,000원", "39000", "KRW", COM, "ko"),
    ("NT$1,280", "1280", "TWD", COM, "zh-TW"),
    ("1,299.00 лв.", "1299.00", "BGN", "https://s.example.bg/p", "bg"),
    ("1 299 ₽", "1299", "RUB", COM, "ru"),
    ("1 299,50 грн", "1299.50", "UAH", COM, "uk"),
    ("12 990 Ft", "12990", "HUF", "https://s.example.hu/p", "hu"),
    ("1.299,99 lei", "1299.99", "RON", COM, "ro"),
    ("1.299,90 TL", "1299.90", "TRY", COM, "tr"),
    ("1.299 Kč", "1299", "CZK", COM, "cs"),
    ("129,00 zł", "129.00", "PLN", COM, "pl"),
    ("R$ 1.299,90", "1299.90", "BRL", COM, "pt"),
    ("$ 24.990", "24990", "CLP", "https://s.example.cl/p", "es"),
    ("$1,299.00", "1299.00", "MXN", COM, "es-MX"),
    ("$1,299.00", "1299.00", "AUD", "https://s.example.com.au/p", "en"),
    ("S/ 1,299.90", "1299.90", "PEN", COM, "es"),
    ("AED 1,299.00", "1299.00", "AED", COM, "en"),
    ("١٬٢٩٩٫٠٠ ر.س", "1299.00", "SAR", COM, "ar"),
    ("R 1 299.00", "1299.00", "ZAR", "https://s.example.co.za/p", "en"),
    ("from £1,299", "1299", "GBP", COM, "en"),
    ("ab 34,95 €", "34.95", "EUR", COM, "de"),
    ("<span>1.299</span><sup>99</sup> €", "1299.99", "EUR", COM, "de"),
    ("<span>$</span><span>1,299</span><sup>99</sup>", "1299.99", "USD", COM, "en"),
    ("<b>12</b>.<small>99</small> €", "12.99", "EUR", COM, "de"),
    ("<span>12€</span><sup>99</sup>", "12.99", "EUR", COM, "fr"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "amount", "currency", "url", "lang"),
    WRITTEN,
    ids=[f"{row[0]} {row[4]}" for row in WRITTEN],
)
def test_amounts_as_each_country_writes_them(
    text: str, amount: str, currency: str | None, url: str, lang: str
) -> None:
    price = offer_of(shown(text), url=url, lang=lang).price
    assert price is not None
    assert (price.current, price.currency) == (Decimal(amount), currency)


TOLD: list[tuple[Any, str | None, str, str | None]] = [
    ("1.999", "EUR", "1.999,00 €", "1999"),
    ("1.999", "EUR", "1.999 €", "1999"),
    ("1.999", "USD", "$1.99", "1.99"),
    ("1.999", "EUR", "", "1999"),
    (1.999, "EUR", "1.999,00 €", "1999"),
    ("12.500", "KWD", "KD 12.500", "12.500"),
    ("1299,00", "EUR", "1.299,00 €", "1299.00"),
    (1299, "EUR", "1.299 €", "1299"),
    ("1,299.00", "USD", "$1,299.00", "1299.00"),
    ("1,299", "USD", "$1,299", "1299"),
    ("EUR 12.00", None, "€ 12,00", "12.00"),
    ("$12.00", "USD", "$12.00", "12.00"),
    (129900, "EUR", "1.299,00 €", "1299"),
    (149900, "EUR", "149.900 €", "149900"),
    ("0", "EUR", "", None),
    ("0.00", "EUR", "", None),
    ("call us", "EUR", "", None),
    (-5, "EUR", "", None),
    ("0", "EUR", "12,00 €", "12.00"),
    (24.99, "CLP", "$24.990", "24990"),
]


@pytest.mark.parametrize(
    ("told", "currency", "text", "amount"), TOLD, ids=[f"{row[0]} {row[2]}" for row in TOLD]
)
def test_what_machines_are_told_is_read_with_what_people_see(
    told: Any, currency: str | None, text: str, amount: str | None
) -> None:
    node = {
        "@type": "Product",
        "name": "Oak stool Juno",
        "offers": {"@type": "Offer", "price": told, "priceCurrency": currency},
    }
    price = offer_of(shown(text), node).price
    assert (price and price.current) == (Decimal(amount) if amount else None)


def told(price: str, **fields: Any) -> dict[str, Any]:
    offer = {"price": price, "priceCurrency": "EUR", "availability": "InStock"}
    return {"@type": "Product", "name": "Oak stool Juno", "offers": offer, **fields}


def test_a_price_that_people_see_struck_out_is_not_what_one_pays() -> None:
    body = shown("<del>€ 60,00</del> <ins>€ 45,00</ins>")
    price = offer_of(body, told("60.00")).price
    assert price is not None
    assert (price.current, price.list) == (Decimal("45.00"), Decimal("60.00"))


def test_a_price_beside_the_button_counts_more_than_one_that_nobody_sees() -> None:
    price = offer_of(shown("€ 45,00"), told("37.82")).price
    assert price is not None
    assert price.current == Decimal("45.00")


@pytest.mark.parametrize(
    "body",
    [
        shown("$ 49.00"),
        shown("€ 9,00 with a plan"),
        '<p>or € 9,90 a month</p><button>Add to cart</button><p class="price">on demand</p>',
        '<div class="related"><p class="price">€ 5,00</p></div><button>Add to cart</button>',
    ],
    ids=["another currency", "another amount by far", "a payment", "a neighbour"],
)
def test_what_machines_are_told_counts_where_people_see_something_else(body: str) -> None:
    price = offer_of(body, told("37.82")).price
    assert price is not None
    assert price.current == Decimal("37.82")


CARD = """<li class="{1}"><a href="/p/{0}"><h3>Lamp {0}</h3></a><span class="price">€ {0},00</span>
  <button>Add to cart</button></li>"""
NO_PRODUCT = {
    "a category": "<ul>" + "".join(CARD.format(n, "item") for n in range(10, 50)) + "</ul>",
    "a category of cards": "".join(CARD.format(n, "product-card") for n in range(10, 50)),
    "a post": """<article><p>We like this stool. It costs less than $5 to mend one, and in 1990 they
      were sold for $12 at the market.</p><p>Leave a comment</p></article>""",
    "a post with its price in prose": """<article><p>The stool was introduced in spring, and at a
      list price of $1,200 it was one of the dearest in the house for a long time.</p></article>""",
    "an error": "<p>Sorry, this page is not available. Free delivery over $50.</p>",
    "a cart": """<table class="cart-items"><tr class="cart-item"><td>Bench</td><td
      class="cart-item-price">€ 45,00</td></tr><tr class="cart-item"><td>Lamp</td><td
      class="cart-item-price">€ 15,00</td></tr></table><div class="cart-total">€ 60,00</div>""",
    "shipping costs": "<p>Shipping: € 4,90 in Germany.</p><p>Free delivery from € 50.</p>",
}


@pytest.mark.parametrize("body", NO_PRODUCT.values(), ids=NO_PRODUCT.keys())
def test_pages_of_no_product_have_no_price(body: str) -> None:
    found = offer_of(body)
    assert found.price is None
    assert found.availability is Availability.UNKNOWN


BESIDE = {
    "a jump bar": '<a href="#more">Related products</a>' + shown("€ 45,00"),
    "what it goes with": "<p>Goes well with jeans and shorts.</p>" + shown("€ 45,00"),
    "how many look": "<p>Recently viewed by 25 people</p>" + shown("€ 45,00"),
    "a kind of cover": "<p>Paperback</p>" + shown("€ 45,00"),
    "a paragraph of delivery": "<p>Free delivery</p><p>€ 45,00</p><button>Add to cart</button>",
    "a promise": "<p>Lowest price guaranteed: € 45,00</p><button>Add to cart</button>",
    "a size": shown("€ 45") + "<ul><li>38</li><li>39</li></ul>",
    "reviews": shown("€ 45") + "<div class=reviews><span>12</span> reviews</div>",
}


@pytest.mark.parametrize("body", BESIDE.values(), ids=BESIDE.keys())
def test_what_stands_beside_a_price_is_not_part_of_it(body: str) -> None:
    price = offer_of(body).price
    assert price is not None
    assert price.current == Decimal("45")
