# ruff: noqa: RUF001  the letters of many languages look alike
"""What stands beside a price: names that end with a number, other amounts, former prices."""

from __future__ import annotations

from decimal import Decimal

import pytest
from selectolax.lexbor import LexborHTMLParser

from webloom.domain.price import Availability
from webloom.parsing.pages.structured import read_structured
from webloom.parsing.prices.finder import PageOffer, find_offer

ADD = "<button>Add to cart</button>"
EURO = "https://s.example.de/p/1"


def offer_of(body: str, *, name: str = "Oak stool Juno", url: str = EURO) -> PageOffer:
    tree = LexborHTMLParser(f"<title>{name} - Shop</title><h1>{name}</h1>{body}")
    return find_offer(tree, read_structured(tree), url=url, language=None)


def current_of(body: str, *, name: str = "Oak stool Juno", url: str = EURO) -> Decimal | None:
    price = offer_of(body, name=name, url=url).price
    return price.current if price else None


PLACES = (
    '<p class="price">{}</p>',
    "<div>{}</div>",
    "<strong>{}</strong>",
    "<p>Art. 123456</p><strong>{}</strong>",
    "<div>Rated 4,7 out of 5</div><b>{}</b>",
    '<span class="price">{}</span><p>30 days to return it</p>',
    "<div>{}</div><p>24/7 support</p>",
)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ["Lamp 24", "Lamp 5", "501", "Galaxy A54, 128 GB"])
@pytest.mark.parametrize(
    ("text", "amount"),
    [("99 €", 99), ("€ 12", 12), ("45 EUR", 45), ("24 999 €", 24999), ("1.299 €", 1299)],
)
def test_a_number_beside_a_price_is_no_part_of_it(
    text: str, amount: int, name: str, place: str
) -> None:
    assert current_of(place.format(text) + ADD, name=name) == amount


@pytest.mark.parametrize(
    "text",
    [
        "12<sup>99</sup> €",
        "€ 12<sup>99</sup>",
        "<b>12€</b><sup>99</sup>",
        "Price: 12<sup>99</sup> €",
        "<span>12</span><span>,</span><span>99</span><span>€</span>",
        "12€99",
    ],
)
def test_cents_in_an_element_of_their_own_stay_a_part_of_it(text: str) -> None:
    assert current_of(f'<p class="price">{text}</p>{ADD}') == Decimal("12.99")


OTHER_AMOUNTS = (
    "Prix adhérent 64,72 €",
    "Medlemspris 64,72 €",
    "Mit Kundenkarte nur 64,72 €",
    "Prix carte 64,72 €",
    "по карте 64,72 €",
    "Niedrigster Preis der letzten 30 Tage: 80,00 €",
    "Lägsta pris 30 dagar: 80,00 €",
    "Osamaksu alk. 6,90 €/kk",
    "Delbetal fra 6,90 €/mnd",
    "Na třetiny 30,00 €",
    "Betaal in 3 delen van € 30,00",
    "Págalo en 3 plazos de 30,00 €",
    "4 interest-free payments of 22,50 €",
    "Livraison à partir de 4,90 €",
    "Szállítás 4,90 €",
    "Μεταφορικά 4,90 €",
    "משלוח 4,90 €",
    "Ušetříte 10,00 €",
    "Säästät 10,00 €",
    "Κερδίζετε 10,00 €",
    "inkl. 0,25 € Pfand",
    "75,63 € bez DPH",
    "bez DPH 75,63 €",
    "Protection plan 12,00 €",
    "Buy 3 for 80,00 € each",
    "3 für 80,00 €",
)


@pytest.mark.parametrize("words", OTHER_AMOUNTS)
@pytest.mark.parametrize("is_first", [True, False])
def test_other_amounts_are_not_the_price(words: str, is_first: bool) -> None:
    own, other = '<div class="now">90,00 €</div>', f"<div>{words}</div>"
    body = other + own if is_first else own + other
    assert current_of(body + ADD) == 90


