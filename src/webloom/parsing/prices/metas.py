"""Price and availability in the metas of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from webloom.domain.price import Availability, Price, PriceSource
from webloom.parsing.html_tree.structured import Structured, types_of
from webloom.parsing.prices.amounts import first_amount, machine_amount, read_amount
from webloom.parsing.prices.availability import first_availability
from webloom.parsing.prices.currencies import currency_of

_PRICES: Final = (
    "product:sale_price:amount",
    "product:price:amount",
    "og:price:amount",
    "og:product:price:amount",
    "product:price",
    "og:price",
)
_CURRENCIES: Final = (
    "product:sale_price:currency",
    "product:price:currency",
    "og:price:currency",
    "og:product:price:currency",
    "product:currency",
    "og:currency",
)
_LIST_PRICES: Final = (
    "product:original_price:amount",
    "og:price:standard_amount",
    "product:price:amount",
)
_AVAILABILITIES: Final = ("product:availability", "og:availability", "og:product:availability")
_ARTICLES: Final = frozenset({"Article", "NewsArticle", "BlogPosting"})
_TWITTER: Final = (("twitter:label1", "twitter:data1"), ("twitter:label2", "twitter:data2"))


def open_graph_price(structured: Structured, regional: Sequence[str]) -> Price | None:
    metas = structured.open_graph
    currency = _currency(metas, _CURRENCIES, regional)
    current = first_amount(map(metas.get, _PRICES), currency)
    if current is None:
        return None
    listed = first_amount(map(metas.get, _LIST_PRICES), currency)
    return Price(
        current=current,
        list=listed if listed and listed > current else None,
        currency=currency,
        source=PriceSource.OPEN_GRAPH,
    )


def named_price(structured: Structured, regional: Sequence[str]) -> Price | None:
    """From a meta named price, or from a Twitter card."""
    metas = structured.metas
    currency = _currency(metas, ("pricecurrency", "currency"), regional)
    current = machine_amount(metas.get("price"), currency)
    if current is None:
        for label, data in _TWITTER:
            if "price" in metas.get(label, "").lower():
                written = read_amount(metas.get(data), regional)
                if written is not None:
                    current, currency = written.value, written.currency
                    break
    if current is None:
        return None
    return Price(current=current, currency=currency, source=PriceSource.META)


def open_graph_availability(structured: Structured) -> Availability:
    return first_availability(map(structured.open_graph.get, _AVAILABILITIES))


def is_typed_product(structured: Structured) -> bool:
    return structured.open_graph.get("og:type", "").lower() in ("product", "og:product")


def is_typed_article(structured: Structured) -> bool:
    if structured.open_graph.get("og:type", "").lower() == "article":
        return True
    return any(not _ARTICLES.isdisjoint(types_of(node)) for node in structured.json_ld)


def _currency(
    metas: Mapping[str, str], names: Sequence[str], regional: Sequence[str]
) -> str | None:
    return next((currency_of(metas[name], regional) for name in names if name in metas), None)
