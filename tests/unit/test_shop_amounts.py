# ruff: noqa: RUF001  prices are written with dashes and letters that look alike
"""Amounts on pages: as each country writes them, and where structured data and the visible text
differ."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

from webloom.parsing.html_tree.structured import read_structured
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
    ("2 990,-", "2990", "NOK", "https://s.example.no/p", ""),
    ("2 990,-", "2990", "CZK", "https://s.example.cz/p", ""),
    ("2 990.–", "2990", "CHF", "https://s.example.ch/p", ""),
    ("2 990,-", "2990", "EUR", "https://s.example.nl/p", ""),
    ("2 990", "2990", "BRL", "https://s.example.com.br/p", ""),
    ("2 990", "2990", None, "https://s.example.co/p", ""),
    ("Get it for a $ 2990", "2990", "USD", COM, ""),
    ("AU $ 2990", "2990", "AUD", COM, ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "amount", "currency", "url", "lang"),
    WRITTEN,
    ids=[f"{row[0]} {row[4] or row[2]}" for row in WRITTEN],
)
def test_amounts_as_each_country_writes_them(
    text: str, amount: str, currency: str | None, url: str, lang: str
) -> None:
    price = offer_of(shown(text), url=url, lang=lang).price
    assert price is not None
    assert (price.current, price.currency) == (Decimal(amount), currency)


STRUCTURED: list[tuple[Any, str | None, str, str | None]] = [
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
    ("value", "currency", "text", "amount"),
    STRUCTURED,
    ids=[f"{row[0]} {row[2]}" for row in STRUCTURED],
)
def test_structured_amounts_are_read_with_the_visible_price(
    value: Any, currency: str | None, text: str, amount: str | None
) -> None:
    node = {
        "@type": "Product",
        "name": "Oak stool Juno",
        "offers": {"@type": "Offer", "price": value, "priceCurrency": currency},
    }
    price = offer_of(shown(text), node).price
    assert (price and price.current) == (Decimal(amount) if amount else None)


def product(price: str, **fields: Any) -> dict[str, Any]:
    offer = {"price": price, "priceCurrency": "EUR", "availability": "InStock"}
    return {"@type": "Product", "name": "Oak stool Juno", "offers": offer, **fields}


def test_a_structured_price_that_is_struck_out_on_the_page_is_the_list_price() -> None:
    body = shown("<del>€ 60,00</del> <ins>€ 45,00</ins>")
    price = offer_of(body, product("60.00")).price
    assert price is not None
    assert (price.current, price.list) == (Decimal("45.00"), Decimal("60.00"))


def test_a_price_beside_the_button_counts_more_than_one_that_is_not_visible() -> None:
    price = offer_of(shown("€ 45,00"), product("37.82")).price
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
def test_the_structured_price_counts_where_the_page_shows_another_amount(body: str) -> None:
    price = offer_of(body, product("37.82")).price
    assert price is not None
    assert price.current == Decimal("37.82")
