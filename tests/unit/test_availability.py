# ruff: noqa: RUF001  the letters of many languages look alike
from __future__ import annotations

import pytest
from selectolax.lexbor import LexborHTMLParser

from webloom.domain.price import Availability
from webloom.parsing.pages.structured import read_structured
from webloom.parsing.prices.availability import stated_availability, structured_availability
from webloom.parsing.prices.finder import find_offer

IN, OUT = Availability.IN_STOCK, Availability.OUT_OF_STOCK
LATER, UNKNOWN = Availability.PRE_ORDER, Availability.UNKNOWN

TOLD = [
    ("https://schema.org/InStock", IN),
    ("http://schema.org/InStoreOnly", IN),
    ("LimitedAvailability", IN),
    ("schema:OnlineOnly", IN),
    ("in stock", IN),
    ("instock", IN),
    ("https://schema.org/OutOfStock", OUT),
    ("SoldOut", OUT),
    ("Discontinued", OUT),
    ("out of stock", OUT),
    ("PreOrder", LATER),
    ("https://schema.org/PreSale", LATER),
    ("BackOrder", LATER),
    ("Auf Lager", IN),
    (["https://schema.org/InStock"], IN),
    ({"@id": "https://schema.org/SoldOut"}, OUT),
    (True, IN),
    ("", UNKNOWN),
    (None, UNKNOWN),
    (7, UNKNOWN),
    ("https://schema.org/Whatever", UNKNOWN),
]


@pytest.mark.parametrize(("value", "availability"), TOLD)
def test_what_machines_are_told(value: object, availability: Availability) -> None:
    assert structured_availability(value) is availability


SAID = [
    ("In stock", "Out of stock", "Pre-order now"),  # English
    ("Auf Lager", "Nicht auf Lager", "Jetzt vorbestellen"),  # German
    ("En stock", "Rupture de stock", "Précommander"),  # French
    ("Disponible", "Agotado", "Reserva ya"),  # Spanish
    ("Disponibile", "Non disponibile", "Preordina"),  # Italian
    ("Em estoque", "Produto indisponível", "Pré-venda"),  # Portuguese
    ("Op voorraad", "Niet op voorraad", "Nu reserveren"),  # Dutch
    ("Towar dostępny", "Towar niedostępny", "Przedsprzedaż"),  # Polish
    ("I lager", "Slut i lager", "Förbeställ"),  # Swedish
    ("På lager", "Ikke på lager", "Forudbestil"),  # Danish
    ("På lager", "Utsolgt", "Forhåndsbestill"),  # Norwegian
    ("Varastossa", "Ei varastossa", "Ennakkotilaa"),  # Finnish
    ("Skladem", "Není skladem", "Předobjednat"),  # Czech
    ("Stokta var", "Stokta yok", "Ön sipariş"),  # Turkish
    ("В наличии", "Нет в наличии", "Предзаказ"),  # Russian
    ("在庫あり", "在庫切れ", "予約受付中"),  # Japanese
    ("现货", "缺货", "预售"),  # Chinese
    ("재고 있음", "품절", "예약구매"),  # Korean
]


@pytest.mark.parametrize(("here", "gone", "later"), SAID)
def test_what_people_are_told_in_the_main_languages(here: str, gone: str, later: str) -> None:
    said = [stated_availability(one) for one in (here, gone, later)]
    assert said == [IN, OUT, LATER]


def availability_of(body: str) -> Availability:
    tree = LexborHTMLParser(f"<title>Desk lamp</title>{body}")
    url = "https://shop.example/desk-lamp"
    return find_offer(tree, read_structured(tree), url=url, language=None).availability


PRODUCT = '<h1>Desk lamp</h1><p class="price">€ 12,50</p>'
TOLD_IN_STOCK = """<script type="application/ld+json">{"@type": "Product", "name": "Desk lamp",
    "offers": {"price": 12.5, "availability": "InStock"}}</script>"""
BUTTON = "<button>Add to cart</button>"

SHOWN = [
    ("a button", PRODUCT + BUTTON, IN),
    ("an input", PRODUCT + '<input type="submit" value="In den Warenkorb">', IN),
    ("a picture", PRODUCT + '<a id="cart" href="#"><img alt="Ajouter au panier"></a>', IN),
    ("a form in no known language", PRODUCT + '<form action="/cart/add"><button>!</button></form>',
        IN),
    ("a button that is off", PRODUCT + "<button disabled>Add to cart</button>", OUT),
    ("a button that says so", PRODUCT + '<button class="buy" disabled>Sold out</button>', OUT),
    ("a message", PRODUCT + '<p class="stock out-of-stock">Out of stock</p>', OUT),
    ("a message before a button that is off",
        PRODUCT + '<p class="stock">Ausverkauft</p><button disabled>Kaufen</button>', OUT),
    ("a message and no class", PRODUCT + "<p>Currently unavailable.</p>", OUT),
    ("a size that is gone", PRODUCT + '<li class="size stock">XL out of stock</li>' + BUTTON, IN),
    ("a pre-order", PRODUCT + '<p class="availability">Pre-order, out in May</p>' + BUTTON, LATER),
    ("a hidden message", PRODUCT + '<p class="stock" style="display: none">Sold out</p>', UNKNOWN),
    ("a neighbour's message",
        PRODUCT + '<div class="related-products"><p class="stock">Sold out</p></div>', UNKNOWN),
    ("a neighbour's button", PRODUCT + f'<div class="recommended">{BUTTON}</div>', UNKNOWN),
    ("nothing", PRODUCT, UNKNOWN),
    ("machines are told", TOLD_IN_STOCK + PRODUCT, IN),
    ("machines are told, a size is gone",
        TOLD_IN_STOCK + PRODUCT + '<p class="stock">Sold out in XL</p>' + BUTTON, IN),
    ("machines are told something else",
        TOLD_IN_STOCK + PRODUCT + '<p class="availability">Sold out</p>', OUT),
    ("an article", "<h1>Desk lamp</h1><p>The lamp is available. Or sold out.</p>", UNKNOWN),
    ("a wall", "<h1>Access denied</h1><p>This page is not available.</p>", UNKNOWN),
]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "availability"), [row[1:] for row in SHOWN], ids=[row[0] for row in SHOWN]
)
def test_what_the_page_shows(body: str, availability: Availability) -> None:
    assert availability_of(body) is availability
