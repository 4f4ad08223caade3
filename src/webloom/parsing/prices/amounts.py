# ruff: noqa: RUF001, RUF002  dashes, digits and letters of many languages look alike
"""Amounts of money as shops write them: "1.299,00", "1'299.–", "₹1,29,999", "12€99"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation
from itertools import islice
from typing import Any, Final, NamedTuple

from webloom.parsing.prices.currencies import (
    WITH_THREE_DECIMALS,
    WITHOUT_CENTS,
    sign_after,
    sign_before,
)

_MOST: Final = Decimal(10) ** 12
_LOOKED_AT: Final = 400  # characters of a text
_MOST_NUMBERS: Final = 20  # of a text
_MOST_DIGITS: Final = 18

_SPACES: Final = re.compile(r"[\s\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\u200b-\u200f\ufeff]+")
_OTHER_MARKS: Final = "٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹０１２３４５６７８９٫٬，．’´`ʼ‘"
_TO_USUAL_MARKS: Final = str.maketrans(_OTHER_MARKS, "012345678901234567890123456789.,,.'''''")
_HAS_OTHER_MARKS: Final = re.compile(f"[{_OTHER_MARKS}]")
_NUMBER: Final = re.compile(r"\d{1,3}(?:[ ']\d{3})+(?!\d)(?:[.,]\d{1,4}(?!\d))?|\d+(?:[.,]\d+)*")
_CENTS_BEHIND_SPACE: Final = re.compile(  # of "1.837, 32 €"
    r"(?<![\d.,'])(\d{1,15}|\d{1,3}(?:([.,' ])\d{3})(?:\2\d{3}){0,3})([.,]) (\d{2})(?!\d|[.,]\d)"
)
_MOST_BESIDE: Final = 8  # characters, of a sign and the like
_CENTS_APART: Final = re.compile(r"\s?(\d{2})(?![\d.,]|\s?[%€$£])")
_SIGN_OF_NEXT: Final = re.compile(r"\d(?:\d{2}|\d?[.,' ]\d)")
_NEGATIVE: Final = re.compile(r"(?:^|[\s(])[-−]$")
_TIMES: Final = re.compile(
    r"\d\s?(?:x|×|veces|vezes|fois|mal|rate)\s?(?:de|of|à|a|da|di|von)?\s*$", re.I
)
_NOT_MONEY: Final = re.compile(
    r"\s?(?:%|°|x\s?\d|x\s|×|(?:mm|cm|kg|gr|ml|st|pcs|stk|watt|kw|hz|gb|tb|mb|w|v|mah|h|min|"
    r"days?|tage|jours|giorni|d[ií]as|reviews?|items?|left|stars?|opini|rate|cuotas|payments)\b)",
    re.I,
)
_PER: Final = re.compile(
    r"\s*(?:\([^)]{0,12}\)\s*)?[*]?\s*(?:/|per\b|pro\b|par\b|por\b|al\b|je\b|za\b|a\b|od\b|pr\.?)"
    r"\s*(?:\d[\d.,]*\s*)?"
    r"(?:kg|g|gr|mg|l|lt|ltr|cl|dl|ml|oz|lb|lbs|fl|m|m2|m²|m³|qm|cm|kilo\w*|lit\w*|gram\w*|kilogr\w*|"
    r"mo|mth|month|monat|mois|mes|mese|maand|måned|mån|mies|month?ly|week|woche|year|jahr|an|"
    r"año|anno|day|tag|night|nacht|hour|std|h|100|1000|mnd|md|kk|měs\w*|mies\w*|lun[aă]|hó|серия|"
    r"кг|л|г|мес|міс|เดือน|tháng|bulan|月)\b",
    re.I,
)
_PER_BEFORE: Final = re.compile(
    r"(?:/|per|pro|je)\s*(?:\d+\s*)?(?:kg|g|l|ml|m²|m2|100)\s*[:=]\s*\D{0,3}$", re.I
)
_MONTHLY: Final = re.compile(
    r"\s*[*]?\s*(?:mtl|monatlich|monthly|mensuel|mensual|mensais|al mese)", re.I
)
_SCALE: Final = re.compile(r"\s?(?:(la(?:kh|c)s?)|cr(?:ores?)?)\b", re.I)  # of "₹ 5.45 Lakh"
_RANGE: Final = re.compile(r"^\D{0,8}(?:[-–—~]|\bto\b|\bbis\b|\bà\b|\ba\b|\bdo\b)\D{0,8}$")


class Amount(NamedTuple):
    value: Decimal  # more than zero
    currency: str | None  # ISO 4217
    per_unit: bool = False  # per 100 g or per month: not what the product costs
    range_from: bool = False  # the low end of "10 - 20 €"


def amounts_in(text: str, regional: Sequence[str] = ()) -> list[Amount]:
    """The amounts in a short text, in its order. A number with no currency counts only where the
    text has nothing else that looks like money."""
    text = _with_cents_joined(_plain(text[:_LOOKED_AT]), regional)
    amounts: list[Amount] = []
    end = 0
    numbers = list(islice(_NUMBER.finditer(text), _MOST_NUMBERS + 1))
    for number in numbers[:_MOST_NUMBERS]:
        if number.start() < end:
            continue  # the cents of "12€99"
        found = _amount(text, number, regional)
        if found is not None:
            amounts.append(_as_range(found, text, regional))
            end = found[1]
    with_currency = [amount for amount in amounts if amount.currency]
    if len(numbers) > _MOST_NUMBERS:
        return with_currency  # the rest may have a currency: no number alone is the price
    return with_currency or amounts


def amount_at(before: str, rest: str, regional: Sequence[str] = ()) -> Amount | None:
    """The amount whose number begins the rest of a text."""
    head = _plain(before[-_LOOKED_AT:])
    text = head + _plain(rest[:_LOOKED_AT])
    number = _NUMBER.match(text, len(head))
    found = _amount(text, number, regional) if number else None
    return _as_range(found, text, regional) if found else None


def _plain(text: str) -> str:
    text = _SPACES.sub(" ", text)
    return text.translate(_TO_USUAL_MARKS) if _HAS_OTHER_MARKS.search(text) else text


def _with_cents_joined(text: str, regional: Sequence[str] = ()) -> str:
    """ "1.837, 32 €" as "1.837,32 €".

    Two numbers of a sentence or a list stay two: they are one only where they are all of the text
    but for a sign, or where the thousands are grouped by another mark and a currency is beside.
    """
    if ", " not in text and ". " not in text:
        return text
    return _CENTS_BEHIND_SPACE.sub(
        lambda found: (
            f"{found[1]}{found[3]}{found[4]}" if _is_one_number(found, regional) else found[0]
        ),
        text,
        count=_MOST_NUMBERS,
    )


def _is_one_number(found: re.Match[str], regional: Sequence[str]) -> bool:
    text, (start, end) = found.string, found.span()
    before, after = text[max(0, start - 12) : start], text[end : end + 16]
    if start <= _MOST_BESIDE and len(text) - end <= _MOST_BESIDE:
        if any(map(str.isdigit, before + after)) or _NOT_MONEY.match(after):
            return False
        if not any(map(str.isalpha, before + after)):
            return True
    elif found[2] is None or found[2] == found[3]:
        return False
    return bool(sign_before(before, regional) or sign_after(after, regional))


def _as_range(found: tuple[Amount, int], text: str, regional: Sequence[str]) -> Amount:
    """Marked as the low end where the text continues with the high one."""
    amount, end = found
    following = _NUMBER.search(text, end, end + 24)
    if following is None or not _RANGE.match(text[end : following.start()]):
        return amount
    high = _amount(text, following, regional)
    if high is None or high[0].value <= amount.value:
        return amount
    return amount._replace(range_from=True, currency=amount.currency or high[0].currency)


def read_amount(value: Any, regional: Sequence[str] = ()) -> Amount | None:
    """The first price in a text; None for "call us", a negative amount or a price per unit."""
    text = str(value) if isinstance(value, int | float | Decimal) else value
    if not isinstance(text, str) or isinstance(value, bool):
        return None
    return next((one for one in amounts_in(text, regional) if not one.per_unit), None)


def machine_amount(value: Any, currency: str | None = None) -> Decimal | None:
    """The amount in a machine-readable field: a number, or text that may still be formatted for
    people."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return _in_bounds(_decimal(str(value)), currency)
    if not isinstance(value, str):
        return None
    text = _with_cents_joined(_plain(value[:_LOOKED_AT]).strip())
    if re.fullmatch(r"\d{1,15}(?:\.(?:\d{1,2}|\d{4,8}))?(?:[eE]\+?\d{1,2})?", text):
        return _in_bounds(_decimal(text), currency)
    amount = read_amount(text)
    if amount is None:
        return None
    number = _NUMBER.search(text)
    if amount.currency is None and currency is not None and number is not None:
        return _in_bounds(_value(number[0], currency), currency)
    return amount.value


