"""Prices that only the data of a page's scripts has: `__NEXT_DATA__`, `dataLayer` and others."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, Final

import pytest

from unit.shop_page import H1, IN, OUT, UNKNOWN, found, offer_of
from webloom.domain.price import Availability, PriceSource

STOOL: Final = {"name": "Oak stool Juno", "price": 49.5, "currency": "EUR"}
LAMP: Final = {"name": "Desk lamp Io", "price": 19.9, "currency": "EUR"}


def next_data(value: Any) -> str:
    return f'<script id="__NEXT_DATA__" type="application/json">{json.dumps(value)}</script>'


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
    ids=["an object among others", "a price in an object", "a price of several prices",
         "a name in capitals", "a global variable", "a value that is no JSON", "an event",
         "twice the same"],
)  # fmt: skip
def test_a_price_in_a_script_is_found(script: str) -> None:
    price = offer_of(f"{H1}<p>Loading</p>{script}").price
    assert price is not None
    assert (price.current, price.currency) == (Decimal("49.5"), "EUR")
    assert price.source is PriceSource.SCRIPT


WITHOUT_PRICE: Final = {
    "another product": next_data({"also": [LAMP]}),
    "a name that is only similar": next_data({"also": [{**STOOL, "name": "Stool"}]}),
    "no currency": next_data({"product": {"name": "Oak stool Juno", "price": 49.5}}),
    "two prices": next_data([STOOL, {**STOOL, "price": 59}]),
    "a price of zero": next_data({**STOOL, "price": 0}),
    "not JSON": "<script>a = {'name': 'Oak stool Juno', \"price\": 1, currency: 2}",
    "cut off": f"<script>window.state = {json.dumps(STOOL)[:-1]}</script>",
    "too deep": next_data(json.loads("[" * 40 + json.dumps(STOOL) + "]" * 40)),
    "too long": next_data({"filling": "x" * 1_600_000, "product": STOOL}),
    "after too many objects of that name": next_data([{"name": STOOL["name"]}] * 1000 + [STOOL]),
}


@pytest.mark.parametrize("script", WITHOUT_PRICE.values(), ids=WITHOUT_PRICE.keys())
def test_scripts_without_a_price_of_the_product(script: str) -> None:
    assert found(offer_of(H1 + script)) == (None, UNKNOWN)


def test_a_visible_price_counts_before_one_in_a_script() -> None:
    script = next_data({**STOOL, "price": 12})
    price = offer_of(f"{H1}<p>€ 49,00</p>{script}").price
    assert price is not None
    assert (price.current, price.currency) == (Decimal("49.00"), "EUR")


@pytest.mark.parametrize(
    ("stock", "availability"),
    [
        ({"inStock": True}, IN),
        ({"availability": "OUT_OF_STOCK"}, OUT),
        ({"is_available": False}, OUT),
        ({}, UNKNOWN),
    ],
)
def test_availability_comes_from_the_script_that_has_the_price(
    stock: dict[str, Any], availability: Availability
) -> None:
    assert offer_of(H1 + next_data({**STOOL, **stock})).availability is availability


def test_a_list_price_in_a_script_is_found() -> None:
    price = offer_of(H1 + next_data({**STOOL, "listPrice": 60})).price
    assert price is not None
    assert price.list == 60
