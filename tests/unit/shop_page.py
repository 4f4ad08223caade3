"""A page of a shop that sells an oak stool, and what is found on it."""

from __future__ import annotations

from typing import Final

from selectolax.lexbor import LexborHTMLParser

from webloom.domain.price import Availability
from webloom.parsing.html_tree.structured import read_structured
from webloom.parsing.prices.finder import PageOffer, find_offer

IN, OUT = Availability.IN_STOCK, Availability.OUT_OF_STOCK
LATER, UNKNOWN = Availability.PRE_ORDER, Availability.UNKNOWN

TITLE: Final = "Oak stool Juno – Holzhaus"  # noqa: RUF001  as shops write it
H1: Final = "<h1>Oak stool Juno</h1>"
ADD: Final = "<button>Add to cart</button>"

Found = tuple[str | None, Availability]  # the amount, and whether it is in stock


def offer_of(
    body: str,
    *,
    title: str = TITLE,
    head: str = "",
    url: str = "https://shop.example/p/1",
    language: str | None = None,
) -> PageOffer:
    tree = LexborHTMLParser(
        f"<html><head><title>{title}</title>{head}</head><body>{body}</body></html>"
    )
    return find_offer(tree, read_structured(tree), url=url, language=language)


def found(offer: PageOffer) -> Found:
    return str(offer.price.current) if offer.price else None, offer.availability
