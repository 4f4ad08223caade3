# ruff: noqa: RUF001  the letters of many languages look alike
"""Shops whose pages say little to machines: which price and which button are the product's own."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

import pytest
from selectolax.lexbor import LexborHTMLParser

from webloom.domain.price import Availability
from webloom.parsing.pages.structured import read_structured
from webloom.parsing.prices.amounts import amounts_in
from webloom.parsing.prices.finder import PageOffer, find_offer

IN, OUT = Availability.IN_STOCK, Availability.OUT_OF_STOCK
LATER, UNKNOWN = Availability.PRE_ORDER, Availability.UNKNOWN
H1: Final = "<h1>Oak stool Juno</h1>"
TITLE: Final = "Oak stool Juno – Holzhaus"


def offer_of(
    body: str, *, title: str = TITLE, head: str = "", url: str = "https://shop.example/p/1"
) -> PageOffer:
    tree = LexborHTMLParser(
        f"<html><head><title>{title}</title>{head}</head><body>{body}</body></html>"
    )
    return find_offer(tree, read_structured(tree), url=url, language=None)


def found(offer: PageOffer) -> tuple[str | None, Availability]:
    return str(offer.price.current) if offer.price else None, offer.availability


def items(kind: str, button: str = "<button>Add to cart</button>") -> str:
    """Two other things to buy."""
    tag = kind.split()[0]
    return (
        f'<{kind}><a href="/p/2">Bench</a> <b class="price">€ 77,00</b> {button}</{tag}>'
        f'<{kind}><a href="/p/3">Desk</a> <b class="price">€ 96,50</b> {button}</{tag}>'
    )


OWN: Final = '<div class="info"><p class="price">€ 149,00</p>'


@pytest.mark.parametrize(
    ("reason", "body", "expected"),
    [
        (
            "a list whose heading says nothing",
            f"{OWN}<p>Sold out</p></div><div><h3>Bits and pieces</h3>{items('div')}</div>",
            ("149.00", OUT),
        ),
        (
            "a list with no heading at all, in which the buttons are links",
            f"{OWN}<p>Out of stock</p></div><ul>"
            + items('li class="x"', '<a href="#" class="btn">Add to cart</a>')
            + "</ul>",
            ("149.00", OUT),
        ),
        (
            "its own button is off",
            f"{OWN}<button disabled>Add to cart</button><p>Non disponibile</p></div>"
            f"<section>{items('article')}</section>",
            ("149.00", OUT),
        ),
        (
            "a button before the list is its own",
            f"<div><p>€ 149,00</p><button>Add to cart</button></div><ul>{items('li')}</ul>",
            ("149.00", IN),
        ),
        (
            "its price has to be asked for",
            f"<p>Price on request</p><button>Ask us</button><div>{items('div')}</div>",
            (None, UNKNOWN),
        ),
        (
            "one of its own variants is out of stock",
            f"{OWN}</div><table><tr><td>Red 1</td><td>€ 149,00</td><td>Out of stock</td></tr>"
            "<tr><td>Blue 2</td><td>€ 149,00</td><td><button>Add to cart</button></td></tr>"
            "<tr><td>Grey 3</td><td>€ 159,00</td><td><button>Add to cart</button></td></tr>"
            "</table>",
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
    ],
)
def test_things_with_buttons_of_their_own(
    reason: str, body: str, expected: tuple[str | None, Availability]
) -> None:
    assert found(offer_of(H1 + body)) == expected, reason


def test_the_heading_of_others_counts_where_the_headline_is_not_the_title() -> None:
    body = (
        "<h1>Juno (oak, set of two, oiled)</h1><p>€ 149,00</p><p>This item is out of stock</p>"
        "<h2>Customers also viewed</h2><p>Bench € 77,00</p><button>Add to cart</button>"
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
def test_headings_of_others(heading: str) -> None:
    others = f"<h3>{heading}</h3><p>Bench € 77,00 <button>Add to cart</button></p>"
    assert found(offer_of(f"{H1}<p>€ 149,00</p><p>Sold out</p>{others}")) == ("149.00", OUT)


def test_a_recommended_age_is_no_heading_of_others() -> None:
    body = f"{H1}<dl><dt>Рекомендуемый возраст</dt><dd>3+</dd></dl><p>€ 149,00</p>"
    assert found(offer_of(body + "<button>Купить</button>")) == ("149.00", IN)


def test_its_button_tells_the_price_from_those_of_a_list_written_alike() -> None:
    rows = "".join(f'<div><div class="price">€ {price},00</div></div>' for price in range(80, 88))
    body = f'{H1}<div><div class="price">€ 149,00</div><button>Add to cart</button></div>{rows}'
    assert found(offer_of(body)) == ("149.00", IN)
    again = "<p>Words</p>" * 300 + "<button>Add to cart</button>"
    assert found(offer_of(body + again)) == ("149.00", IN)


@pytest.mark.parametrize(
    ("reason", "body", "expected"),
    [
        (
            "what is said before the headline is of cookies",
            f"<p>Available in the settings</p>{H1}<p>€ 149,00</p><p>Sold out</p>",
            OUT,
        ),
        (
            "what is said behind it is of cookies, too",
            f'{H1}<p>€ 149,00</p><div id="consent-layer"><p>Available in the settings</p></div>',
            UNKNOWN,
        ),
        (
            "before the headline, where nothing is said after it",
            f"<p>Sold out</p>{H1}<p>€ 149,00</p>",
            OUT,
        ),
        (
            "a long sentence about this listing",
            "<p>This listing was ended by the seller on Sunday at 7:41 PM because the thing is no "
            f"longer available.</p>{H1}<p>€ 149,00</p>",
            OUT,
        ),
        (
            "a long sentence about things in general",
            f"{H1}<p>€ 149,00</p><p>We will give your money back within a few days if a thing is "
            "out of stock.</p>",
            UNKNOWN,
        ),
        ("sold, in Czech", f"{H1}<p>€ 149,00</p><p>Prodáno</p>", OUT),
        ("to be told when it is back", f"{H1}<p>€ 149,00</p><p>Уведоми ме</p>", OUT),
        (
            "to be told as soon as it can be delivered",
            f"{H1}<p>€ 149,00</p><p>Benachrichtigen Sie mich, sobald er lieferbar ist.</p>",
            OUT,
        ),
        ("a price to talk about", f"{H1}<p>€ 149,00</p><p>Preço negociável</p>", IN),
        ("a price not to talk about", f"{H1}<p>€ 149,00</p><p>Preço não negociável</p>", UNKNOWN),
        ("to write to the seller", f"{H1}<p>€ 149,00</p><button>Enviar mensagem</button>", IN),
        (
            "a form to write to the shop, though it is sold out",
            f"{H1}<p>€ 149,00</p><p>Esgotado</p><button>Enviar mensagem</button>",
            OUT,
        ),
        (
            "said in RDFa",
            f'{H1}<p>€ 149,00</p><link property="availability" href="http://schema.org/InStock">',
            IN,
        ),
        (
            "said in RDFa, of several things",
            f'{H1}<p>€ 149,00</p><link property="availability" href="http://schema.org/InStock">'
            '<link property="availability" href="http://schema.org/OutOfStock">',
            UNKNOWN,
        ),
    ],
)
def test_what_is_said_of_the_stock(reason: str, body: str, expected: Availability) -> None:
    assert offer_of(body).availability is expected, reason


@pytest.mark.parametrize(
    ("reason", "body", "expected"),
    [
        (
            "in the place of the button",
            f'{H1}<div class="buy-block"><div class="buy-block__title">Niet leverbaar</div></div>',
            OUT,
        ),
        (
            "a button that may be for news",
            f'{H1}<p>Words of an article.</p><button class="btn">Notify me</button>',
            UNKNOWN,
        ),
        (
            "a shop that does not answer",
            f'{H1}<p>The service is temporarily unavailable.</p><a class="btn">Try again</a>',
            UNKNOWN,
        ),
    ],
)
def test_gone_with_its_price(reason: str, body: str, expected: Availability) -> None:
    assert found(offer_of(body)) == (None, expected), reason


@pytest.mark.parametrize(
    ("reason", "body", "current", "listed"),
    [
        (
            "a price in crowns, twice, with no word between",
            '<div class="price"><span>Pris 599:-</span><span><b>599</b><b> :-</b></span></div>'
            '<div class="price"><span>Tidigare pris: 799:-</span></div>'
            "<button>Köp nu</button>",
            "599",
            "799",
        ),
        (
            "two prices in crowns beside each other",
            '<div><span class="now">599:-</span><span class="old">799:-</span></div>',
            "599",
            "799",
        ),
        (
            "what can be delivered is no fee",
            '<p>Schreibt mir, wenn lieferbar</p><div class="price"><span>149,00 €</span></div>',
            "149.00",
            None,
        ),
        (
            "for those who buy many",
            "<div>520,00 €</div><div>Оптом від 480,00 €</div>",
            "520.00",
            None,
        ),
        (
            "what is added to it",
            '<div>149,00 €</div><label>Five years <b class="price">+20,00 €</b></label>',
            "149.00",
            None,
        ),
        (
            "how much to spend",
            "<p>Spend €75 for free shipping</p><p>149,00 €</p>",
            "149.00",
            None,
        ),
        (
            "what is left to spend",
            "<p>Only €5 away from free shipping</p><p>149,00 €</p>",
            "149.00",
            None,
        ),
        (
            "the normal price",
            '<p class="price">€ 34,90</p><p>Normal: € 49,90</p>',
            "34.90",
            "49.90",
        ),
        (
            "the full price, by its class",
            '<span class="price price--sale">€ 34,90</span>'
            '<span class="price price--full">€ 49,90</span>',
            "34.90",
            "49.90",
        ),
        (
            "elements that are named by a hook",
            '<span data-hook="formatted-secondary-price">€ 49,90</span>'
            '<span data-hook="formatted-primary-price">€ 34,90</span>',
            "34.90",
            "49.90",
        ),
        (
            "the first price, by a Hungarian class",
            '<span class="eredeti">€ 49,90</span> <span class="akcios">€ 34,90</span>',
            "34.90",
            "49.90",
        ),
    ],
)
def test_prices_of_a_page(reason: str, body: str, current: str, listed: str | None) -> None:
    price = offer_of(H1 + body, url="https://shop.se/p/1").price
    assert price is not None, reason
    assert price.current == Decimal(current), reason
    assert price.list == (Decimal(listed) if listed else None), reason


def test_the_reduced_price_in_a_table() -> None:
    rows = (
        '<tr><th>판매가</th><td><strong class="price">189,000원</strong></td></tr>'
        '<tr><th>할인판매가</th><td><span class="price">151,200원</span></td></tr>'
    )
    assert found(offer_of(f"{H1}<table>{rows}</table>"))[0] == "151200"


def test_an_amount_written_twice_is_no_range() -> None:
    assert not any(one.range_from for one in amounts_in("599 kr - 599 kr", ["SEK"]))


NEWS: Final = '<script type="application/ld+json">{"@type": "NewsArticle"}</script>'


@pytest.mark.parametrize(
    ("reason", "head", "body", "current"),
    [
        ("news of a price", NEWS, "<h1>Oak stool Juno costs €399</h1><p>In shops soon.</p>", None),
        (
            "an article by its type",
            '<meta property="og:type" content="article">',
            f"{H1}<p>Ours will cost € 399 in spring.</p>",
            None,
        ),
        (
            "a shop that calls its pages articles",
            '<meta property="og:type" content="article">',
            f'{H1}<p class="price">€ 399</p>',
            "399",
        ),
        (
            "an article with a button to buy",
            NEWS,
            f"{H1}<p>€ 399</p><button>Add to cart</button>",
            "399",
        ),
    ],
)
def test_articles(reason: str, head: str, body: str, current: str | None) -> None:
    assert found(offer_of(body, head=head))[0] == current, reason


def test_items_of_thousands_of_texts_are_read_in_part() -> None:
    item = "<div>" + "<i>1</i>" * 3000 + "<p>€ 2</p><button>Add to cart</button></div>"
    body = f"{H1}<p>€ 149,00</p><p>Sold out</p>" + item * 12
    assert offer_of(body).price is not None
