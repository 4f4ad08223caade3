from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from selectolax.lexbor import LexborHTMLParser

from steps import at_most
from webloom.parsing.html_tree.structured import Structured, read_structured, types_of


def read(page: str) -> Structured:
    return read_structured(LexborHTMLParser(page))


def script(body: str, type_: str = "application/ld+json") -> str:
    return f'<script type="{type_}">{body}</script>'


MOST_STEPS = 1_000_000
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


def nested(depth: int) -> dict[str, Any] | None:
    return {"a": nested(depth - 1)} if depth else None


def values_in(value: Any) -> int:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(values_in, inside))


HOSTILE = {
    "brackets": ("[" * 100_000, []),
    "braces": ('{"a":' * 100_000, []),
    "depth": ('{"a":' * 900 + "1" + "}" * 900, [nested(24)]),
    "not a number": ("NaN", []),
    "a long number": ("1" * 5000, []),
    "a large number": ('{"n": 1' + "0" * 4000 + "}", [{"n": None}]),
    "a text": ('"text"', []),
    "null": ("null", []),
    "nothing": ("", []),
}


@pytest.mark.parametrize(("body", "nodes"), HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_json_ld_is_bounded_and_costs_no_other(body: str, nodes: list[Any]) -> None:
    with at_most(MOST_STEPS):
        found = read(script(body) + script(json.dumps(PRODUCT)) + script(body))
    assert found.json_ld == [*nodes, PRODUCT, *nodes]


@pytest.mark.parametrize(
    "make",
    [
        lambda: {f"k{n}": n for n in range(100_000)},
        lambda: {"a": {f"k{n}": n for n in range(100_000)}},
        lambda: [{"a": n} for n in range(100_000)],
        lambda: {"a": [[n] for n in range(100_000)]},
    ],
    ids=["names", "names of an object inside", "objects", "lists"],
)
def test_json_ld_is_bounded_in_number(make: Callable[[], Any]) -> None:
    with at_most(MOST_STEPS):
        found = read(script(json.dumps(make())))
    assert values_in(found.json_ld) <= 60_000  # half of them are null, in place of what is left out


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


def test_microdata_is_bounded_in_depth() -> None:
    with at_most(MOST_STEPS):
        (item,) = read('<div itemscope itemprop="x">' * 2000 + "text").microdata
    depth = 1
    while isinstance(item.get("x"), dict):
        item, depth = item["x"], depth + 1
    assert depth == 24


def test_microdata_is_bounded_in_number() -> None:
    page = "<div itemscope><i itemprop=a>text</i>" + "<i itemprop=b>text</i>" * 20_000
    with at_most(MOST_STEPS):
        (item,) = read(page).microdata
    assert item == {"a": "text", "b": ["text"] * 3498}
    with at_most(MOST_STEPS):
        items = read("<div itemscope></div>" * 20_000).microdata
    assert items == [{}] * 500


def test_microdata_is_bounded_in_text() -> None:
    """The text of each property has that of all others in it."""
    page = "<div itemscope>" + "<div itemprop=a>" * 1000 + "text " * 20_000
    with at_most(MOST_STEPS):
        (item,) = read(page).microdata
    assert [len(text) for text in item["a"]] == [19_999] * 10 + [0] * 990


def test_metas_are_read_by_kind_and_the_first_wins() -> None:
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
