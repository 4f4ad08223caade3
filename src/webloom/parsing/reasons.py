"""Reasons as plain data and back: in messages, in stores and dumps, for programs.

    {kind: price, previous, current, currency, changePercent, below}
    {kind: availability, previous, current}
    {kind: text, phrases}
    {kind: page}

Anyone may send them, and later versions may know other kinds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from webloom.domain.price import Availability
from webloom.domain.reason import (
    LONGEST_PHRASE,
    MOST_PHRASES,
    MOST_REASONS,
    READABLE,
    AvailabilityReason,
    PageReason,
    PlainReason,
    PriceReason,
    Reason,
    TextReason,
)
from webloom.parsing.amounts import amount_of, currency_of


def reasons_of(
    value: Any, *, alerts: Sequence[str] = (), problems: list[str] | None = None
) -> list[Reason]:
    """What can't be used is left out and noted. Then `alerts`, the sentences that came along, say
    more than the rest: if there are any, no reason is used."""
    found, unusable = _read(value)
    if problems is not None:
        problems += unusable
    return [] if unusable and alerts else found


def _read(value: Any) -> tuple[list[Reason], list[str]]:
    """With what is unusable."""
    if value is None:
        return [], []
    if not isinstance(value, list):
        return [], ["reasons is not a list"]
    read = [_reason(each) for each in value[:MOST_REASONS]]
    unusable = [f"reasons[{place}] is unusable" for place, each in enumerate(read) if each is None]
    if len(value) > MOST_REASONS:
        unusable.append(f"there are more than {MOST_REASONS} reasons")
    return [each for each in read if each is not None], unusable


def plain_reasons(reasons: Sequence[Reason]) -> list[PlainReason]:
    """Amounts are decimals, which become JSON numbers."""
    return [_plain(each) for each in reasons]


def stored_reasons(reasons: Sequence[Reason]) -> list[PlainReason]:
    """Amounts are texts: exact in every store and dump."""
    stored: list[PlainReason] = msgspec.to_builtins(plain_reasons(reasons))
    return stored


def _plain(reason: Reason) -> PlainReason:
    match reason:
        case PriceReason():
            return {
                "kind": "price",
                "previous": reason.previous,
                "current": reason.current,
                "currency": reason.currency,
                "changePercent": reason.change_percent,
                "below": reason.below,
            }
        case AvailabilityReason(previous=previous, current=current):
            return {
                "kind": "availability",
                "previous": previous and previous.value,
                "current": current.value,
            }
        case TextReason(phrases=phrases):
            return {"kind": "text", "phrases": list(phrases)}
        case PageReason():
            return {"kind": "page"}


def _reason(value: Any) -> Reason | None:
    match value:
        case {"kind": "price"}:
            return _price(value)
        case {"kind": "availability"}:
            return _availability(value)
        case {"kind": "text", "phrases": list(phrases)}:
            return _text(phrases)
        case {"kind": "page"}:
            return PageReason()
    return None


def _price(fields: Mapping[str, Any]) -> PriceReason | None:
    given = {name: fields.get(name) for name in ("previous", "current", "below")}
    read = {name: amount_of(value) for name, value in given.items()}
    current = read["current"]
    if current is None or any(read[name] is None and given[name] is not None for name in read):
        return None
    currency = currency_of(fields.get("currency"))
    return PriceReason(
        previous=read["previous"],
        current=current,
        currency=currency and _one_line(currency),
        below=read["below"],
    )


def _availability(fields: Mapping[str, Any]) -> AvailabilityReason | None:
    previous, current = fields.get("previous"), fields.get("current")
    if current not in READABLE or previous not in (None, *Availability):
        return None
    return AvailabilityReason(
        previous=None if previous is None else Availability(previous),
        current=Availability(current),
    )


def _text(phrases: list[Any]) -> TextReason | None:
    if not 0 < len(phrases) <= MOST_PHRASES or not all(isinstance(each, str) for each in phrases):
        return None
    return TextReason(phrases=tuple(_one_line(each[:LONGEST_PHRASE]) for each in phrases))


def _one_line(text: str) -> str:
    """It can't break lines, hide anything, or be what a store can't hold."""
    return "".join(each if each.isprintable() else " " for each in text)
