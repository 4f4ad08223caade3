"""Prices that only people are told, in the markup of common shop software."""

from __future__ import annotations

from decimal import Decimal

import pytest
from selectolax.lexbor import LexborHTMLParser

from webloom.domain.price import PriceSource
from webloom.parsing.pages.structured import read_structured
from webloom.parsing.prices.finder import PageOffer, find_offer

URL = "https://shop.example/desk-lamp"


def offer_of(page: str, url: str = URL, language: str | None = None) -> PageOffer:
    tree = LexborHTMLParser(page)
    return find_offer(tree, read_structured(tree), url=url, language=language)


def price_of(body: str, url: str = URL) -> tuple[Decimal, Decimal | None, str | None] | None:
    page = f"<title>Desk lamp | Shop</title><body>{body}</body>"
    price = offer_of(page, url).price
    if price is None:
        return None
    assert price.source is PriceSource.TEXT
    return price.current, price.list, price.currency


def amounts(current: str, listed: str | None = None, currency: str | None = "EUR") -> object:
    return Decimal(current), Decimal(listed) if listed else None, currency


H1 = "<h1>Desk lamp</h1>"

SHOPS = [
    ("plain", f'{H1}<span class="price">€ 12,50</span>', amounts("12.50")),
    ("woocommerce, reduced", f"""{H1}<p class="price"><del><span class="woocommerce-Price-amount
        amount"><bdi><span>€</span>60,00</bdi></span></del> <ins><span
        class="woocommerce-Price-amount amount"><bdi><span>€</span>45,00</bdi></span></ins></p>
        <form class="cart"><button>Add to cart</button></form><section class="related"><p>
        <span class="woocommerce-Price-amount amount"><bdi><span>€</span>5,00</bdi></span>""",
        amounts("45.00", "60.00")),
    ("shopify", f"""{H1}<div class="price price--on-sale"><div class="price__regular"><span
        class="price-item price-item--regular">£80.00 GBP</span></div><div class="price__sale"><s
        class="price-item price-item--regular">£100.00 GBP</s><span class="price-item
        price-item--sale">£80.00 GBP</span></div></div><button>Sold out</button>""",
        amounts("80.00", "100.00", "GBP")),
    ("magento", f"""{H1}<div class="product-info-price"><span class="special-price"><span
        class="price-label">Special Price</span><span class="price">$29.00</span></span>
        <span class="old-price"><span class="price-label">Regular Price</span><span
        class="price">$39.00</span></span></div>""", amounts("29.00", "39.00", "USD")),
    ("regular price alone", f'{H1}<span class="regular-price"><b>$39.00</b></span>',
        amounts("39.00", None, "USD")),
    ("prestashop", f"""{H1}<div class="product-prices"><div class="product-discount"><span
        class="regular-price">28,68&nbsp;€</span></div><div class="current-price"><span
        content="22.94">22,94&nbsp;€</span><span class="discount">Économisez 20%</span></div>
        <p class="product-without-taxes">19,12 € HT</p></div>""", amounts("22.94", "28.68")),
    ("cents in an element of their own", f"""{H1}<span class="price"><span>$</span><span>19</span>
        <sup>95</sup></span>""", amounts("19.95", None, "USD")),
    ("separator in an element of its own", f"""{H1}<span class="price"><b>1.299</b><i>,</i><sup>95
        </sup> €</span>""", amounts("1299.95")),
    ("no class at all", f"<td>{H1}</td><td>Price: <b>43.97 €</b></td>", amounts("43.97")),
    ("no currency", f'{H1}<div class="product-price">1,679</div>', amounts("1679", None, None)),
    ("before the headline", f'<span class="price">€ 12,50</span>{H1}', amounts("12.50")),
    ("in the headline", "<h1>Desk lamp - £1,899</h1>", amounts("1899", None, "GBP")),
    ("a range", f'{H1}<p class="price">10,00 € – 20,00 €</p>', amounts("10.00")),  # noqa: RUF001
    ("uvp", f'{H1}<p>UVP 149,99 €</p><p class="price">119,01 €</p>', amounts("119.01", "149.99")),
    ("per 100 g beside", f"""{H1}<p class="base">€ 2,99 / 100 g</p><p class="price">€ 8,97</p>""",
        amounts("8.97")),
    ("monthly payment beside", f"""{H1}<p class="price">12 x $ 10.00</p><p>or $9.99 per month</p>
        <p class="price">$ 99.00</p>""", amounts("99.00", None, "USD")),
    ("shipping beside", f"""{H1}<p>Shipping: € 4,90</p><p class="price">€ 8,97</p>
        <p>Versandkosten 5,90 €</p>""", amounts("8.97")),
    ("without tax beside", f"""{H1}<p class="price-tax">Excl. VAT: € 7,00</p>
        <p class="price">€ 8,97</p>""", amounts("8.97")),
    ("two taxes", f'{H1}<p class="price">£10.83 ex VAT £12.99 inc VAT</p>',
        amounts("12.99", None, "GBP")),
    ("two taxes apart", f"""{H1}<p class="price"><b>£10.83</b> <i>ex VAT</i></p><p class="price">
        <b>£12.99</b> <i>inc VAT</i></p>""", amounts("12.99", None, "GBP")),
    ("amazon", """<h1><span>Desk lamp</span></h1><span class="a-price"><span>$1,299.99</span><span
        aria-hidden="true"><span>$</span><span>1,299<span>.</span></span><span>99</span></span></span>
        <span>List Price: <span class="a-text-price">$1,499.00</span></span>""",
        amounts("1299.99", "1499.00", "USD")),
    ("a dollar with its country", f'{H1}<div class="x-price">AU $12.99</div>',
        amounts("12.99", None, "AUD")),
    ("sign before the cents", f'{H1}<p class="prix">1 299<sup>€99</sup></p>', amounts("1299.99")),
    ("list price with no sign", f"""{H1}<p class="price">€ 1.299,-</p><p>Adviesprijs
        <s>1.499,-</s></p>""", amounts("1299", "1499")),
    ("lowest price of late beside", f"""{H1}<p class="price">99,00 €</p>
        <p>30-Tage-Bestpreis: 89,00 €</p>""", amounts("99.00")),
    ("payments beside", f"""{H1}<p class="price">R$ 1.299,00</p><p class="price">ou 12x de
        R$ 108,25</p>""", amounts("1299.00", None, "BRL")),
    ("sizes beside", f"""{H1}<p class="price">€ 19.00</p><i>Small € 19.00</i><i>Medium € 24.00</i>
        <i>Large € 29.00</i>""", amounts("19.00")),
    ("saving beside", f"""{H1}<p class="price-new">€ 8,97</p><p>You save € 3,00</p>""",
        amounts("8.97")),
    ("a cart in the header", f"""<header><span class="price">€ 0,00</span><span class="price">
        € 55,00</span></header>{H1}<p class="price">€ 8,97</p>""", amounts("8.97")),
    ("neighbours", f"""{H1}<div class="product-carousel"><span class="price">€ 1,00</span></div>
        <div class="main"><p class="price">€ 8,97</p></div><div class="recommendations">
        <span class="price">€ 2,00</span></div>""", amounts("8.97")),
    ("price in Chilean pesos", f'{H1}<p class="price">$24.990</p>', amounts("24990", None, "USD")),
    ("name is no h1", """<h1>Sale</h1><nav>Shoes</nav><div><h2>Desk lamp | Shop</h2>
        <p class="price">€ 8,97</p></div>""", amounts("8.97")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "price"), [row[1:] for row in SHOPS], ids=[row[0] for row in SHOPS]
)
def test_prices_in_the_markup_of_shops(body: str, price: object) -> None:
    assert price_of(body) == price


