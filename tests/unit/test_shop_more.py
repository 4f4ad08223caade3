# ruff: noqa: RUF001  the letters of many languages look alike
"""Shops that say what a thing costs in their scripts alone, and what else was once misread."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, Final

import pytest
from selectolax.lexbor import LexborHTMLParser

from webloom.domain.price import Availability, PriceSource
from webloom.parsing.pages.structured import read_structured
from webloom.parsing.prices.finder import PageOffer, find_offer

IN, OUT, UNKNOWN = Availability.IN_STOCK, Availability.OUT_OF_STOCK, Availability.UNKNOWN
H1: Final = "<h1>Oak stool Juno</h1>"
PRICE: Final = H1 + "<p>€ 49,00</p>"
STOOL: Final = {"name": "Oak stool Juno", "price": 49.5, "currency": "EUR"}
LAMP: Final = {"name": "Desk lamp Io", "price": 19.9, "currency": "EUR"}


def offer_of(body: str, *, title: str = "Oak stool Juno – Holzhaus") -> PageOffer:
    tree = LexborHTMLParser(f"<html><head><title>{title}</title></head><body>{body}</body></html>")
    url = "https://shop.example/p/1"
    return find_offer(tree, read_structured(tree), url=url, language=None)


def next_data(value: Any) -> str:
    return f'<script id="__NEXT_DATA__" type="application/json">{json.dumps(value)}</script>'


def cost(body: str) -> tuple[str | None, str | None]:
    price = offer_of(body).price
    return (str(price.current), price.currency) if price else (None, None)


@pytest.mark.parametrize(
    "script",
    [
        next_data({"props": {"also": [LAMP], "product": STOOL}}),
        next_data({"product": {**STOOL, "price": {"value": "49.5"}, "salePrice": None}}),
        next_data({"product": {"name": "Oak stool Juno", "currencyCode": "EUR",
            "prices": {"sale": {"value": 0}, "current": {"value": 49.5}}}}),
        next_data({"product": {"title": "OAK STOOL JUNO",
            "price": {"amount": "49.5", "currencyCode": "EUR"}}}),
        f"<script>window.__INITIAL_STATE__ = {json.dumps({'product': STOOL})};(function(){{}}())"
        "</script>",
        f'<script>window.__STATE__={{"image":undefined,"product":{json.dumps(STOOL)}}}</script>',
        '<script>dataLayer.push({"event":"view_item","ecommerce":{"currency":"EUR",'
        '"items":[{"item_name":"Oak stool Juno","price":49.5}]}});</script>',
        next_data([STOOL, {**STOOL, "id": 7}]),
    ],
)  # fmt: skip
def test_a_price_that_only_scripts_know(script: str) -> None:
    price = offer_of(f"{H1}<p>Loading</p>{script}").price
    assert price is not None
    assert (price.current, price.currency) == (Decimal("49.5"), "EUR")
    assert price.source is PriceSource.SCRIPT


@pytest.mark.parametrize(
    ("case", "script"),
    [
        ("of another thing", next_data({"also": [LAMP]})),
        ("of things whose names are alike", next_data({"also": [{**STOOL, "name": "Stool"}]})),
        ("with no currency", next_data({"product": {"name": "Oak stool Juno", "price": 49.5}})),
        ("with two prices", next_data([STOOL, {**STOOL, "price": 59}])),
        ("free", next_data({**STOOL, "price": 0})),
        (
            "that cannot be read",
            "<script>a = {'name': 'Oak stool Juno', \"price\": 1, currency: 2}",
        ),
        ("cut off", f"<script>window.state = {json.dumps(STOOL)[:-1]}</script>"),
        ("too deep", next_data(json.loads("[" * 40 + json.dumps(STOOL) + "]" * 40))),
    ],
)
def test_scripts_that_tell_no_price(case: str, script: str) -> None:
    assert offer_of(H1 + script).price is None


def test_what_people_see_counts_before_what_scripts_know() -> None:
    assert cost(PRICE + next_data({**STOOL, "price": 12})) == ("49.00", "EUR")


def test_scripts_with_more_than_is_read_are_left_out() -> None:
    script = next_data({"filling": "x" * 1_600_000, "product": STOOL})
    assert offer_of(H1 + script).price is None


@pytest.mark.parametrize(
    ("stock", "availability"),
    [
        ({"inStock": True}, IN),
        ({"availability": "OUT_OF_STOCK"}, OUT),
        ({"is_available": False}, OUT),
        ({}, UNKNOWN),
    ],
)
def test_scripts_that_know_the_price_know_the_availability(
    stock: dict[str, Any], availability: Availability
) -> None:
    assert offer_of(H1 + next_data({**STOOL, **stock})).availability is availability


def test_a_reduced_price_that_only_scripts_know() -> None:
    price = offer_of(H1 + next_data({**STOOL, "listPrice": 60})).price
    assert price is not None
    assert price.list == 60


@pytest.mark.parametrize(
    ("case", "body", "current", "listed"),
    [
        ("the class of a price that has a list price beside it", """<p
            class="detail-price with-list-price">14,90 €*</p><b class="list-price">18,90 €*</b>
            <p class="price-note">12,00 € im Set</p>""", "14.90", "18.90"),
        ("the price of a neighbour that is lower", """<p class="regular-price">14,90 €</p>
            <div class="product-slider"><p class="price">9,90 €</p></div>""", "14.90", None),
        ("without tax in an element of its own", """<p class="current-price"><span>31,45 €</span>
            <span>HT</span></p><p class="price-ttc"><span>37,74 €</span> TTC</p>""", "37.74", None),
        ("cents of a number that words stand before", """<p>vezi inca 2 oferte de la
            63<i>07</i> Lei</p><p>63<sup>07</sup> Lei</p>""", "63.07", None),
        ("the price of a subscription", """<label>Once <b>$42.00</b></label>
            <label>Subscribe &amp; save 15% <b>$35.70</b></label><button>Add to cart</button>""",
            "42.00", None),
        ("where an auction began", """<div><b>$400</b> 5 bids</div><div>Starting Price
            <b>$90</b></div><button>Place bid</button>""", "400", None),
        ("the lowest of some time", """<p>111,95 €</p><p>Originalmente: 159,95 €</p><p>Último precio
            más bajo: 119,95 €</p><button>Añadir al carrito</button>""", "111.95", "159.95"),
        ("where an auction began, little below", """<div><b>$200</b> 2 bids</div><div>Starting Price
            <b>$150</b></div><button>Place bid</button>""", "200", None),
        ("raised cents behind words", "<p>vezi oferta la 271<sup>99</sup> Lei</p>", "271.99", None),
        ("code that is set far to the right", f"""<p>{" " * 90}49,00 €</p><p>Delivery:</p><p>
            {" " * 90}39,00 €</p><button>Add to cart</button>""", "49.00", None),
        ("elements of the kind that a list has too", f"""<p>€ 49,00</p><button>Add to cart</button>
            <div>{"Made of oak. " * 50}</div>{"".join(f"<p>€ {n},50</p>" for n in range(9))}""",
            "49.00", None),
        ("hundreds of thousands", "<p><b>₹5.45 Lakh</b> <s>₹5.70 Lakh</s></p>", "545000", "570000"),
        ("tens of millions", "<p>Rs. 1.2 Cr</p>", "12000000", None),
        ("sizes that begin with two digits", """<label>40mm <b>$599</b></label><label>44mm
            <b>$669</b></label><button>Add to cart</button>""", "599", None),
        ("the old price by the word of a language", """<div class="fiyatlar"><span class="eski">
            1.299,90 TL</span> <span class="yeni">899,90 TL</span></div>""", "899.90", "1299.90"),
    ],
)  # fmt: skip
def test_the_price_among_other_amounts(
    case: str, body: str, current: str, listed: str | None
) -> None:
    price = offer_of(H1 + body).price
    assert price is not None
    assert price.current == Decimal(current)
    assert price.list == (Decimal(listed) if listed else None)


def test_a_list_with_long_texts_between_its_prices_has_no_price() -> None:
    things = "".join(f"<p>€ {n},50</p><div>{'Made of oak. ' * 50}</div>" for n in range(20, 29))
    assert offer_of(H1 + things).price is None


@pytest.mark.parametrize(
    ("body", "availability"),
    [
        ("<a>加入購物車</a><p>為了避免缺貨，請先詢問是否有現貨</p>", IN),
        ('<a href="#">Add to cart</a>', IN),
        ('<div class="prod-buy-footer"><button>바로구매</button></div>', IN),
        ('<div class="site-footer"><button>Buy now</button></div>', UNKNOWN),
        ("<button>Add</button>", IN),
        ("<p>Currently out of stock</p><button>Add</button>", OUT),
        ("<button>Quick add</button>", UNKNOWN),
        ('<p>Sold out</p><div style="display: none"><button>Add to cart</button></div>', OUT),
        ('<div style="display: none"><button>Add to cart</button></div>', IN),
        ('<a href="/cart/">اضف الى حقيبة التسوق</a>', IN),
        ("<p>Agotado</p><h2>Productos similares a este artículo</h2><button>Comprar</button>", OUT),
        ("<p>Verkauft</p>", OUT),
        ("<p>500 sold</p>", UNKNOWN),
        ("<p>Verkauft durch Holzhaus</p>", UNKNOWN),
        ("<button>Notify me</button>", OUT),
        ("<p>Notify me of price drops</p>", UNKNOWN),
        ("<ul><li>41 <i>Notify me</i></li></ul><button disabled>Select a size</button>", IN),
        ("<p>Verhandlungsbasis</p>", IN),
        ('<a href="#prices">See prices</a>', IN),
        ("<p>Dieser Artikel steht derzeit nicht zur Verfügung!</p>", OUT),
        ("<button>Сообщить о поступлении</button>", OUT),
        ("<p>Ei saatavilla</p>", OUT),
        ("<p>Saatavilla</p>", IN),
        ("<p>Nema na stanju</p>", OUT),
        ("<p>Na stanju</p>", IN),
        ("<p>לא במלאי</p>", OUT),
        ("<button>Sofort-Kaufen</button>", IN),
        ("<button>הוסיפו לסל</button>", IN),
    ],
)
def test_whether_it_can_be_had(body: str, availability: Availability) -> None:
    assert offer_of(f"{PRICE}{body}").availability is availability