FORMER = (
    "<div>Reg. 120,00 €</div>",
    "<div>Comp. value: 120,00 €</div>",
    "<div>Compare at 120,00 €</div>",
    "<div>Prix d’origine : 120,00 €</div>",
    "<div>Precio recomendado 120,00 €</div>",
    "<div>Van € 120,00</div>",
    "<div>De 120,00 €</div>",
    "<div>Veil. 120,00 €</div>",
    "<div>Aiemmin 120,00 €</div>",
    "<div>كان: 120,00 €</div>",
    "<div>Giá gốc 120,00 €</div>",
    '<span class="priceWas">120,00 €</span>',
    '<span class="origin-price">120,00 €</span>',
    "<span>120,00 €</span> <span>25% off</span>",
    "<span>120,00 €</span> <span>-25 %</span>",
)


@pytest.mark.parametrize("former", FORMER)
def test_what_a_price_is_reduced_from(former: str) -> None:
    price = offer_of(f'<div class="price">90,00 €</div>{former}{ADD}').price
    assert price is not None
    assert (price.current, price.list) == (Decimal(90), Decimal(120))


@pytest.mark.parametrize(
    "other",
    ["<span>120,00 €</span>", "<span>120,00 €</span> <span>10% off</span>", "<p>5% cotton</p>"],
    ids=["nothing said", "another share", "no amount"],
)
def test_an_amount_with_nothing_said_of_it_is_no_former_price(other: str) -> None:
    price = offer_of(f'<div class="price">90,00 €</div>{other}{ADD}').price
    assert price is not None
    assert (price.current, price.list) == (Decimal(90), None)


def test_of_two_lower_prices_the_one_beside_the_former_counts() -> None:
    body = '<s class="price">399,99 €</s><b class="price">279,99 €</b><b>251,99 €</b>'
    assert current_of(body + ADD) == Decimal("279.99")


def test_a_price_without_a_sign_beside_one_that_is_struck_out() -> None:
    box = '<span class="price">16<sup>99</sup></span> <s>List price € 22,99</s>'
    price = offer_of(f'<div class="price-box">{box}</div>{ADD}', url="https://s.example/p").price
    assert price is not None
    assert (price.current, price.list) == (Decimal("16.99"), Decimal("22.99"))
    assert price.currency == "EUR"


def test_prices_of_one_and_of_many() -> None:
    rows = (("1", "0,89 €"), ("20", "0,79 €"), ("100", "0,69 €"))
    cells = "".join(f"<tr><th>{many}</th><td>{price}</td></tr>" for many, price in rows)
    assert current_of(f'<table class="prices">{cells}</table>{ADD}') == Decimal("0.89")


def test_the_price_of_something_else_where_one_has_to_ask() -> None:
    ask, other = '<div class="preis">Preis auf Anfrage</div>', "<p>Flansch DN50 ab 29,90 €</p>"
    assert current_of(ask + other) is None
    assert current_of(other) == Decimal("29.90")


@pytest.mark.parametrize(
    ("text", "url", "currency"),
    [
        ("2 990,-", "https://s.example.no/p", "NOK"),
        ("2 990,-", "https://s.example.cz/p", "CZK"),
        ("2 990.–", "https://s.example.ch/p", "CHF"),
        ("2 990,-", "https://s.example.nl/p", "EUR"),
        ("2 990", "https://s.example.com.br/p", "BRL"),
        ("2 990", "https://s.example.co/p", None),
        ("Get it for a $ 2990", "https://s.example.com/p", "USD"),
        ("AU $ 2990", "https://s.example.com/p", "AUD"),
    ],
)
def test_the_country_tells_the_currency(text: str, url: str, currency: str | None) -> None:
    price = offer_of(f'<div class="price">{text}</div>{ADD}', url=url).price
    assert price is not None
    assert (price.current, price.currency) == (Decimal(2990), currency)


