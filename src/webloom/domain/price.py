"""What a product costs, and whether it is in stock."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum


class Availability(StrEnum):
    IN_STOCK = "in_stock"
    OUT_OF_STOCK = "out_of_stock"
    PRE_ORDER = "pre_order"
    UNKNOWN = "unknown"


class PriceSource(StrEnum):
    """Where on a page a price was found, the most reliable first."""

    JSON_LD = "json-ld"
    MICRODATA = "microdata"
    OPEN_GRAPH = "opengraph"
    META = "meta"
    TEXT = "text"
    SCRIPT = "script"


@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    current: Decimal  # never negative
    list: Decimal | None = None  # the price before a reduction
    currency: str | None = None  # ISO 4217; None: the page does not say
    source: PriceSource


def change_percent(previous: Decimal | None, current: Decimal) -> Decimal | None:
    """Rounded to two places; None without a previous price."""
    if previous is None or previous == 0:
        return None
    return ((current - previous) * 100 / previous).quantize(Decimal("0.01"))
