# ruff: noqa: RUF001  the letters of many languages look alike
"""The price that people see: amounts near the headline, weighed by what is around them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Final, NamedTuple

from webloom.parsing.prices.amounts import Amount, amount_at
from webloom.parsing.prices.candidates import (
    BESIDE,
    SAME_BLOCK,
    Candidate,
    best_of,
    weigh,
)
from webloom.parsing.prices.currencies import sign_after, sign_before
from webloom.parsing.prices.labels import Label, read_label
from webloom.parsing.prices.visible_numbers import (
    BEFORE_NUMBER,
    SUFFIX,
    Number,
    joined,
    label_before,
    numbers,
    own_signs,
    price_on_request,
    text_before,
)
from webloom.parsing.prices.visible_text import Surroundings, VisibleText

_BEFORE_HEADLINE: Final = 1500  # characters looked at
_AFTER_HEADLINE: Final = 8000
_ANYWHERE: Final = 80_000  # where the headline is not sure to be that of the product
_MOST_NUMBERS: Final = 600
_MOST_CANDIDATES: Final = 150
_LEAST_SCORE: Final = 1.8
_GOOD_SCORE: Final = 3.0  # no need to look for more
_OTHER_PENALTY: Final = 4.0
_NET_PENALTY: Final = 1.2  # shops with no taxes have such a price alone
_APART_PENALTY: Final = 1.0
_BEFORE_BUTTON: Final = 1500  # characters between a price and the button to pay it
_MOST_PLACES: Final = 3  # where a known price is looked for

_NO_DIGITS: Final = re.compile(r"\D+")
_ZERO_FIRST: Final = re.compile(r"0\d")  # cents, or a number to call
_RANGE_ON: Final = re.compile(r"\s*[-–—~]\s*\d[\d.,'’ \u00a0]*")
_FORMER_CLASS: Final = re.compile(
    r"price-?_?compare|compare-?_?(?:at-?_?)?price|price-?_?standard|secondary-?_?price|"
    r"price-?_?was|origin-?_?price|(?:price|prc)-?_?org(?![a-z])"
)
_NET_CLASS: Final = re.compile(r"price[-\w]*without-?tax|ex(?:cl[a-z]*)?-?_?(?:tax|vat)")
_SURCHARGE: Final = re.compile(r"(?<![\d+])\+[ \u00a0]?(?:[^\s\d+]{1,4}[ \u00a0]?)?$")  # "+ 6,90 €"
_BARE_PIECE: Final = 24  # characters of an element that can be a price with no currency in it
_PROSE: Final = 80  # characters of an element that is not a price but a sentence with one in it
_PERCENT: Final = re.compile(r"(?<![\d.,])([1-9]\d|[5-9])[ \u00a0]?%")


class VisiblePrice(NamedTuple):
    current: Decimal
    list: Decimal | None
    currency: str | None
    score: float
    is_marked: bool  # in an element that is made for prices, or has little else in it


def visible_price(
    visible: VisibleText,
    regional: Sequence[str],
    buy_buttons: Sequence[int],
    end: int,
    *,
    own_button: int | None = None,
) -> VisiblePrice | None:
    """Up to the end of the product in the text. Its own button is the one that stands there
    before those of other things."""
    start, far = _window(visible)
    window = (start, min(far, end))
    signed = _found(visible, regional, buy_buttons, window, bare=False)
    best = best_of(weigh(signed, own_button))
    if best is None or best.score < _GOOD_SCORE or best.around.struck:
        found = _found(visible, regional, buy_buttons, window, bare=True, known=signed)
        best = _best_not_struck(weigh(found, own_button))
    if best is None or best.score < _LEAST_SCORE:
        return None
    if not (best.around.price or buy_buttons) and price_on_request(visible, best.at):
        return None  # the amount is that of something else
    listed = _list_price(visible, best.amount.value, best.at, regional, end)
    is_marked = best.around.price or best.around.item_price or _is_short(visible, best.at)
    return VisiblePrice(best.amount.value, listed, best.amount.currency, best.score, is_marked)


def shown_at(visible: VisibleText, current: Decimal, end: int) -> list[int]:
    """The first places where a price that is known already stands, up to the product's end."""
    whole = str(int(current))
    with_cents = (str(int(current * 100)).zfill(3), str(round(current * 100)).zfill(3))
    places: list[int] = []
    start, far = _window(visible)
    for at, number, _ in numbers(visible, start, min(far, end)):
        written = number[:60]
        digits = _NO_DIGITS.sub("", written)
        is_shown = digits in with_cents or (digits == whole and written[-3:-2] not in (".", ","))
        if not is_shown:
            continue
        if visible.around(at).neighbour:
            continue
        places.append(at)
        if len(places) == _MOST_PLACES:
            break
    return places


