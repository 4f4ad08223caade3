# ruff: noqa: RUF001  the letters of many languages look alike
"""The price among other numbers: names that end with one, fees, instalments, former prices."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

import pytest

from unit.shop_page import ADD, H1, offer_of
from webloom.domain.price import Price


def price_of(
    body: str, *, name: str = "Oak stool Juno", url: str = "https://s.example.de/p/1"
) -> Price | None:
    return offer_of(f"<h1>{name}</h1>{body}", title=f"{name} - Shop", url=url).price


def current_of(body: str, *, name: str = "Oak stool Juno") -> Decimal | None:
    price = price_of(body, name=name)
    return price.current if price else None


PLACES: Final = (
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
def test_a_number_beside_a_price_is_not_part_of_it(
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


OTHER_AMOUNTS: Final = (
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


FORMER: Final = (
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
def test_a_former_price_is_the_list_price(former: str) -> None:
    price = price_of(f'<div class="price">90,00 €</div>{former}{ADD}')
    assert price is not None
    assert (price.current, price.list) == (Decimal(90), Decimal(120))


@pytest.mark.parametrize(
    "other",
    ["<span>120,00 €</span>", "<span>120,00 €</span> <span>10% off</span>", "<p>5% cotton</p>"],
    ids=["nothing said", "another share", "no amount"],
)
def test_an_amount_without_a_label_is_not_a_former_price(other: str) -> None:
    price = price_of(f'<div class="price">90,00 €</div>{other}{ADD}')
    assert price is not None
    assert (price.current, price.list) == (Decimal(90), None)


AMONG_OTHERS: Final = [
    ("of two lower prices, the one beside the former price counts", '<s class="price">399,99 €</s>'
        f'<b class="price">279,99 €</b><b>251,99 €</b>{ADD}', "279.99", "399.99"),
    ("prices of one, twenty and a hundred",
        '<table class="prices"><tr><th>1</th><td>0,89 €</td></tr>'
        "<tr><th>20</th><td>0,79 €</td></tr><tr><th>100</th><td>0,69 €</td></tr></table>" + ADD,
        "0.89", None),
    ("the reduced price in a table",
        '<table><tr><th>판매가</th><td><strong class="price">189,000원</strong></td></tr>'
        '<tr><th>할인판매가</th><td><span class="price">151,200원</span></td></tr></table>',
        "151200", None),
    ("a range of dates", "<p>gültig 12.–18. November</p><p>89,95 €</p>", "89.95", None),
    ("a range of school years", "<p>5.–8. Klasse</p><p>14,95 €</p>", "14.95", None),
    ("an article number", "<p>Artikel 12345: - lieferbar</p><p>89,95 €</p>", "89.95", None),
    ("a year and a dash", "<p>Seit 1990. – Qualität</p><p>89,95 €</p>", "89.95", None),
    ("days, in German", """<span>30 Tage Rückgaberecht</span><span class=price>99,90 €</span>""",
        "99.90", None),
    ("days, in a list", "<ul><li>30 days free returns</li><li><b>€ 99.90</b></li></ul>", "99.90",
        None),
    ("a deposit on the bottle", "<p class=price>1,29 € Pfand: 0,25 €</p>", "1.29", None),
    ("other sizes on request", f"<p>Sondermaße: Preis auf Anfrage</p><p>89,95 €</p>{ADD}", "89.95",
        None),
    ("a former price beside an amount of nearly nothing", "<p class=price>79,99 €</p><p>-20 %</p>"
        "<s>99,99 €</s><p>0.00001 €</p>", "79.99", "99.99"),
    ("a rate of interest, and a variant", "<p class=price>79,99 €</p><p>0% APR</p>"
        "<p>Variant 80,49 €</p>", "79.99", None),
    ("a discount for paying at once, and a variant", "<p class=price>79,99 €</p><p>3 % Skonto</p>"
        "<p>Schwarz 82,47 €</p>", "79.99", None),
    ("the class of a price that has a list price beside it", """<p
        class="detail-price with-list-price">14,90 €*</p><b class="list-price">18,90 €*</b>
        <p class="price-note">12,00 € im Set</p>""", "14.90", "18.90"),
    ("the price of a neighbour that is lower", """<p class="regular-price">14,90 €</p>
        <div class="product-slider"><p class="price">9,90 €</p></div>""", "14.90", None),
    ("without tax in an element of its own", """<p class="current-price"><span>31,45 €</span>
        <span>HT</span></p><p class="price-ttc"><span>37,74 €</span> TTC</p>""", "37.74", None),
    ("cents of a number that words stand before", """<p>vezi inca 2 oferte de la
        63<i>07</i> Lei</p><p>63<sup>07</sup> Lei</p>""", "63.07", None),
    ("the price of a subscription", f"""<label>Once <b>$42.00</b></label>
        <label>Subscribe &amp; save 15% <b>$35.70</b></label>{ADD}""", "42.00", None),
    ("where an auction began", """<div><b>$400</b> 5 bids</div><div>Starting Price
        <b>$90</b></div><button>Place bid</button>""", "400", None),
    ("where an auction began, little below", """<div><b>$200</b> 2 bids</div><div>Starting Price
        <b>$150</b></div><button>Place bid</button>""", "200", None),
    ("the lowest of some time", """<p>111,95 €</p><p>Originalmente: 159,95 €</p><p>Último precio
        más bajo: 119,95 €</p><button>Añadir al carrito</button>""", "111.95", "159.95"),
    ("raised cents after words", "<p>vezi oferta la 271<sup>99</sup> Lei</p>", "271.99", None),
    ("code that is indented far", f"""<p>{" " * 90}49,00 €</p><p>Delivery:</p><p>
        {" " * 90}39,00 €</p>{ADD}""", "49.00", None),
    ("elements of the kind that a list has too", f"""<p>€ 49,00</p>{ADD}
        <div>{"Made of oak. " * 50}</div>{"".join(f"<p>€ {n},50</p>" for n in range(9))}""",
        "49.00", None),
    ("hundreds of thousands", "<p><b>₹5.45 Lakh</b> <s>₹5.70 Lakh</s></p>", "545000", "570000"),
    ("tens of millions", "<p>Rs. 1.2 Cr</p>", "12000000", None),
    ("sizes that begin with two digits", f"""<label>40mm <b>$599</b></label><label>44mm
        <b>$669</b></label>{ADD}""", "599", None),
    ("a former price by a Turkish class", """<div class="fiyatlar"><span class="eski">
        1.299,90 TL</span> <span class="yeni">899,90 TL</span></div>""", "899.90", "1299.90"),
    ("a former price by a Hungarian class", '<span class="eredeti">€ 49,90</span> '
        '<span class="akcios">€ 34,90</span>', "34.90", "49.90"),
    ("a former price by the class of a full price", '<span class="price price--sale">€ 34,90</span>'
        '<span class="price price--full">€ 49,90</span>', "34.90", "49.90"),
    ("a former price by a data attribute",
        '<span data-hook="formatted-secondary-price">€ 49,90</span>'
        '<span data-hook="formatted-primary-price">€ 34,90</span>', "34.90", "49.90"),
    ("the normal price", '<p class="price">€ 34,90</p><p>Normal: € 49,90</p>', "34.90", "49.90"),
    ("a price in crowns, twice, without a word between",
        '<div class="price"><span>Pris 599:-</span><span><b>599</b><b> :-</b></span></div>'
        '<div class="price"><span>Tidigare pris: 799:-</span></div><button>Köp nu</button>',
        "599", "799"),
    ("two prices in crowns side by side",
        '<div><span class="now">599:-</span><span class="old">799:-</span></div>', "599", "799"),
    ("deliverable is not a delivery fee", "<p>Schreibt mir, wenn lieferbar</p>"
        '<div class="price"><span>149,00 €</span></div>', "149.00", None),
    ("a wholesale price", "<div>520,00 €</div><div>Оптом від 480,00 €</div>", "520.00", None),
    ("a surcharge", "<div>149,00 €</div>"
        '<label>Five years <b class="price">+20,00 €</b></label>', "149.00", None),
    ("how much to spend", "<p>Spend €75 for free shipping</p><p>149,00 €</p>", "149.00", None),
    ("how much is left to spend", "<p>Only €5 away from free shipping</p><p>149,00 €</p>",
        "149.00", None),
    ("a jump bar", f'<a href="#more">Related products</a><div class="price">€ 45,00</div>{ADD}',
        "45.00", None),
    ("what it goes with", "<p>Goes well with jeans and shorts.</p>"
        f'<div class="price">€ 45,00</div>{ADD}', "45.00", None),
    ("how many viewed it", "<p>Recently viewed by 25 people</p>"
        f'<div class="price">€ 45,00</div>{ADD}', "45.00", None),
    ("a kind of cover", f'<p>Paperback</p><div class="price">€ 45,00</div>{ADD}', "45.00", None),
    ("a paragraph about delivery", f"<p>Free delivery</p><p>€ 45,00</p>{ADD}", "45.00", None),
    ("a promise", f"<p>Lowest price guaranteed: € 45,00</p>{ADD}", "45.00", None),
    ("sizes", f"""<div class="price">€ 45</div>{ADD}<ul><li>38</li><li>39</li></ul>""", "45", None),
    ("reviews", f'<div class="price">€ 45</div>{ADD}'
        "<div class=reviews><span>12</span> reviews</div>", "45", None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "current", "listed"),
    [row[1:] for row in AMONG_OTHERS],
    ids=[row[0] for row in AMONG_OTHERS],
)
def test_the_price_among_other_amounts(body: str, current: str, listed: str | None) -> None:
    price = offer_of(H1 + body, url="https://shop.se/p/1").price  # "599:-" is in its currency
    assert price is not None
    assert price.current == Decimal(current)
    assert price.list == (Decimal(listed) if listed else None)


def test_a_price_without_a_sign_has_the_currency_of_the_former_price() -> None:
    box = '<span class="price">16<sup>99</sup></span> <s>List price € 22,99</s>'
    price = price_of(f'<div class="price-box">{box}</div>{ADD}', url="https://s.example/p")
    assert price is not None
    assert (price.current, price.list) == (Decimal("16.99"), Decimal("22.99"))
    assert price.currency == "EUR"


def test_where_the_price_is_on_request_an_amount_is_that_of_something_else() -> None:
    ask, other = '<div class="preis">Preis auf Anfrage</div>', "<p>Flansch DN50 ab 29,90 €</p>"
    assert current_of(ask + other) is None
    assert current_of(other) == Decimal("29.90")