def first_amount(values: Iterable[Any], currency: str | None = None) -> Decimal | None:
    """The amount of the first machine-readable field that has one."""
    amounts = (machine_amount(value, currency) for value in values)
    return next((amount for amount in amounts if amount is not None), None)


def _amount(text: str, number: re.Match[str], regional: Sequence[str]) -> tuple[Amount, int] | None:
    """The amount of a number, and where it ends with all that belongs to it."""
    start, end = number.span()
    before, after = text[max(0, start - 12) : start], text[end : end + 16]
    mark_before, mark_after = sign_before(before, regional), sign_after(after, regional)
    if mark_after and not mark_before and _is_of_next(after, mark_after[0]):
        mark_after = None  # the sign is of the number that follows
    ahead = text[max(0, start - 24) : start]
    if mark_before:
        ahead = ahead[: len(ahead) - len(before) + mark_before[0]]
    elif start and text[start - 1].isalpha():
        return None  # a part of a word
    if _NEGATIVE.search(ahead) or _NEGATIVE.search(before) or _TIMES.search(ahead):
        return None
    if not mark_before and not mark_after and _NOT_MONEY.match(after):
        return None
    mark = mark_before or mark_after
    if mark_before and mark_after and after[: mark_after[0]].strip().isalpha():
        mark = mark_after  # "$ 12.00 CAD": the code says more than the sign
    currency = mark[1] if mark else None
    value = _value(number[0], currency)
    if before.endswith((".", ",")) and number[0].isdigit() and len(number[0]) == 2:
        value = _decimal("0." + number[0])  # "$.99"
    if value is None:
        return None
    if mark_before and (scale := _SCALE.match(text, end)):
        value *= 100_000 if scale[1] else 10_000_000
        end = scale.end()
    if mark_after:
        end += mark_after[0]
        cents = _CENTS_APART.match(text[end : end + 8])
        if (
            cents
            and not mark_before
            and text[end - 1] in "€$£"
            and number[0].replace(" ", "").isdigit()
        ):
            value += Decimal(cents[1]) / 100
            end += cents.end()
    kept = _in_bounds(value, currency)
    if kept is None:
        return None
    rest = text[end : end + 40]
    per_unit = bool(_PER.match(rest) or _MONTHLY.match(rest) or _PER_BEFORE.search(before))
    return Amount(kept, currency, per_unit=per_unit), end