CARD = '<li><a href="/p/{0}"><h3>Lamp {0}</h3></a><span class="price">€ {0},00</span></li>'

WITHOUT_PRICE = [
    ("call us", f'{H1}<p class="price">Call us</p>'),
    ("free", f'{H1}<p class="price">€ 0,00</p>'),
    ("a list", f"{H1}<ul>{''.join(CARD.format(n) for n in range(10, 30))}</ul>"),
    ("an article", f"<article>{H1}<p>The company, which sold its lamps for $12 in 1950 and made"
        " a profit of $5 million with them in its best year, is closed.</p></article>"),
    ("only shipping", f"{H1}<p>Free shipping for orders over € 50</p>"),
    ("only neighbours", f'{H1}<div class="related-products"><b class="price">€ 5,00</b></div>'),
    ("only the cart", f'<header><span class="cart-total">€ 55,00</span></header>{H1}'),
    ("a sum of several months", f"{H1}<p>24 x 10,00 € monatlich</p>"),
]  # fmt: skip


@pytest.mark.parametrize(
    "body", [row[1] for row in WITHOUT_PRICE], ids=[r[0] for r in WITHOUT_PRICE]
)
def test_pages_that_show_no_price_have_none(body: str) -> None:
    assert price_of(body) is None


def test_the_domain_decides_what_a_dollar_is() -> None:
    body = f'{H1}<p class="price">$24.990</p>'
    assert price_of(body, "https://www.shop.cl/x") == amounts("24990", None, "CLP")


HOSTILE = {
    "prices": H1 + "".join(f"<span class=price>${n}.99</span>" for n in range(20_000)),
    "bare prices": H1 + "".join(f"<span class=price>{n}</span>" for n in range(20_000)),
    "old prices": H1 + "<del class=price>$5.99</del>" * 20_000,
    "headlines": "<title>a b</title>" + "<h1>Lamp</h1>" * 10_000,
    "a long text": f"{H1}<p>" + "out of stock 12 € " * 50_000,
    "digits": f"{H1}<p class=price>" + "1" * 500_000,
    "dots": f"{H1}<p class=price>" + "1." * 500_000,
    "spaces": f"{H1}<p class=price>1" + " " * 500_000 + "€",
    "dashes": f"{H1}<p class=price>1" + "-" * 500_000 + "€",
    "depth": H1 + "<div class=price>" * 1000 + "12 €",
    "attributes": f"{H1}<b class=price " + " ".join(f"a{n}=1" for n in range(2000)) + ">12 €</b>",
    "a long class": f'{H1}<b class="' + "price " * 100_000 + '">12 €</b>',
    "buttons": H1 + "<button>Add to cart</button>" * 20_000,
    "nothing": "",
    "frames": "<frameset><frame></frameset>",
}


@pytest.mark.parametrize("page", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_pages_are_read_to_the_end(page: str) -> None:
    offer_of(page)


@pytest.mark.parametrize("url", ["", "x", "http://[", "https://x.example/%ff%00", "h" * 100_000])
def test_no_address_raises(url: str) -> None:
    assert offer_of(H1, url, language="-_-" * 100).price is None
