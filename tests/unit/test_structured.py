from __future__ import annotations

import json

import msgspec
import pytest
from selectolax.lexbor import LexborHTMLParser

from webloom.parsing.pages.structured import Structured, read_structured, types_of


def read(page: str) -> Structured:
    return read_structured(LexborHTMLParser(page))


def script(body: str, type_: str = "application/ld+json") -> str:
    return f'<script type="{type_}">{body}</script>'


PRODUCT = {"@type": "Product", "name": "Lamp"}

WRITTEN = [
    (script(json.dumps(PRODUCT)), "plain"),
    (script(json.dumps(PRODUCT), "application/ld+json; charset=utf-8"), "with a charset"),
    (script(json.dumps(PRODUCT), "Application/LD+JSON"), "in capitals"),
    (script(json.dumps([PRODUCT])), "a list"),
    (script(json.dumps([[PRODUCT]])), "a list in a list"),
    (script(json.dumps({"@context": "x", "@graph": [PRODUCT]})), "a graph"),
    (script(f"<!-- {json.dumps(PRODUCT)} -->"), "inside an HTML comment"),
    (script(f"//<![CDATA[\n{json.dumps(PRODUCT)}\n//]]>"), "inside CDATA"),
    (script(f"/*<![CDATA[*/{json.dumps(PRODUCT)}/*]]>*/"), "inside commented CDATA"),
    (script(json.dumps(PRODUCT) + ";"), "with a semicolon"),
    (script('{"@type": "Product", "name": "Lamp",}'), "with a trailing comma"),
    (script(json.dumps(PRODUCT).replace('"', "&quot;")), "escaped as if it were an attribute"),
    (script("{broken") + script(json.dumps(PRODUCT)), "after a broken script"),
]


@pytest.mark.parametrize(("page", "_why"), WRITTEN, ids=[why for _, why in WRITTEN])
def test_json_ld_is_read_however_it_is_wrapped(page: str, _why: str) -> None:
    assert read(page).json_ld == [PRODUCT]


def test_control_characters_and_wrong_escapes_are_forgiven() -> None:
    page = script('{"@type": "Product", "name": "Desk\n\tlamp", "color": "it\\\'s \\"red\\""}')
    assert read(page).json_ld == [
        {"@type": "Product", "name": "Desk\n\tlamp", "color": 'it\'s "red"'}
    ]


def test_several_values_in_one_script_are_read_up_to_the_broken_one() -> None:
    page = script('{"@type": "A"}\n{"@type": "B"} {"@type": ')
    assert [types_of(node) for node in read(page).json_ld] == [["A"], ["B"]]


def test_a_node_that_carries_a_graph_is_kept_beside_it() -> None:
    page = script('{"@type": "WebPage", "@graph": [{"@type": "Product"}]}')
    assert read(page).json_ld == [{"@type": "Product"}, {"@type": "WebPage"}]


@pytest.mark.parametrize(
    "body",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"a":' * 900 + "1" + "}" * 900,
        "NaN",
        "1" * 5000,
        '{"n": 1' + "0" * 4000 + "}",
        '"text"',
        "null",
        "",
        "{" + ",".join(f'"k{n}": {n}' for n in range(100_000)) + "}",
    ],
)
def test_hostile_json_ld_is_bounded_and_never_raises(body: str) -> None:
    found = read(script(body) + script(json.dumps(PRODUCT)) + script(body))
    json.dumps(found.json_ld)
    assert len(found.json_ld) <= 3


def test_what_no_database_can_store_is_replaced() -> None:
    page = script('{"a\\u0000": "x\\ud800y", "big": 99999999999999999999, "inf": 1e999}')
    (node,) = read(page).json_ld
    assert node == {"a\ufffd": "x\ufffdy", "big": 1e20, "inf": None}
    msgspec.json.encode(node)


MICRODATA = """
<div itemscope itemtype="https://schema.org/Product" itemid="urn:1">
  <h1 itemprop="name"> Desk
     lamp </h1>
  <img itemprop="image" src="/a.png"><img itemprop="image" src="/b.png">
  <a itemprop="url" href="/lamp">more</a>
  <div><div itemprop="offers" itemscope itemtype="http://schema.org/Offer">
    <span itemprop="price" content="12.50">12,50 €</span>
    <meta itemprop="priceCurrency" content="EUR">
    <link itemprop="availability" href="https://schema.org/InStock">
    <time itemprop="priceValidUntil" datetime="2030-01-01">New Year</time>
    <data itemprop="sku" value="77">seventy-seven</data>
  </div></div>
  <span itemprop="brand">Lux</span>
</div>
<div itemscope itemtype="https://schema.org/Product"><b itemprop="name alternateName">Bulb</b></div>
<p itemprop="price">9</p>
"""


def test_microdata_is_read_as_nested_items() -> None:
    lamp, bulb = read(MICRODATA).microdata
    assert lamp == {
        "@type": "Product",
        "@id": "urn:1",
        "name": "Desk lamp",
        "image": ["/a.png", "/b.png"],
        "url": "/lamp",
        "offers": {
            "@type": "Offer",
            "price": "12.50",
            "priceCurrency": "EUR",
            "availability": "https://schema.org/InStock",
            "priceValidUntil": "2030-01-01",
            "sku": "77",
        },
        "brand": "Lux",
    }
    assert bulb == {"@type": "Product", "name": "Bulb", "alternateName": "Bulb"}


def test_hostile_microdata_is_bounded() -> None:
    nested = '<div itemscope itemprop="x">' * 2000 + "text"
    json.dumps(read(nested).microdata)
    many = "<div itemscope><i itemprop=a>text</i>" + "<i itemprop=b>text</i>" * 20_000
    (item,) = read(many).microdata
    assert len(item["b"]) < 5000
    text = "<div itemscope>" + "<div itemprop=a>" * 1000 + "text " * 20_000
    json.dumps(read(text).microdata)


def test_metas_are_told_apart_and_the_first_wins() -> None:
    found = read(
        '<meta property="og:title" content="Lamp"><meta property="og:title" content="Other">'
        '<meta property="Product:Price:Amount" content=" 12.50 "><meta name="Author" content="A">'
        '<meta name="og:type" content="product"><meta itemprop="price" content="13">'
        '<meta name="empty" content=""><meta charset="utf-8">'
    )
    assert found.open_graph == {
        "og:title": "Lamp",
        "product:price:amount": "12.50",
        "og:type": "product",
    }
    assert found.metas == {"author": "A", "og:type": "product", "price": "13"}


def test_types_are_bare_names() -> None:
    assert types_of({"@type": ["https://schema.org/Product", "schema:Offer", 3]}) == [
        "Product",
        "Offer",
    ]
    assert types_of({}) == []


def test_an_empty_page_says_nothing() -> None:
    assert read("") == Structured()
