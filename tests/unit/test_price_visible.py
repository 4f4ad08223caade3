"""Prices in the visible text alone, in the markup of common shop software."""

from __future__ import annotations

from decimal import Decimal

import pytest
from selectolax.lexbor import LexborHTMLParser

from webloom.domain.price import Availability, PriceSource
from webloom.parsing.html_tree.structured import read_structured
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
    ("name is not an h1", """<h1>Sale</h1><nav>Shoes</nav><div><h2>Desk lamp | Shop</h2>
        <p class="price">€ 8,97</p></div>""", amounts("8.97")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "price"), [row[1:] for row in SHOPS], ids=[row[0] for row in SHOPS]
)
def test_prices_in_the_markup_of_shops(body: str, price: object) -> None:
    assert price_of(body) == price


CARD = '<li><a href="/p/{0}"><h3>Lamp {0}</h3></a><span class="price">€ {0},00</span>{1}</li>'
ITEMS = [CARD.format(n, "<button>Add to cart</button>") for n in range(10, 50)]

WITHOUT_PRICE = [
    ("call us", f'{H1}<p class="price">Call us</p>'),
    ("free", f'{H1}<p class="price">€ 0,00</p>'),
    ("a list", f"{H1}<ul>{''.join(CARD.format(n, '') for n in range(10, 30))}</ul>"),
    ("a category", H1 + "<ul>" + "".join(ITEMS).replace("<li>", '<li class="item">') + "</ul>"),
    ("a category of cards", H1 + "".join(ITEMS).replace("<li>", '<li class="product-card">')),
    ("a list with long texts between its prices", H1 + "".join(
        f"<p>€ {n},50</p><div>{'Made of oak. ' * 50}</div>" for n in range(20, 29))),
    ("an article", f"<article>{H1}<p>The company, which sold its lamps for $12 in 1950 and made"
        " a profit of $5 million with them in its best year, is closed.</p></article>"),
    ("a post", f"""{H1}<article><p>We like this lamp. It costs less than $5 to mend one, and in 1990
        they were sold for $12 at the market.</p><p>Leave a comment</p></article>"""),
    ("a post with its price in prose", f"""{H1}<article><p>The lamp was introduced in spring, and at
        a list price of $1,200 it was one of the dearest in the house for a long time.</p>
        </article>"""),
    ("an error", f"{H1}<p>Sorry, this page is not available. Free delivery over $50.</p>"),
    ("a cart", f"""{H1}<table class="cart-items"><tr class="cart-item"><td>Bench</td><td
        class="cart-item-price">€ 45,00</td></tr><tr class="cart-item"><td>Lamp</td><td
        class="cart-item-price">€ 15,00</td></tr></table><div class="cart-total">€ 60,00</div>"""),
    ("only shipping", f"{H1}<p>Free shipping for orders over € 50</p>"),
    ("shipping costs", f"{H1}<p>Shipping: € 4,90 in Germany.</p><p>Free delivery from € 50.</p>"),
    ("only neighbours", f'{H1}<div class="related-products"><b class="price">€ 5,00</b></div>'),
    ("only the cart", f'<header><span class="cart-total">€ 55,00</span></header>{H1}'),
    ("a sum of several months", f"{H1}<p>24 x 10,00 € monatlich</p>"),
]  # fmt: skip


@pytest.mark.parametrize(
    "body", [row[1] for row in WITHOUT_PRICE], ids=[r[0] for r in WITHOUT_PRICE]
)
def test_pages_without_a_price(body: str) -> None:
    offer = offer_of(f"<title>Desk lamp | Shop</title><body>{body}</body>")
    assert offer == (None, Availability.UNKNOWN)


NEWS = '<script type="application/ld+json">{"@type": "NewsArticle"}</script>'
ARTICLE = '<meta property="og:type" content="article">'


@pytest.mark.parametrize(
    ("page", "price"),
    [
        (f"{NEWS}<h1>Desk lamp of Shop costs €399</h1><p>Out soon.</p>", None),
        (f"{ARTICLE}{H1}<p>Ours will cost € 399 in spring.</p>", None),
        (f'{ARTICLE}{H1}<p class="price">€ 399</p>', amounts("399")),
        (f"{NEWS}{H1}<p>€ 399</p><button>Add to cart</button>", amounts("399")),
    ],
    ids=["news of a price", "an article", "a shop that calls its pages articles",
         "an article with a button to buy"],
)  # fmt: skip
def test_articles_have_a_price_only_where_they_sell(page: str, price: object) -> None:
    assert price_of(page) == price


def test_the_domain_decides_what_a_dollar_is() -> None:
    body = f'{H1}<p class="price">$24.990</p>'
    assert price_of(body, "https://www.shop.cl/x") == amounts("24990", None, "CLP")


@pytest.mark.parametrize("url", ["", "x", "http://[", "https://x.example/%ff%00", "h" * 100_000])
def test_any_address_is_accepted(url: str) -> None:
    assert offer_of(H1, url, language="-_-" * 100).price is None
