# ruff: noqa: RUF001  the letters of many languages look alike
"""The numbers in the text of a page, whose digits, cents and signs may be in elements of their own,
and the words that stand beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from webloom.parsing.prices.currencies import sign_before
from webloom.parsing.prices.labels import ON_REQUEST, read_label
from webloom.parsing.prices.visible_text import BOUNDARY, VisibleText

BEFORE_NUMBER: Final = 60  # characters looked at before a number
_NAME: Final = 3  # letters
_INDENTED: Final = 20  # characters
_MOST_INDENTED: Final = 400
_MOST_REQUEST: Final = 40
_INDENT: Final = re.compile(r"[ \t\n\r]{2,}")

# A number, with thousands and cents that may be in elements of their own; or each digit is.
_NUMBER_RUN: Final = re.compile(
    r"\d(?:\x1f\d){1,8}(?:\x1f[.,]?){1,3}\d{2}(?![\d.,])|"
    r"\d[\d.,'’ \u00a0\u202f\u2009]*(?:\x1f[.,]\x1f\d{3}(?![\d.,]))*"
    r"(?:\x1f[\s.,]*\d{2}(?![\d.,]|[ \u00a0\u202f\u2009]\d{3}(?!\d)|"
    r"[ \u00a0]?(?:%|x\b|×|(?!euro)[^\W\d_]{4}|"
    r"(?:[cmk]m|k?g|gr|[mc]?l|[gtm]b|oz|lbs?|pcs|stk)\b)))?"
)
_DIGITS_APART: Final = re.compile(r"\d(?:\x1f\d)+(?=\x1f)")
_CENTS_APART: Final = re.compile(r"(\d)[\s\x1f]*\x1f[\s\x1f]*(\d{2})(?![\d.,])")
_CENTS_AFTER_THOUSANDS: Final = re.compile(
    r"(\d{1,3}(?:([.,])\d{3})+)[\s\x1f]*\x1f[\s\x1f]*(\d{2})$"
)
_SEPARATOR_APART: Final = re.compile(r"(?<=\d)[ \x1f]*([.,])[ \x1f]*(?=\d{2,3}(?!\d))")
_SIGN_OF_NEXT_PIECE: Final = re.compile(
    r"[ \n\t\u00a0]*\x1f\s*[^\s\d]{1,5}[ \u00a0]?(?:\d{3}|\d{1,2}[.,]|\d(?!\d))"
)
_NO_CENTS: Final = re.compile(r"[ \u00a0]?[.,:][ \u00a0]?[-–—]{1,2}\s*(?=\x1f)")  # of "1 299:-"
_NO_TAX: Final = (
    r"\(?[ \u00a0]?(?:ex|exkl|excl|exc|ekskl|zzgl|plus|ohne|without|before|bez|без|sin|sem|"
    r"hors|senza|\+)\.?\s(?:mwst|vat|tax|gst|iva|tva|dph|ндс|пдв|moms|mva|btw|steuer|ust)"
)
_SIGN: Final = (
    r"(?>[,:.]?[-–]?[ \u00a0]?"
    r"(?:[€$£¥₩원円元₽₴₺₫]|(?:kč|kr\.?|zł|ft|lei|tl|руб\.?|грн\.?|лв\.?)(?![^\W\d_]))?"
    r"[ \u00a0*]{0,3})"
)
# What is said of a number behind it; of taxes in an element of its own, too, unless the number
# that this is said of follows there.
SUFFIX: Final = re.compile(
    rf"{_SIGN}(?:{_NO_TAX}|"
    r"\(?(?:ht\b|netto\b|off\b|rabatt|discount|gespart|saved|cashback|shipping|versand|p&p|"
    r"(?:away from|for|until|to (?:get|unlock|reach)|more for) free|bis zu[mr] (?:kosten|gratis)|"
    r"pour (?:la|profiter de la|bénéficier de la) livraison|para (?:el |tener )?env[ií]o grat|"
    r"para (?:o |ter )?frete gr|per la spedizione grat|tot gratis|voor gratis|"
    r"delivery|pfand(?![^\w\x1f]{0,3}\d)|d.éco|할인|ポイント|לחודש)|"
    rf"(?>[\s*]{{1,6}})(?:{_NO_TAX}|\(?(?:ht|h\.t\.|netto)(?![^\W\d]))(?!\w{{0,3}}[^\x1f\d]{{0,12}}\d|\w{{0,3}}\s*:))",
    re.I,
)
_CENTS_OR_PRICE: Final = re.compile(r"\x1f\s*[^\s\d]{1,5}[ \u00a0]?\d{2}(?!\d)")
_WORDS_OF_NEXT: Final = re.compile(  # of "12 €", "30 days"
    r"([ \u00a0]?[^\s\d]{1,4}\s?)\x1f\s?\d{2}(?:[ \u00a0]?[-/]?[^\W\d_]|[-/]\d)"
)
_SIGN_OF_LAST: Final = re.compile(r"\d[ \u00a0]?[^\s\d]{1,4}\s*\x1f\s*$")  # of "45 EUR", "30 days"
_THIRTY: Final = re.compile(r"(?<!\d)30(?=[ \u00a0][^\W\d_])")  # days of the lowest price
_LOWEST: Final = re.compile(
    r"low|last|past|prior|before|niedrig|tief|bestpreis|letzt|plus bas|derni|baj|mínim|últim|bass|"
    r"ultim|baix|laag|afgelopen|laatste|lägst|senaste|lavest|senest|siste|alin|viime|nižší|niższ|"
    r"ostatni|posled|legalacs|elmúlt|mic preț|χαμηλ|τελευτ|най-ниск|последн",
    re.I,
)
_SUBSCRIBED: Final = re.compile(
    r"subscri|abonn|\babo\b|autoship|auto-?delivery|suscri|assinatura|abbonamento|prenumer", re.I
)
_SHARE: Final = re.compile(r"\d+(?=[ \u00a0]?%)")
_UP_TO_LAST_DIGIT: Final = re.compile(r".*[\d¹²³⁰⁴-⁹₀-₉]", re.DOTALL)
_RUN_END: Final = " .,'’\u00a0\u202f\u2009\x1f"


# Where it stands, how it is written, and whether what follows in the next element looks like its
# cents, and isn't.
Number = tuple[int, str, bool]


def numbers(
    visible: VisibleText, start: int, stop: int, regional: Sequence[str] = ()
) -> Iterator[Number]:
    """The numbers of the text, in its order."""
    while start < stop:
        for run in _NUMBER_RUN.finditer(visible.text, start, stop):
            at, written = run.start(), run[0]
            is_cut = (
                BOUNDARY in written
                and _ends_words(visible, at, regional)
                and not visible.is_raised(at + written.rindex(BOUNDARY) + 1)
            )
            if is_cut:
                written = written[: written.rindex(BOUNDARY)]
            yield at, written.rstrip(_RUN_END), is_cut
            if is_cut:
                start = at + len(written) + 1
                break
        else:
            return


def _ends_words(visible: VisibleText, at: int, regional: Sequence[str]) -> bool:
    """Whether a number ends the name of a product or the like, so that no cents follow it."""
    if visible.headline <= at < visible.headline_end:
        return True
    before = visible.text[max(visible.piece_at(at)[0], at - BEFORE_NUMBER) : at]
    return (
        sum(map(str.isalpha, before)) >= _NAME
        and sign_before(before[-12:], regional) is None
        and not read_label(label_before(before)).price
    )


def text_before(visible: VisibleText, at: int) -> str:
    """Some words, also where the code of the page is set far to the right."""
    before = visible.text[max(0, at - BEFORE_NUMBER) : at]
    if before[-_INDENTED:].isspace():
        before = _INDENT.sub(" ", visible.text[max(0, at - _MOST_INDENTED) : at])[-BEFORE_NUMBER:]
    return before


def own_signs(
    visible: VisibleText, at: int, before: str, after: str, regional: Sequence[str]
) -> tuple[str, str]:
    """What stands before and after a number, without the signs and cents of other numbers."""
    if _SIGN_OF_LAST.search(before):
        before = ""
    if of_next := _WORDS_OF_NEXT.match(after):
        after = after[: of_next.end(1)]
    if _CENTS_OR_PRICE.match(after) and _ends_words(visible, at, regional):
        after = ""
    return before, after


def joined(visible: VisibleText, at: int, written: str, after: str) -> str:
    """A number as it would be written in one element, with what stands after it."""
    written = written[:60]
    if BOUNDARY in written:
        last = written.rindex(BOUNDARY)
        if visible.begins_block(at + last + 1):
            written = written[:last].rstrip(_RUN_END)
            after = ""
        written = _DIGITS_APART.sub(lambda digits: digits[0].replace(BOUNDARY, ""), written)
    written = _SEPARATOR_APART.sub(r"\1", written)
    if "." not in written and "," not in written:
        written = _CENTS_APART.sub(r"\1.\2", written, count=1)
    elif thousands := _CENTS_AFTER_THOUSANDS.match(written):
        separator = "," if thousands[2] == "." else "."
        written = f"{thousands[1]}{separator}{thousands[3]}"
    if _SIGN_OF_NEXT_PIECE.match(after):
        after = ""
    elif no_cents := _NO_CENTS.match(after):
        after = no_cents[0]
    return written + after


def label_before(before: str) -> str:
    """The words before a number that are not about the number before it."""
    if "30" in before and _LOWEST.search(before):
        before = _THIRTY.sub("thirty", before)
    if "%" in before and _SUBSCRIBED.search(before):
        before = _SHARE.sub("", before)
    at = 0
    if last := _UP_TO_LAST_DIGIT.match(before):
        at = max(last.end(), before.find(BOUNDARY, last.end()))
        about_it = SUFFIX.match(before, at)
        is_apart = before[at : at + 1] == BOUNDARY
        if about_it and not (is_apart and BOUNDARY not in before[about_it.end() :]):
            at = about_it.end()
    return before[at:][-30:].replace(BOUNDARY, " ")


def price_on_request(visible: VisibleText, before: int) -> list[int]:
    """Where the page says "price on request", after the headline and before a place."""
    start = visible.headline_end
    found = ON_REQUEST.search(visible.text[start:before])
    if found is None:
        return []
    begin, end = visible.piece_at(start + found.start())
    is_short = end - begin <= _MOST_REQUEST
    return [begin] if is_short and not visible.around(begin).neighbour else []
