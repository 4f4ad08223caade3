"""Pages whose structured data is odd: several products, variants, other kinds of things."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

from webloom.domain.price import Availability
from webloom.parsing.html_tree.structured import read_structured
from webloom.parsing.prices.finder import PageOffer, find_offer

IN, OUT = Availability.IN_STOCK, Availability.OUT_OF_STOCK
UNKNOWN = Availability.UNKNOWN
URL = "https://shop.example/products/oak-stool-juno?variant=4711002"


def offer_of(html: str, url: str = URL, title: str = "Oak stool Juno | Holzhaus") -> PageOffer:
    tree = LexborHTMLParser(f"<html><head><title>{title}</title></head><body>{html}</body></html>")
    return find_offer(tree, read_structured(tree), url=url, language="en")


def ld(*nodes: Any) -> str:
    return "".join(
        f'<script type="application/ld+json">{json.dumps(one)}</script>' for one in nodes
    )


def sold(price: Any, stock: str = "InStock", **fields: Any) -> dict[str, Any]:
    return {
        "@type": "Offer",
        "price": price,
        "priceCurrency": "EUR",
        "availability": f"http://schema.org/{stock}",
        **fields,
    }


def product(**fields: Any) -> dict[str, Any]:
    return {
        "@context": "https://schema.org/",
        "@type": "Product",
        "name": "Oak stool Juno",
        **fields,
    }


H1 = "<h1>Oak stool Juno</h1>"
BREADCRUMBS = {"@type": "BreadcrumbList", "itemListElement": [{"@type": "ListItem", "item": "/a"}]}
GROUP = {
    "@type": "ProductGroup",
    "name": "Oak stool Juno",
    "url": "https://shop.example/products/oak-stool-juno",
    "hasVariant": [
        product(name="Oak stool Juno - low", sku="J-1", offers=sold(
            40, url="https://shop.example/products/oak-stool-juno?variant=4711001")),
        product(name="Oak stool Juno - high", sku="J-2", offers=sold(
            55, "OutOfStock", url="https://shop.example/products/oak-stool-juno?variant=4711002")),
    ],
}  # fmt: skip

PAGES: list[tuple[str, str, str | None, Availability]] = [
    ("beside breadcrumbs", ld(BREADCRUMBS, product(offers=sold("45.00"))) + H1, "45.00", IN),
    ("the variant of the address", ld(GROUP) + H1, "55", OUT),
    ("a name with entities", ld(product(name="Oak stool &quot;Juno&quot;", offers=sold(45)),
        product(name="Bench", offers=sold(99))) + H1, "45", IN),
    ("two entries of the same", ld(product(), product(offers=sold(45))) + H1, "45", IN),
    ("reviews of it and a list of others", ld(product(offers=sold(45),
        review=[{"@type": "Review"}]),
        {"@type": "ItemList", "itemListElement": [{"@type": "ListItem", "position": 1, "item":
        product(name="Bench", offers=sold(9))}]}) + H1, "45", IN),
    ("an aggregate with one price", ld(product(offers={"@type": "AggregateOffer", "lowPrice": 45,
        "highPrice": 45, "priceCurrency": "EUR", "offerCount": 1, "availability": "InStock"})) + H1,
        "45", IN),
    ("a sale in a specification", ld(product(offers={"@type": "Offer", "availability": "InStock",
        "priceSpecification": [{"@type": "UnitPriceSpecification", "price": 45, "priceCurrency":
        "EUR"}, {"@type": "UnitPriceSpecification", "price": 60, "priceCurrency": "EUR",
        "priceType": "https://schema.org/StrikethroughPrice"}]})) + H1, "45", IN),
    ("a shipping rate inside", ld(product(offers=sold(45, shippingDetails={"@type":
        "OfferShippingDetails", "shippingRate": {"@type": "MonetaryAmount", "value": 5.9,
        "currency": "EUR"}}))) + H1, "45", IN),
    ("a book", ld({"@type": "Book", "name": "Oak stool Juno", "offers": sold(12)}) + H1, "12", IN),
    ("a car", ld({"@type": "Car", "name": "Oak stool Juno", "offers": sold(12000)}) + H1, "12000",
        IN),
    ("nested in a page", ld({"@type": "WebPage", "mainEntity": product(offers=sold(45))}) + H1,
        "45", IN),
    ("a type with its prefix", ld({**product(offers=sold(45)), "@type": "schema:Product"}) + H1,
        "45",
        IN),
    ("several sellers", ld(product(offers=[sold(49, seller={"name": "A"}), sold(45, seller={"name":
        "B"}), sold(52, seller={"name": "C"})])) + H1 + '<p class="price">€ 45.00</p>', "45", IN),
    ("microdata", """<div itemscope itemtype="http://schema.org/Product"><h1 itemprop="name">Oak
        stool Juno</h1><div itemprop="offers" itemscope itemtype="http://schema.org/Offer"><span
        itemprop="priceCurrency" content="EUR">€</span><span itemprop="price"
        content="1045.00">1,045</span><link itemprop="availability"
        href="http://schema.org/OutOfStock"></div></div>""", "1045.00", OUT),
    ("microdata with a low price", """<div itemscope itemtype="https://schema.org/Product"><h1
        itemprop="name">Oak stool Juno</h1><div itemprop="offers" itemscope
        itemtype="https://schema.org/AggregateOffer"><span itemprop="lowPrice">€45.00</span><meta
        itemprop="priceCurrency" content="EUR"></div></div><button>Add to
        cart</button>""", "45.00", IN),
    ("microdata of a list below", f"""{H1}<p class="price">€ 45.00</p><button>Buy</button><ul><li
        itemscope itemtype="http://schema.org/Product"><b itemprop="name">Bench</b><span
        itemprop="offers" itemscope><i itemprop="price">9.00</i></span></li><li itemscope
        itemtype="http://schema.org/Product"><b itemprop="name">Lamp</b><span itemprop="offers"
        itemscope><i itemprop="price">8.00</i></span></li></ul>""", "45.00", IN),
    ("rdfa", """<div vocab="http://schema.org/" typeof="Product"><h1 property="name">Oak stool
        Juno</h1><div property="offers" typeof="Offer"><span property="price"
        content="45.00"></span><meta property="priceCurrency" content="EUR"></div></div>""",
        "45.00", UNKNOWN),
    ("open graph", f"""<meta property="og:type" content="product"><meta
        property="product:price:amount"
        content="45,00"><meta property="product:price:currency" content="EUR"><meta
        property="product:availability" content="instock">{H1}""", "45.00", IN),
    ("open graph of nothing", f"""<meta property="og:price:amount" content="0"><meta
        property="og:price:currency" content="EUR">{H1}<p class="price">€ 45.00</p>""", "45.00",
        UNKNOWN),
    ("a stool of an article's list", ld({"@type": "Article", "headline": "Oak stool Juno"},
        BREADCRUMBS)
        + H1, None, UNKNOWN),
]  # fmt: skip


@pytest.mark.parametrize(
    ("html", "price", "availability"), [row[1:] for row in PAGES], ids=[row[0] for row in PAGES]
)
def test_odd_structured_data(html: str, price: str | None, availability: Availability) -> None:
    found = offer_of(html)
    assert (found.price and found.price.current) == (Decimal(price) if price else None)
    assert found.availability is availability


NO_PRODUCT = {
    "an organization": ld({"@type": "Organization", "name": "Holzhaus", "priceRange": "€€"}),
    "a list": ld({"@type": "ItemList", "itemListElement": [
        {"@type": "Product", "name": f"Stool {n}", "offers": sold(n)} for n in range(5, 25)]}),
    "many": ld(*[product(name=f"Stool {n}", offers=sold(n)) for n in range(5, 25)]),
    "a shop with offers": ld({"@type": "WebSite", "name": "Holzhaus"}, {"@type": "OfferCatalog",
        "itemListElement": [sold(5), sold(9)]}),
    "a post about several": ld({"@type": "BlogPosting", "headline": "Our stools"}) + (
        "<p>The Juno costs € 45, the Ida € 50, and the Nina only € 39.</p>"),
}  # fmt: skip


@pytest.mark.parametrize("html", NO_PRODUCT.values(), ids=NO_PRODUCT.keys())
def test_pages_of_no_single_product_have_no_price(html: str) -> None:
    found = offer_of(f"<h1>Stools for every room</h1>{html}", title="Stools for every room")
    assert found.price is None


def test_a_product_that_is_its_own_variant_is_read() -> None:
    own = product(**{"@id": "#p", "hasvariant": {"@id": "#p"}, "offers": sold("45.00")})
    found = offer_of(ld(own) + H1)
    assert found.price is not None
    assert found.price.current == Decimal("45.00")


def test_the_last_of_three_hundred_variants_is_read() -> None:
    def variant(number: int) -> dict[str, Any]:
        details = {
            "color": "oak",
            "size": "45 cm",
            "image": ["a", "b", "c"],
            "brand": {"name": "x"},
        }
        return product(sku=f"J-{number:04}", offers=sold(number), **details)

    group = {"@type": "ProductGroup", "hasVariant": [variant(number) for number in range(1, 301)]}
    found = offer_of(ld(group) + H1, url="https://shop.example/p?sku=J-0300")
    assert found.price is not None
    assert found.price.current == 300
