"""Lists of other products: which price and which button are those of the page's product."""

from __future__ import annotations

from typing import Final

import pytest

from unit.shop_page import ADD, H1, IN, OUT, UNKNOWN, Found, found, offer_of


def items(kind: str, button: str = ADD) -> str:
    """Two other products."""
    tag = kind.split()[0]
    return (
        f'<{kind}><a href="/p/2">Bench</a> <b class="price">€ 77,00</b> {button}</{tag}>'
        f'<{kind}><a href="/p/3">Desk</a> <b class="price">€ 96,50</b> {button}</{tag}>'
    )


OWN: Final = '<div class="info"><p class="price">€ 149,00</p>'
LIST_OF_THE_SAME_MARKUP: Final = "".join(
    f'<div><div class="price">€ {price},00</div></div>' for price in range(80, 88)
)
IN_THE_SAME_MARKUP: Final = (
    f'<div><div class="price">€ 149,00</div>{ADD}</div>{LIST_OF_THE_SAME_MARKUP}'
)


@pytest.mark.parametrize(
    ("reason", "body", "expected"),
    [
        (
            "a list whose heading says nothing",
            f"{OWN}<p>Sold out</p></div><div><h3>Bits and pieces</h3>{items('div')}</div>",
            ("149.00", OUT),
        ),
        (
            "a list without a heading, in which the buttons are links",
            f"{OWN}<p>Out of stock</p></div><ul>"
            + items('li class="x"', '<a href="#" class="btn">Add to cart</a>')
            + "</ul>",
            ("149.00", OUT),
        ),
        (
            "its own button is disabled",
            f"{OWN}<button disabled>Add to cart</button><p>Non disponibile</p></div>"
            f"<section>{items('article')}</section>",
            ("149.00", OUT),
        ),
        (
            "a button before the list is its own",
            f"<div><p>€ 149,00</p>{ADD}</div><ul>{items('li')}</ul>",
            ("149.00", IN),
        ),
        (
            "its price is on request",
            f"<p>Price on request</p><button>Ask us</button><div>{items('div')}</div>",
            (None, UNKNOWN),
        ),
        (
            "one of its own variants is out of stock",
            f"{OWN}</div><table><tr><td>Red 1</td><td>€ 149,00</td><td>Out of stock</td></tr>"
            f"<tr><td>Blue 2</td><td>€ 149,00</td><td>{ADD}</td></tr>"
            f"<tr><td>Grey 3</td><td>€ 159,00</td><td>{ADD}</td></tr></table>",
            ("149.00", IN),
        ),
        (
            "it is shown twice, for screens of two sizes",
            "<p>Red: sold out</p>" + "<div><p>€ 149,00</p><button>Buy</button></div>" * 2,
            ("149.00", IN),
        ),
        (
            "the prices of its sellers are all there is",
            '<ul><li>Seller One <span class="price">€ 149,00</span><button>Buy</button></li>'
            '<li>Seller Two <span class="price">€ 155,00</span><button>Buy</button></li></ul>',
            ("149.00", IN),
        ),
        ("its button is beside its price", IN_THE_SAME_MARKUP, ("149.00", IN)),
        (
            "its button is there again at the end of the page",
            IN_THE_SAME_MARKUP + "<p>Words</p>" * 300 + ADD,
            ("149.00", IN),
        ),
    ],
)
def test_products_with_buttons_of_their_own(reason: str, body: str, expected: Found) -> None:
    assert found(offer_of(H1 + body)) == expected, reason


def test_the_heading_of_a_list_counts_where_the_headline_is_not_the_title() -> None:
    body = (
        "<h1>Juno (oak, set of two, oiled)</h1><p>€ 149,00</p><p>This item is out of stock</p>"
        f"<h2>Customers also viewed</h2><p>Bench € 77,00</p>{ADD}"
    )
    assert found(offer_of(body, title="Stools at the best prices")) == ("149.00", OUT)


@pytest.mark.parametrize(
    "heading",
    [
        "Gesponserte Produkte",
        "Nella stessa categoria",
        "Andre så også på",
        "Mohlo by se vám líbit",
        "Рекомендуємо",
        "Подобни книги",
        "מוצרים קשורים",
        "看過此商品的人也看了",
        "สินค้าที่เกี่ยวข้อง",
    ],
)
def test_headings_of_lists_in_many_languages(heading: str) -> None:
    others = f"<h3>{heading}</h3><p>Bench € 77,00 {ADD}</p>"
    assert found(offer_of(f"{H1}<p>€ 149,00</p><p>Sold out</p>{others}")) == ("149.00", OUT)


def test_a_recommended_age_is_not_the_heading_of_a_list() -> None:
    body = f"{H1}<dl><dt>Рекомендуемый возраст</dt><dd>3+</dd></dl><p>€ 149,00</p>"
    assert found(offer_of(body + "<button>Купить</button>")) == ("149.00", IN)
