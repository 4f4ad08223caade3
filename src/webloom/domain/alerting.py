"""Which changes people are notified of, and for which reasons.

A threshold applies to changes: a price that stays below a limit is notified once, and each further
change below it again.
"""

from __future__ import annotations

from decimal import Decimal

from webloom.domain.price import Availability
from webloom.domain.reason import (
    LONGEST_PHRASE,
    MOST_PHRASES,
    READABLE,
    AvailabilityReason,
    PageReason,
    PriceReason,
    Reason,
    TextReason,
)
from webloom.domain.storage_event import EventPrice
from webloom.domain.watch import Thresholds


def reasons_to_notify(
    thresholds: Thresholds,
    *,
    added_text: str,
    is_change: bool,
    price: EventPrice | None,
    previous_availability: str | None,
    availability: str | None,
) -> list[Reason]:
    """None: nobody is notified."""
    if thresholds == Thresholds():
        return _any_change(is_change, price, previous_availability, availability)
    reasons: list[Reason] = []
    if found := _found(thresholds.text_contains, added_text):
        phrases = tuple(each[:LONGEST_PHRASE] for each in found[:MOST_PHRASES])
        reasons.append(TextReason(phrases=phrases))
    if price is not None and (by_price := _by_price(thresholds, price)):
        reasons.append(by_price)
    return reasons


def _any_change(
    is_change: bool,
    price: EventPrice | None,
    before: str | None,
    now: str | None,
) -> list[Reason]:
    reasons: list[Reason] = []
    if price is not None and price.is_change:
        reasons.append(_price_reason(price))
    # An availability that could not be read this time is not a change.
    if before in READABLE and now in READABLE and before != now:
        previous, current = Availability(before), Availability(now)
        reasons.append(AvailabilityReason(previous=previous, current=current))
    if is_change and not reasons:
        reasons.append(PageReason())
    return reasons


def _found(phrases: list[str], text: str) -> list[str]:
    folded = text.casefold()
    return [phrase for phrase in phrases if phrase.casefold() in folded]


def _by_price(thresholds: Thresholds, price: EventPrice) -> PriceReason | None:
    limit, percent = thresholds.price_below, thresholds.price_change_percent
    is_news = price.previous is None or price.is_change
    is_below = limit is not None and is_news and price.current < limit
    is_far = percent is not None and _moved_by(price, percent)
    return _price_reason(price, below=limit if is_below else None) if is_below or is_far else None


def _moved_by(price: EventPrice, percent: Decimal) -> bool:
    if price.previous is None or not price.is_change:
        return False
    return abs(price.current - price.previous) * 100 >= percent * price.previous


def _price_reason(price: EventPrice, *, below: Decimal | None = None) -> PriceReason:
    return PriceReason(
        previous=price.previous, current=price.current, currency=price.currency, below=below
    )