def _is_of_next(after: str, sign_end: int) -> bool:
    """Whether a sign stands closer to the number that follows: "73 €1.599"."""
    return after.startswith(" ") and _SIGN_OF_NEXT.match(after, sign_end) is not None


def _value(number: str, currency: str | None) -> Decimal | None:
    number = number.replace(" ", "").replace("'", "")
    dots, commas = number.count("."), number.count(",")
    if dots and commas:
        decimal = "." if number.rindex(".") > number.rindex(",") else ","
        if number.count(decimal) > 1:
            return None
        grouping = "," if decimal == "." else "."
        return _decimal(number.replace(grouping, "").replace(decimal, "."))
    if dots + commas == 0:
        return _decimal(number)
    separator = "." if dots else ","
    if dots + commas > 1:
        return _decimal(number.replace(separator, ""))
    whole, _, rest = number.partition(separator)
    if (
        len(rest) == 3
        and len(whole) <= 3
        and whole.strip("0")
        and currency not in WITH_THREE_DECIMALS
    ):
        return _decimal(whole + rest)
    return _decimal(f"{whole}.{rest}")


def _decimal(text: str) -> Decimal | None:
    if len(text) > _MOST_DIGITS + 12:
        return None
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def _in_bounds(value: Decimal | None, currency: str | None) -> Decimal | None:
    if value is None or not value.is_finite() or not 0 < value < _MOST:
        return None
    exponent = value.as_tuple().exponent
    places = -exponent if isinstance(exponent, int) else 0
    if currency in WITHOUT_CENTS and value < 1000 and _thousandths(value):
        return value * 1000  # 24.990 pesos, which the page's maker read as a number
    return round(value, 4) if places > 4 else value


def _thousandths(value: Decimal) -> bool:
    return value != value.to_integral_value() and (value * 1000) % 1 == 0
