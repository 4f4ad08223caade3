"""Prices, numbers and times as people read them: one format in notifications, feeds, the API's
sentences and the command line. The admin UI has the format of its reader's browser."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

# ISO 4217
_WITHOUT_DECIMALS = frozenset(
    "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF".split()  # noqa: SIM905
)


def shown_price(amount: Decimal, currency: str | None) -> str:
    """1,299.00 EUR, 1,500 JPY, 0.125 USD: two decimals if the currency has any, or more if the
    amount has them. Without a currency, a whole amount has none."""
    text = shown_number(amount)
    whole, point, places = text.partition(".")
    has_decimals = point or (currency is not None and currency not in _WITHOUT_DECIMALS)
    shown = f"{whole}.{places:0<2}" if has_decimals else whole
    return f"{shown} {currency}" if currency else shown


def shown_number(number: Decimal) -> str:
    """Without an exponent or trailing zeros."""
    return f"{number.normalize():,f}"


def shown_time(moment: datetime) -> str:
    """2026-03-01 14:00:00 UTC"""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
