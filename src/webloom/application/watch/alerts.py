"""Which changes are alerts, and their wording.

A threshold applies to changes: a price that stays below a limit is one alert, and each further
change below it is another.
"""

from __future__ import annotations

from decimal import Decimal

from webloom.domain.price import Availability, change_percent
from webloom.domain.storage_event import EventPrice
from webloom.domain.watch import Thresholds

LONGEST_QUOTE = 80
_WORDS: dict[str | None, str] = {
    Availability.IN_STOCK: "it is in stock",
    Availability.OUT_OF_STOCK: "it is out of stock",
    Availability.PRE_ORDER: "it can be ordered in advance",
}


def alerts(
    thresholds: Thresholds,
    *,
    added_text: str,
    is_change: bool,
    price: EventPrice | None,
    previous_availability: str | None,
    availability: str | None,
) -> list[str]:
    """Sentences for people."""
    if thresholds == Thresholds():
        return _any_change(is_change, price, previous_availability, availability)
    sentences = []
    if found := _found(thresholds.text_contains, added_text):
        quoted = ", ".join(f'"{each[:LONGEST_QUOTE]}"' for each in found)
        sentences.append(f"text was added that contains {quoted}")
    if price is not None and (by_price := _by_price(thresholds, price)):
        sentences.append(by_price)
    return sentences


def _any_change(
    is_change: bool,
    price: EventPrice | None,
    before: str | None,
    now: str | None,
) -> list[str]:
    sentences = []
    if price is not None and price.is_change:
        sentences.append(_price_sentence(price))
    # An availability that could not be read this time is not a change.
    if before in _WORDS and now in _WORDS and before != now:
        sentences.append(f"{_WORDS[now]} now")
    if is_change and not sentences:
        sentences.append("the page changed")
    return sentences


def _found(phrases: list[str], text: str) -> list[str]:
    folded = text.casefold()
    return [phrase for phrase in phrases if phrase.casefold() in folded]


def _by_price(thresholds: Thresholds, price: EventPrice) -> str | None:
    limit, percent = thresholds.price_below, thresholds.price_change_percent
    is_news = price.previous is None or price.is_change
    is_below = limit is not None and is_news and price.current < limit
    is_far = percent is not None and _moved_by(price, percent)
    if not (is_below or is_far):
        return None
    below = f", below {_amount(limit, price.currency)}" if limit is not None and is_below else ""
    return _price_sentence(price) + below


def _moved_by(price: EventPrice, percent: Decimal) -> bool:
    if price.previous is None or not price.is_change:
        return False
    return abs(price.current - price.previous) * 100 >= percent * price.previous


def _price_sentence(price: EventPrice) -> str:
    now = _amount(price.current, price.currency)
    if price.previous is None or not price.is_change:
        return f"the price is {now}"
    verb = "fell" if price.current < price.previous else "rose"
    percent = change_percent(price.previous, price.current)
    by = "" if percent is None else f" by {_plain(abs(percent))} %"
    return f"the price {verb}{by} to {now}"


def _amount(amount: Decimal, currency: str | None) -> str:
    return f"{_plain(amount, places=2)} {currency}" if currency else _plain(amount, places=2)


def _plain(number: Decimal, *, places: int = 0) -> str:
    """Without an exponent or trailing zeros: 80, but 79.5 as 79.50 with two places."""
    text = f"{number.normalize():f}"
    whole, point, rest = text.partition(".")
    return f"{whole}.{rest.ljust(places, '0')}" if point else text
