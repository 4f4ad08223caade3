"""The prices that a page has had, and what they add up to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from itertools import pairwise

_DIGITS = 60  # as many as an amount may have


@dataclass(frozen=True, kw_only=True, slots=True)
class PriceRecord:
    job_id: str
    url: str
    price: Decimal
    currency: str | None
    change_percent: Decimal | None
    timestamp: int  # `ts` of its event
    version: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class PriceSummary:
    """Of the records of a page in its latest currency."""

    records: int
    currency: str | None
    minimum: Decimal
    maximum: Decimal
    median: Decimal
    last: PriceRecord
    last_change: PriceRecord | None  # the latest whose price differs from the one before


def summarize(records: Sequence[PriceRecord]) -> PriceSummary | None:
    """Of records in their order, the latest first."""
    if not records:
        return None
    last = records[0]
    counted = [each for each in records if each.currency == last.currency]
    amounts = sorted(each.price for each in counted)
    changes = (each for each, before in pairwise(counted) if each.price != before.price)
    return PriceSummary(
        records=len(counted),
        currency=last.currency,
        minimum=amounts[0],
        maximum=amounts[-1],
        median=_median(amounts),
        last=last,
        last_change=next(changes, None),
    )


def _median(amounts: Sequence[Decimal]) -> Decimal:
    low, high = amounts[(len(amounts) - 1) // 2], amounts[len(amounts) // 2]
    with localcontext() as context:
        context.prec = _DIGITS
        return low if low == high else (low + high) / 2
