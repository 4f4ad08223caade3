"""Numbers that anyone may send as money: bounded, exact, never binary floats."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

LARGEST_AMOUNT = Decimal(10) ** 15
_PLACES = 6  # behind the decimal point


def amount_of(value: Any) -> Decimal | None:
    """None: it is not an amount."""
    amount = decimal_of(value)
    if amount is None or amount < 0 or amount > LARGEST_AMOUNT:
        return None
    return rounded(amount)


def rounded(number: Decimal) -> Decimal:
    """Without zeros at the end, and without an exponent."""
    short = round(number, _PLACES).normalize()
    return short.quantize(Decimal(1)) if short == short.to_integral_value() else short


def decimal_of(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | str | Decimal):
        return None
    try:
        number = Decimal(value if not isinstance(value, str) else value.strip()[:40])
    except (InvalidOperation, ValueError):
        return None
    if not number.is_finite() or number.adjusted() > 20 or len(number.as_tuple().digits) > 60:
        return None
    return number if number.adjusted() > -20 else Decimal(0)


def currency_of(value: Any) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= 10 else None