@pytest.mark.parametrize(
    ("words", "is_there"),
    [
        ("0 in stock", False),
        ("Noch 0 verfügbar", False),
        ("Stock: 0", False),
        ("In stock: <b>No</b>", False),
        ("Auf Lager: Nein", False),
        ("Disponible: No", False),
        ("Наличие: нет", False),
        ("10 in stock", True),
        ("1,000 in stock", True),
        ("In stock: 05", True),
        ("In stock: no minimum order", True),
        ("Disponibile: 0-3 giorni", True),
    ],
)
def test_how_many_there_are(words: str, is_there: bool) -> None:
    found = offer_of(f'<p class="price">90,00 €</p><p class="stock">{words}</p>').availability
    assert found is (Availability.IN_STOCK if is_there else Availability.OUT_OF_STOCK)


@pytest.mark.parametrize(
    ("body", "is_gone"),
    [
        ('<div id="availability">Currently unavailable.</div>', True),
        ('<div class="out-of-stock">Out of stock</div>', True),
        ('<div class="unavailable">This video is not available</div>', False),
        ('<div class="stock">Quotes are not available</div>', False),
        ("<p>Currently unavailable.</p>", False),
    ],
)
def test_what_is_gone_may_have_no_price(body: str, is_gone: bool) -> None:
    found = offer_of(body)
    assert found.price is None
    assert found.availability is (Availability.OUT_OF_STOCK if is_gone else Availability.UNKNOWN)


@pytest.mark.parametrize(
    "body",
    [
        "<p>Lamp 5</p><b>12</b>" * 5_000,
        "<h2>Lamp 5</h2>12 €" * 5_000,
        "<b class=price>12 €</b>30 days " * 5_000,
        f"<p class=price>12 €</p><p>{'Stock: ' * 200_000}0</p>",
        f"<p class=price>12 €</p><p>{'price on request ' * 50_000}</p>",
        f"<p class=price>12 €</p><p>{'12% ' * 200_000}</p>",
    ],
    ids=["names", "headings", "days", "stock", "requests", "shares"],
)
def test_hostile_pages_are_read_to_the_end(body: str) -> None:
    offer_of(body)


@pytest.mark.parametrize(
    ("body", "current"),
    [
        ("<p>gültig 12.–18. November</p><p>89,95 €</p>", "89.95"),
        ("<p>5.–8. Klasse</p><p>14,95 €</p>", "14.95"),
        ("<p>Artikel 12345: - lieferbar</p><p>89,95 €</p>", "89.95"),
        ("<p>Seit 1990. – Qualität</p><p>89,95 €</p>", "89.95"),
        ("<span>30 Tage Rückgaberecht</span><span class=price>99,90 €</span>", "99.90"),
        ("<ul><li>30 days free returns</li><li><b>€ 99.90</b></li></ul>", "99.90"),
        ("<p class=price>1,29 € Pfand: 0,25 €</p>", "1.29"),
        (f"<p>Sondermaße: Preis auf Anfrage</p><p>89,95 €</p>{ADD}", "89.95"),
    ],
)
def test_what_looks_like_a_rule_and_is_none(body: str, current: str) -> None:
    assert current_of(body) == Decimal(current)


@pytest.mark.parametrize(
    ("beside", "listed"),
    [
        ("<p>-20 %</p><s>99,99 €</s><p>0.00001 €</p>", "99.99"),
        ("<p>0% APR</p><p>Variant 80,49 €</p>", None),
        ("<p>3 % Skonto</p><p>Schwarz 82,47 €</p>", None),
    ],
)
def test_few_percent_make_no_former_price(beside: str, listed: str | None) -> None:
    price = offer_of(f"<p class=price>79,99 €</p>{beside}").price
    assert price is not None
    assert (price.current, price.list) == (Decimal("79.99"), listed and Decimal(listed))


@pytest.mark.parametrize(
    "words",
    [
        "<span>Reviews</span> <span>0</span><p class=stock>In stock</p>",
        "<p class=stock>In stock</p><p>Restock: No</p>",
        "<p class=stock>In stock</p><p>Stock: No. 1234</p>",
    ],
)
def test_a_number_of_something_else_is_no_stock(words: str) -> None:
    offer = offer_of(f"<p class=price>79,99 €</p>{words}")
    assert offer.availability is Availability.IN_STOCK