def list_price_beside(
    visible: VisibleText, current: Decimal, places: Sequence[int], regional: Sequence[str], end: int
) -> Decimal | None:
    """What a price that is known already is reduced from, at one of the places where it stands."""
    for at in places:
        if (listed := _list_price(visible, current, at, regional, end)) is not None:
            return listed
    return None


def _window(visible: VisibleText) -> tuple[int, int]:
    start = max(0, visible.headline - _BEFORE_HEADLINE)
    after = _AFTER_HEADLINE if visible.is_titled else _ANYWHERE
    return start, min(len(visible.text), visible.headline_end + after)


def _best_not_struck(candidates: Sequence[Candidate]) -> Candidate | None:
    """A struck-out amount is not the price: take a lower one in its price box, in its currency."""
    best = best_of(candidates)
    if best is None or not best.around.struck:
        return best
    lower = [
        one
        for one in candidates
        if one.around.price
        and not (one.around.struck or one.other)
        and one.score >= _LEAST_SCORE
        and best.amount.value / 10 < one.amount.value < best.amount.value
        and abs(one.at - best.at) < BESIDE
    ]
    paid = best_of(lower)
    if paid is None:
        return best
    currency = paid.amount.currency or best.amount.currency
    return paid._replace(amount=paid.amount._replace(currency=currency))


def _list_price(
    visible: VisibleText, current: Decimal, at: int, regional: Sequence[str], end: int
) -> Decimal | None:
    """What the price at a place in the text is reduced from."""
    block = (max(0, at - SAME_BLOCK), min(len(visible.text), end, at + SAME_BLOCK))
    percents = _PERCENT.findall(visible.text, max(0, at - BESIDE), at + BESIDE)
    if not (percents and _has_reduced_by(percents, visible, at, current)) and not any(
        one != at and _is_reduced_from(visible, one)
        for one, _, _ in numbers(visible, *block, regional)
    ):
        return None
    candidates = weigh(_found(visible, regional, (), block, bare=True))
    if not any(one.at == at and one.amount.value == current for one in candidates):
        return None
    near = [
        one
        for one in candidates
        if current < one.amount.value < current * 10
        and (one.reduced_from or _is_reduced_by(percents, one.amount.value, current))
        and (not one.around.neighbour or _is_former(one.around.signature))
        and not one.other
    ]
    return min(near, key=lambda one: abs(one.at - at)).amount.value if near else None


def _has_reduced_by(
    percents: Sequence[str], visible: VisibleText, at: int, current: Decimal
) -> bool:
    """Whether the digits of a number nearby can be those of the price without the reduction."""
    lowest = current * 100 / (101 - min(map(int, percents)))
    highest = current * 100 / (99 - min(98, max(map(int, percents))))
    beside = max(0, at - BESIDE), min(len(visible.text), at + BESIDE)
    for _, written, _ in numbers(visible, *beside):
        digits = int(_NO_DIGITS.sub("", written[:20]) or 0)
        if lowest <= digits <= highest or lowest * 100 <= digits <= highest * 100:
            return True
    return False


def _is_reduced_by(percents: Sequence[str], before: Decimal, current: Decimal) -> bool:
    return any(abs(100 - current * 100 / before - int(one)) <= 1 for one in percents)


def _is_reduced_from(visible: VisibleText, at: int) -> bool:
    around = visible.around(at)
    return (
        around.reduced_from
        or _is_former(around.signature)
        or read_label(label_before(text_before(visible, at))).reduced_from
    )


def _found(
    visible: VisibleText,
    regional: Sequence[str],
    buy_buttons: Sequence[int],
    window: tuple[int, int],
    *,
    bare: bool,
    known: Sequence[Candidate] = (),
) -> list[Candidate]:
    """Amounts with a currency; where bare is asked for, also those with none in elements that are
    made for prices. Known are those of the same window that were found without them."""
    known_at = {one.at: one for one in known}
    found: list[Candidate] = []
    for count, number in enumerate(numbers(visible, *window, regional)):
        if count == _MOST_NUMBERS or len(found) == _MOST_CANDIDATES:
            break
        candidate = known_at.get(number[0]) or _candidate(
            visible, number, regional, buy_buttons, bare=bare
        )
        if candidate is not None:
            found.append(candidate)
    return found


