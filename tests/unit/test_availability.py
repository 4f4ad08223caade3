# ruff: noqa: RUF001  the letters of many languages look alike
"""Availability by the words of structured data and of short texts."""

from __future__ import annotations

import pytest

from unit.shop_page import IN, LATER, OUT, UNKNOWN
from webloom.domain.price import Availability
from webloom.parsing.prices.availability import stated_availability, structured_availability

STRUCTURED = [
    ("https://schema.org/InStock", IN),
    ("http://schema.org/InStoreOnly", IN),
    ("LimitedAvailability", IN),
    ("schema:OnlineOnly", IN),
    ("in stock", IN),
    ("instock", IN),
    ("Auf Lager", IN),
    (["https://schema.org/InStock"], IN),
    (True, IN),
    ("http://schema.org/instock", IN),
    ("in_stock", IN),
    ("IN_STOCK", IN),
    ("In-Stock", IN),
    ("https://schema.org/InStock/", IN),
    ("https://schema.org/LimitedAvailability", IN),
    ("https://schema.org/InStoreOnly", IN),
    ("https://schema.org/OnlineOnly", IN),
    ("available for order", IN),
    ("true", IN),
    ("https://schema.org/OutOfStock", OUT),
    ("SoldOut", OUT),
    ("Discontinued", OUT),
    ("out of stock", OUT),
    ({"@id": "https://schema.org/SoldOut"}, OUT),
    ("https://schema.org/out_of_stock", OUT),
    ("oos", OUT),
    ("Out Of Stock", OUT),
    ("https://schema.org/SoldOut", OUT),
    ("https://schema.org/Discontinued", OUT),
    ("discontinued", OUT),
    ("false", OUT),
    ("PreOrder", LATER),
    ("https://schema.org/PreSale", LATER),
    ("BackOrder", LATER),
    ("https://schema.org/BackOrder", LATER),
    ("preorder", LATER),
    ("available_for_preorder", LATER),
    ("", UNKNOWN),
    (None, UNKNOWN),
    (7, UNKNOWN),
    ("https://schema.org/Whatever", UNKNOWN),
    ("https://schema.org/", UNKNOWN),
]


@pytest.mark.parametrize(("value", "availability"), STRUCTURED)
def test_availability_in_structured_data(value: object, availability: Availability) -> None:
    assert structured_availability(value) is availability


STATED = [
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


@pytest.mark.parametrize(("here", "gone", "later"), STATED)
def test_availability_stated_in_the_main_languages(here: str, gone: str, later: str) -> None:
    stated = [stated_availability(one) for one in (here, gone, later)]
    assert stated == [IN, OUT, LATER]
