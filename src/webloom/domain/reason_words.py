"""Reasons in English: the only place that words them.

They are worded when they are shown or sent, so that a better wording, or another language, also
applies to changes of the past.
"""

from __future__ import annotations

from collections.abc import Sequence

from webloom.domain.price import Availability
from webloom.domain.reason import AvailabilityReason, PageReason, PriceReason, Reason, TextReason
from webloom.domain.shown import shown_number, shown_price

LONGEST_SENTENCE = 500
THE_PAGE_CHANGED = "the page changed"
_STOCK = {
    Availability.IN_STOCK: "it is in stock now",
    Availability.OUT_OF_STOCK: "it is out of stock now",
    Availability.PRE_ORDER: "it can be ordered in advance now",
}


def sentences(reasons: Sequence[Reason]) -> list[str]:
    """One for each reason."""
    return [_sentence(each)[:LONGEST_SENTENCE] for each in reasons]


def _sentence(reason: Reason) -> str:
    match reason:
        case PriceReason():
            return _price(reason)
        case AvailabilityReason(current=current):
            return _STOCK[current]
        case TextReason(phrases=phrases):
            quoted = ", ".join(f'"{each}"' for each in phrases)
            return f"text was added that contains {quoted}"
        case PageReason():
            return THE_PAGE_CHANGED


def _price(reason: PriceReason) -> str:
    now = shown_price(reason.current, reason.currency)
    below = "" if reason.below is None else f", below {shown_price(reason.below, reason.currency)}"
    if reason.previous is None or reason.previous == reason.current:
        return f"the price is {now}{below}"
    verb = "fell" if reason.current < reason.previous else "rose"
    percent = reason.change_percent
    by = "" if percent is None else f" by {shown_number(abs(percent))} %"
    return f"the price {verb}{by} to {now}{below}"