def _candidate(
    visible: VisibleText,
    found: Number,
    regional: Sequence[str],
    buy_buttons: Sequence[int],
    *,
    bare: bool,
) -> Candidate | None:
    at, written, is_cut = found
    end = at + len(written)
    before = text_before(visible, at)
    after = "" if is_cut else visible.text[end : end + 30]
    range_on = _RANGE_ON.match(after)
    behind = after[range_on.end() :] if range_on else after
    signed = _is_signed(before[-12:], behind[:16], tuple(regional))
    if not signed and not (bare and _is_short(visible, at)):
        return None
    if _ZERO_FIRST.match(written) and not before.endswith((".", ",")):
        return None
    around = visible.around(at)
    label = read_label(label_before(before))
    if not signed and not (around.price or around.item_price or label.price):
        return None
    head, after = own_signs(visible, at, before[-24:], after, regional)
    amount = amount_at(head, joined(visible, at, written, after), regional)
    if amount is None:
        return None
    in_headline = visible.headline <= at < visible.headline_end
    if amount.currency is None and (in_headline or not (bare or around.price or around.item_price)):
        return None
    reduced = around.reduced_from or label.reduced_from or _is_former(around.signature)
    other = bool(
        around.other_amount
        or amount.per_unit
        or label.other
        or _SURCHARGE.search(before)
        or SUFFIX.match(visible.text, end)
    )
    score = _score(visible, at, amount, around, label)
    if other:
        is_net = not label.other and bool(_NET_CLASS.search(around.signature))
        is_apart = label.other and _is_said_apart(visible, at, end, around, amount)
        score -= _NET_PENALTY if is_net else _APART_PENALTY if is_apart else _OTHER_PENALTY
        other = not is_net
    if not in_headline and not around.price and _is_prose(visible, at):
        score -= 2
    if any(0 <= button - at < _BEFORE_BUTTON for button in buy_buttons):
        score += 1
    return Candidate(at, amount, score, around, reduced, other)


@lru_cache(maxsize=4096)  # most numbers are looked at more than once
def _is_signed(before: str, behind: str, regional: tuple[str, ...]) -> bool:
    return bool(sign_before(before, regional) or sign_after(behind, regional))


def _is_said_apart(
    visible: VisibleText, at: int, end: int, around: Surroundings, amount: Amount
) -> bool:
    """Whether only a paragraph before speaks of delivery, a bonus or the like: it need not be
    about this number."""
    if around.other_amount or amount.per_unit or SUFFIX.match(visible.text, end):
        return False
    begin = visible.piece_at(at)[0]
    before = visible.text[max(0, at - BEFORE_NUMBER) : begin].rstrip()
    return (
        visible.begins_block(begin)
        and not around.signature.startswith(("td.", "dd."))
        and not before.endswith(":")
        and not read_label(label_before(visible.text[begin:at])).other
    )


def _is_short(visible: VisibleText, at: int) -> bool:
    begin, end = visible.piece_at(at)
    return end - begin <= _BARE_PIECE or len(visible.text[begin:end].strip()) <= _BARE_PIECE


def _is_prose(visible: VisibleText, at: int) -> bool:
    begin, end = visible.piece_at(at)
    return end - begin > _PROSE and len(visible.text[begin:end].strip()) > _PROSE


@lru_cache(maxsize=4096)
def _is_former(signature: str) -> bool:
    return _FORMER_CLASS.search(signature) is not None


def _score(
    visible: VisibleText, at: int, amount: Amount, around: Surroundings, label: Label
) -> float:
    score = 0.0
    score += 2.0 if amount.currency else 0.0
    score += 2.0 if around.price else 0.0
    score += 2.0 if around.item_price else 0.0
    score += 1.0 if label.price else -0.5 if label.seldom else 0.0
    score += 0.5 if around.strong else 0.0
    score -= 5.0 if around.neighbour else 0.0
    score -= 2.0 if around.link else 0.0
    score -= 1.0 if around.hidden else 0.0
    score -= 0.2 if amount.range_from else 0.0
    if at < visible.headline:
        return score - 0.3 - (visible.headline - at) / 500
    distance = max(0, at - visible.headline_end)
    return score - min(3.0, distance / (2500 if visible.is_titled else 40_000))
