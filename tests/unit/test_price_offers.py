"""Prices in what pages say to machines: JSON-LD, microdata and metas."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

from webloom.domain.price import Availability, Price, PriceSource
from webloom.parsing.html_tree.structured import read_structured
from webloom.parsing.prices.finder import PageOffer, find_offer

URL = "https://shop.example/desk-lamp"
IN, OUT, LATER = Availability.IN_STOCK, Availability.OUT_OF_STOCK, Availability.PRE_ORDER


def offer_of(page: str, url: str = URL, language: str | None = None) -> PageOffer:
    tree = LexborHTMLParser(page)
    return find_offer(tree, read_structured(tree), url=url, language=language)


def json_ld(*nodes: Any, body: str = "<h1>Desk lamp</h1>", url: str = URL) -> PageOffer:
    script = f'<script type="application/ld+json">{json.dumps(list(nodes))}</script>'
    return offer_of(f"<title>Desk lamp</title>{script}{body}", url)


def product(**fields: Any) -> dict[str, Any]:
    return {"@type": "Product", "name": "Desk lamp", **fields}


def sold_for(price: Any, availability: str = "InStock", **fields: Any) -> dict[str, Any]:
    return {
        "@type": "Offer",
        "price": price,
        "priceCurrency": "EUR",
        "availability": f"https://schema.org/{availability}",
        **fields,
    }


def euros(current: str, listed: str | None = None) -> Price:
    return Price(
        current=Decimal(current),
        list=Decimal(listed) if listed else None,
        currency="EUR",
        source=PriceSource.JSON_LD,
    )


AGGREGATE = {"@type": "AggregateOffer", "lowPrice": "10,50", "priceCurrency": "EUR"}

SHAPES: list[tuple[str, list[Any], Price | None, Availability]] = [
    ("one offer", [product(offers=sold_for(12.5))], euros("12.5"), IN),
    ("a list of one", [product(offers=[sold_for("12.50")])], euros("12.50"), IN),
    ("written for people", [product(offers=sold_for("1.299,00"))], euros("1299.00"), IN),
    ("names in lower case", [product(offers={"price": "9", "pricecurrency": "EUR", "availability":
        "http://schema.org/SoldOut"})], euros("9"), OUT),
    ("type in lower case", [{**product(offers=sold_for(9)), "@type": "product"}], euros("9"), IN),
    ("a full type", [{**product(offers=sold_for(9)), "@type": "http://schema.org/Product"}],
        euros("9"), IN),
    ("several types", [{**product(offers=sold_for(9)), "@type": ["Car", "Product"]}],
        euros("9"), IN),
    ("a graph", [{"@graph": [{"@type": "WebPage"}, product(offers=sold_for(9))]}], euros("9"), IN),
    ("an aggregate", [product(offers={**AGGREGATE, "offerCount": 3})], euros("10.50"), IN),
    ("an aggregate that says no more", [product(offers=AGGREGATE)], euros("10.50"),
        Availability.UNKNOWN),
    ("an aggregate with offers", [product(offers={**AGGREGATE, "offers": [sold_for(11, "SoldOut"),
        sold_for("10.50")]})], euros("10.50"), IN),
    ("an aggregate of offers only", [product(offers={"@type": "AggregateOffer", "priceCurrency":
        "EUR", "offers": [{"price": 7}]})], euros("7"), Availability.UNKNOWN),
    ("a specification", [product(offers={"@type": "Offer", "availability": "PreOrder",
        "priceSpecification": {"price": "8.00", "priceCurrency": "EUR"}})], euros("8.00"), LATER),
    ("sale and list price", [product(offers=sold_for(8, priceSpecification=[{"price": 10,
        "priceType": "https://schema.org/ListPrice"}, {"price": 8}]))], euros("8", "10"), IN),
    ("a price per kilo beside", [product(offers={"priceCurrency": "EUR", "priceSpecification": [
        {"price": 30, "referenceQuantity": {"value": 1}}, {"price": 3}]})], euros("3"),
        Availability.UNKNOWN),
    ("an offer by its id", [product(offers={"@id": "#o"}), {**sold_for(6), "@id": "#o"}],
        euros("6"), IN),
    ("an offer on its own", [{**sold_for(6), "itemOffered": {"name": "Desk lamp"}}],
        euros("6"), IN),
    ("the main entity", [{"@type": "ItemPage", "mainEntity": product(offers=sold_for(5))}],
        euros("5"), IN),
    ("an event", [{"@type": "Event", "name": "Desk lamp", "offers": sold_for(5)}], euros("5"), IN),
    ("a price of nothing", [product(offers=sold_for(0, "OutOfStock"))], None, OUT),
    ("a negative price", [product(offers=sold_for(-4))], None, IN),
    ("call us", [product(offers=sold_for("call us"))], None, IN),
    ("variants", [{"@type": "ProductGroup", "name": "Desk lamp", "hasVariant": [
        {"@type": "Product", "sku": "red-1", "offers": sold_for(20, "OutOfStock")},
        {"@type": "Product", "sku": "blue-1", "offers": sold_for(22)}]}], euros("22"), IN),
]  # fmt: skip


@pytest.mark.parametrize(
    ("nodes", "price", "availability"), [row[1:] for row in SHAPES], ids=[row[0] for row in SHAPES]
)
def test_json_ld_in_its_many_shapes(
    nodes: list[Any], price: Price | None, availability: Availability
) -> None:
    assert json_ld(*nodes) == (price, availability)


def neighbour(name: str, price: int, **fields: Any) -> dict[str, Any]:
    return product(**{"name": name, "offers": sold_for(price, "OutOfStock"), **fields})


CHAIR = neighbour("Chair", 99)
TABLE = neighbour("Table", 300)
LIST = {"@type": "ItemList", "itemListElement": [{"@type": "ListItem", "item": CHAIR}] * 3}


@pytest.mark.parametrize(
    "nodes",
    [
        [CHAIR, product(offers=sold_for(12)), TABLE],
        [{"@graph": [CHAIR, TABLE, product(offers=sold_for(12))]}],
        [LIST, product(offers=sold_for(12))],
        [CHAIR, {**product(offers=sold_for(12, url=URL)), "name": "LX-5"}],
        [CHAIR, {**product(offers=sold_for(12)), "name": "LX-5", "url": "/desk-lamp/"}],
        [product(offers=sold_for(12), isRelatedTo=[CHAIR], isSimilarTo=TABLE)],
    ],
    ids=["by its name", "in a graph", "beside a list", "by its offer's address", "by its address",
         "with relatives"],
)  # fmt: skip
def test_the_main_product_counts_and_not_a_neighbour(nodes: list[Any]) -> None:
    assert json_ld(*nodes) == (euros("12"), IN)


def test_one_of_a_list_is_not_the_product_even_if_it_has_its_name() -> None:
    namesake = {"@type": "ListItem", "item": product(offers=sold_for(99))}
    listing = {"@type": "ItemList", "itemListElement": [namesake]}
    assert json_ld(listing, product(offers=sold_for(12))) == (euros("12"), IN)


def test_the_longer_match_of_names_wins() -> None:
    nodes = [neighbour("Lamp", 9), product(name="Desk lamp, black", offers=sold_for(12))]
    assert json_ld(*nodes, body="<h1>Desk lamp with foot, black</h1>") == (euros("12"), IN)


def test_a_page_of_several_products_has_no_price_of_its_own() -> None:
    body = "<h1>Furniture</h1>"
    assert json_ld(CHAIR, TABLE, body=body).price is None
    assert json_ld(LIST, body=body).price is None


VARIANTS = product(
    offers=[
        sold_for(20, "OutOfStock", sku="lamp-red"),
        sold_for(25, sku="lamp-blue"),
        sold_for(30, "PreOrder", sku="lamp-gold"),
    ]
)


def test_the_variant_in_the_address_is_meant() -> None:
    assert json_ld(VARIANTS, url=f"{URL}?v=lamp-red") == (euros("20"), OUT)
    assert json_ld(VARIANTS, url=f"{URL}?v=lamp-gold") == (euros("30"), LATER)


def test_of_prices_that_disagree_the_one_that_people_see_is_chosen() -> None:
    body = '<h1>Desk lamp</h1><p class="price">30,00 €</p>'
    assert json_ld(VARIANTS, body=body) == (euros("30"), LATER)
    assert json_ld(VARIANTS) == (euros("25"), IN)


def test_twenty_prices_are_not_refused() -> None:
    offers = [sold_for(price, "InStock") for price in range(10, 30)]
    assert json_ld(product(offers=offers)) == (euros("10"), IN)


def test_what_json_ld_lacks_comes_from_microdata_of_the_same_product() -> None:
    body = """<div itemscope itemtype="http://schema.org/Product"><h1 itemprop="name">Desk lamp</h1>
      <div itemprop="offers" itemscope><link itemprop="availability" href="SoldOut">
      <meta itemprop="price" content="11"></div></div>
      <div itemscope itemtype="https://schema.org/Product"><b itemprop="name">Chair</b>
      <div itemprop="offers" itemscope><link itemprop="availability" href="InStock"></div></div>"""
    found = json_ld(product(offers={"price": 12, "priceCurrency": "EUR"}), body=body)
    assert found == (euros("12"), OUT)


def test_microdata_with_nested_offer() -> None:
    found = offer_of(
        """<title>Desk lamp - Shop</title>
        <div itemscope itemtype="http://schema.org/Product"><h1 itemprop="name">Desk lamp</h1>
        <div itemprop="offers" itemscope itemtype="http://schema.org/Offer">
        <span itemprop="price">1 299,00</span><span itemprop="priceCurrency" content="SEK">kr</span>
        <link itemprop="availability" href="http://schema.org/LimitedAvailability"></div></div>"""
    )
    assert found.price == Price(
        current=Decimal("1299.00"), currency="SEK", source=PriceSource.MICRODATA
    )
    assert found.availability is IN


def test_open_graph_with_sale_price() -> None:
    found = offer_of(
        """<meta property="product:price:amount" content="40.00">
        <meta property="product:sale_price:amount" content="30.00">
        <meta property="product:price:currency" content="USD">
        <meta property="product:availability" content="out of stock"><h1>Desk lamp</h1>"""
    )
    assert found.price == Price(
        current=Decimal("30.00"), list=Decimal("40.00"), currency="USD",
        source=PriceSource.OPEN_GRAPH,
    )  # fmt: skip
    assert found.availability is OUT


def test_open_graph_wins_over_json_ld_only_if_people_see_it() -> None:
    metas = '<meta property="og:price:amount" content="15">'
    node = product(offers=sold_for(12))
    assert json_ld(node, body=f"{metas}<h1>Desk lamp</h1>").price == euros("12")
    shown = json_ld(node, body=f"{metas}<h1>Desk lamp</h1><p class=price>€15.00</p>").price
    assert shown is not None
    assert (shown.current, shown.source) == (Decimal(15), PriceSource.OPEN_GRAPH)


def test_a_price_in_a_named_meta_or_a_twitter_card() -> None:
    found = offer_of('<meta itemprop="price" content="7.50"><h1>Desk lamp</h1>').price
    assert found == Price(current=Decimal("7.50"), source=PriceSource.META)
    found = offer_of(
        '<meta name="twitter:label1" content="Price"><meta name="twitter:data1" content="£7.50">'
    ).price
    assert found == Price(current=Decimal("7.50"), currency="GBP", source=PriceSource.META)


def test_list_price_and_currency_come_from_the_page_where_json_ld_has_none() -> None:
    body = """<h1>Desk lamp</h1><div class="price"><del>€ 60,00</del> <ins>€ 45,00</ins></div>
      <div class="related"><del>€ 99,00</del> <b>€ 45,00</b></div>"""
    assert json_ld(product(offers={"price": "45.00"}), body=body).price == euros("45.00", "60.00")


def test_odd_values_and_cycles_do_no_harm() -> None:
    odd = {"@type": {"a": 1}, "name": {"@value": ["x"]}, "url": [[]], "offers": [
        [1], "x", None, {"price": [[]], "priceCurrency": {"a": []}, "availability": [{}],
                         "priceSpecification": "x"}]}  # fmt: skip
    assert json_ld(odd).price is None
    cycle = [
        {"@type": "ProductGroup", "@id": "#a", "hasVariant": {"@id": "#b"}},
        {"@type": "Product", "@id": "#b", "hasVariant": {"@id": "#a"}, "offers": {"@id": "#b"}},
    ]
    assert json_ld(*cycle).price is None
