# ruff: noqa: RUF001  the letters of many languages look alike
"""The price that people see: amounts near the headline, weighed by what is around them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Final, NamedTuple

from webloom.parsing.prices.amounts import Amount, amount_at
from webloom.parsing.prices.currencies import sign_after, sign_before
from webloom.parsing.prices.phrases import phrases
from webloom.parsing.prices.visible_text import BOUNDARY, Surroundings, VisibleText

_BEFORE_HEADLINE: Final = 1500  # characters looked at
_AFTER_HEADLINE: Final = 8000
_ANYWHERE: Final = 80_000  # where the headline is not sure to be that of the product
_MOST_NUMBERS: Final = 600
_MOST_CANDIDATES: Final = 150
_LEAST_SCORE: Final = 1.8
_GOOD_SCORE: Final = 3.0  # no need to look for more
_REDUCED_PENALTY: Final = 2.5
_OTHER_PENALTY: Final = 4.0
_BESIDE: Final = 120  # characters
_BEFORE_BUTTON: Final = 1500  # characters between a price and the button to pay it
_MOST_PLACES: Final = 3  # where a known price is looked for
_SAME_BLOCK: Final = 400  # characters between a price and what it is reduced from

# A number, with cents that may be in an element of their own.
_NUMBER_RUN: Final = re.compile(r"\d[\d.,'’ \u00a0\u202f\u2009]*(?:\x1f[\s.,]*\d{2}(?![\d.,]))?")
_RANGE_ON: Final = re.compile(r"\s*[-–—~]\s*\d[\d.,'’ \u00a0]*")
_CENTS_APART: Final = re.compile(r"(\d)[\s\x1f]*\x1f[\s\x1f]*(\d{2})(?![\d.,])")
_SEPARATOR_APART: Final = re.compile(r"(?<=\d)[ \x1f]*([.,])[ \x1f]*(?=\d\d(?!\d))")
_SIGN_OF_NEXT_PIECE: Final = re.compile(
    r"[ \n\t\u00a0]*\x1f\s*[^\s\d]{1,5}[ \u00a0]?(?:\d{3}|\d{1,2}[.,]|\d(?!\d))"
)
# What is said of a number behind it; of taxes in an element of its own, too.
_SUFFIX: Final = re.compile(
    r"[\s€$£¥*]{0,6}\(?\s?(?:ex|exkl|excl|exc|ekskl|zzgl|plus|ohne|without|bez|без|sin|sem|hors|\+)"
    r"\.?\s(?:mwst|vat|tax|gst|iva|tva|dph|ндс|moms|btw|steuer)|"
    r"[ \u00a0€$£¥*]{0,6}\(?(?:ht\b|netto\b|off\b|rabatt|discount|gespart|saved|cashback|shipping|"
    r"versand|p&p|delivery)",
    re.I,
)
_LABEL: Final = phrases(
    r"""
    price | preis | prix | precio | prezzo | preço | cena | prijs | hinta | fiyat | цена | ціна
    кошт
    價 | 价 | 価格 | 가격 | מחיר | السعر | hind | kaina | τιμή | \bár\b | harga | giá | ราคา
    \bnow | jetzt | aktuell | \bnur\b | \bonly | \bsale | offer | angebot
    """
)
_REDUCED_LABEL: Final = phrases(
    r"""
    \bwas\b | \buvp\b | \brrp\b | \bmsrp\b | m\.?r\.?p\b | statt | \blist | instead | regular
    original | before
    au lieu | prix (?:conseill|public|barr) | antes | \bpvpr?\b
    precio (?:anterior|normal|lista)
    listino | anziché | invece | \bde:?\s*$ | zamiast | původn | pôvodn | běžn | bežn | tidigare
    ord\.
    ordinarie | normalpris | \bfør | vejl | adviesprijs | \bvan\s*$ | стар
    建議售價 | 原價 | 原价 | 定價 | 定価 | 市價 | 市场价 | 通常価格 | 参考価格 | 정가 | redna
    """
)
_OTHER_LABEL: Final = phrases(
    r"""
    sav(?:e|ing) | \bspar(?:en|e|st|t|ar)?\b | ersparnis | économ | econom | ahorr | risparm
    discount
    rabatt | sconto | descuento | desconto | zľava | sleva | rabat | \boff\b
    shipping | deliver | versand | liefer | livraison | env[ií]o | entrega | spedizion | frete
    portes | doprav
    достав | 運費 | 运费 | 送料 | 배송 | postage | dostaw | verzend | frakt | fragt | toimitus
    kargo | poštnin | dostav
    month | monat | mois | \bmes\b | mensu | mensais | \brate\b | raten | installment
    instalment | cuota | parcela
    kredit | credit | кредит | рассроч | в месяц | 分期 | splátk | leasing | financ | \bemi\b
    coupon | voucher | \bgift | points | punkt | bonus | cashback | back\b | späť
    \bover\b | above | orders | mindest | superior | minimum | más de | deposit | kaution
    warrant | garant | insur
    brez ddv | ohne mwst | exkl | \bexcl | ex\.? vat | \bnetto?\b | sem iva | sin iva | hors tax
    \bht\b
    bez dph | без ндс | ekskl | iva esclusa
    """
)
_BUDGET_TEXT: Final = 60  # characters looked at before a number
_BARE_PIECE: Final = 24  # characters of an element that can be a price with no currency in it
_PROSE: Final = 80  # characters of an element that is no price, but a sentence with one in it
_RUN_END: Final = " .,'’\u00a0\u202f\u2009\x1f"


class _Candidate(NamedTuple):
    at: int
    amount: Amount
    score: float
    around: Surroundings
    reduced_from: bool
    other: bool  # of shipping, of a month, of a unit, of what is saved


class VisiblePrice(NamedTuple):
    current: Decimal
    list: Decimal | None
    currency: str | None


def visible_price(
    visible: VisibleText, regional: Sequence[str], buy_buttons: Sequence[int]
) -> VisiblePrice | None:
    window = _window(visible)
    signed = _found(visible, regional, buy_buttons, window, bare=False)
    best = _best(_weighed_all(signed))
    if best is None or best.score < _GOOD_SCORE:
        found = _found(visible, regional, buy_buttons, window, bare=True, known=signed)
        best = _best(_weighed_all(found))
    if best is None or best.score < _LEAST_SCORE:
        return None
    listed = _list_price(visible, best.amount.value, best.at, regional)
    return VisiblePrice(best.amount.value, listed, best.amount.currency)


def list_price_beside(
    visible: VisibleText, current: Decimal, regional: Sequence[str]
) -> Decimal | None:
    """What a price that is known already is reduced from."""
    whole = str(int(current))
    places = 0
    for run in _NUMBER_RUN.finditer(visible.text, *_window(visible)):
        digits = re.sub(r"\D", "", run[0][:60])
        if not digits.startswith(whole) or len(digits) - len(whole) not in (0, 2):
            continue
        if visible.around(run.start()).neighbour:
            continue
        if (listed := _list_price(visible, current, run.start(), regional)) is not None:
            return listed
        places += 1
        if places == _MOST_PLACES:
            break
    return None


def _window(visible: VisibleText) -> tuple[int, int]:
    start = max(0, visible.headline - _BEFORE_HEADLINE)
    after = _AFTER_HEADLINE if visible.is_titled else _ANYWHERE
    return start, min(len(visible.text), visible.headline_end + after)


def _best(candidates: Sequence[_Candidate]) -> _Candidate | None:
    return max(candidates, key=lambda one: (one.score, -one.at), default=None)


def _list_price(
    visible: VisibleText, current: Decimal, at: int, regional: Sequence[str]
) -> Decimal | None:
    """What the price at a place in the text is reduced from."""
    block = (max(0, at - _SAME_BLOCK), min(len(visible.text), at + _SAME_BLOCK))
    if not any(
        run.start() != at and _is_reduced_from(visible, run.start())
        for run in _NUMBER_RUN.finditer(visible.text, *block)
    ):
        return None
    candidates = _weighed_all(_found(visible, regional, (), block, bare=True))
    if not any(one.at == at and one.amount.value == current for one in candidates):
        return None
    near = [
        one
        for one in candidates
        if one.reduced_from
        and not one.around.neighbour
        and not one.other
        and current < one.amount.value < current * 10
    ]
    return min(near, key=lambda one: abs(one.at - at)).amount.value if near else None


def _is_reduced_from(visible: VisibleText, at: int) -> bool:
    if visible.around(at).reduced_from:
        return True
    return bool(_REDUCED_LABEL.search(_label(_before(visible, at))))


def _before(visible: VisibleText, at: int) -> str:
    return visible.text[max(0, at - _BUDGET_TEXT) : at]


def _found(
    visible: VisibleText,
    regional: Sequence[str],
    buy_buttons: Sequence[int],
    window: tuple[int, int],
    *,
    bare: bool,
    known: Sequence[_Candidate] = (),
) -> list[_Candidate]:
    """Amounts with a currency; where bare is asked for, also those with none in elements that are
    made for prices. Known are those of the same window that were found without them."""
    known_at = {one.at: one for one in known}
    found: list[_Candidate] = []
    for count, run in enumerate(_NUMBER_RUN.finditer(visible.text, *window)):
        if count == _MOST_NUMBERS or len(found) == _MOST_CANDIDATES:
            break
        candidate = known_at.get(run.start()) or _candidate(
            visible, run, regional, buy_buttons, bare=bare
        )
        if candidate is not None:
            found.append(candidate)
    return found


def _weighed_all(candidates: Sequence[_Candidate]) -> list[_Candidate]:
    found = list(candidates)
    for low, high in pairwise(candidates):
        if low.amount.range_from and high.at - low.at < 40:
            found[found.index(high)] = high._replace(score=high.score - 2)
    repeated = _repeated(found)
    return [_weighed(one, found, repeated) for one in found]


def _repeated(found: Sequence[_Candidate]) -> dict[str, int]:
    """Signatures of elements that hold several prices, and how often: a list of other things."""
    own = [one for one in found if not one.around.neighbour]
    count = Counter(one.around.signature for one in own)
    distinct = Counter(at for at, _ in {(one.around.signature, one.amount.value) for one in own})
    return {one: count[one] for one in count if count[one] >= 3 and distinct[one] >= 2}


def _weighed(one: _Candidate, found: Sequence[_Candidate], repeated: dict[str, int]) -> _Candidate:
    score = one.score
    if times := repeated.get(one.around.signature):
        score -= 2 if times < 6 else 4
    if one.reduced_from and (one.around.struck or _has_lower_beside(one, found)):
        score -= _REDUCED_PENALTY
    elif one.amount.currency and _has_struck_beside(one, found):
        score += 1
    return one._replace(score=score)


def _has_struck_beside(one: _Candidate, found: Sequence[_Candidate]) -> bool:
    return not one.other and any(
        other.around.struck
        and abs(other.at - one.at) < _BESIDE
        and one.amount.value < other.amount.value
        for other in found
    )


def _has_lower_beside(one: _Candidate, found: Sequence[_Candidate]) -> bool:
    return any(
        abs(other.at - one.at) < _SAME_BLOCK
        and other.amount.value < one.amount.value
        and not other.reduced_from
        and not other.other
        for other in found
    )


def _candidate(
    visible: VisibleText,
    run: re.Match[str],
    regional: Sequence[str],
    buy_buttons: Sequence[int],
    *,
    bare: bool,
) -> _Candidate | None:
    at = run.start()
    end = at + len(run[0].rstrip(_RUN_END))
    before = _before(visible, at)
    after = visible.text[end : end + 30]
    range_on = _RANGE_ON.match(after)
    behind = after[range_on.end() :] if range_on else after
    signed = bool(sign_before(before[-12:], regional) or sign_after(behind[:16], regional))
    if not signed and not (bare and _is_short(visible.piece_at(at))):
        return None
    around = visible.around(at)
    label = _label(before)
    if not signed and not (around.price or around.item_price or _LABEL.search(label)):
        return None
    number = _SEPARATOR_APART.sub(r"\1", visible.text[at : min(end, at + 60)])
    if not re.search(r"[.,]", number):
        number = _CENTS_APART.sub(r"\1.\2", number, count=1)
    if _SIGN_OF_NEXT_PIECE.match(after):
        after = ""
    amount = amount_at(before[-24:], number + after, regional)
    if amount is None:
        return None
    in_headline = visible.headline <= at < visible.headline_end
    if amount.currency is None and (in_headline or not (bare or around.price or around.item_price)):
        return None
    reduced = around.reduced_from or bool(_REDUCED_LABEL.search(label))
    other = bool(
        around.other_amount
        or amount.per_unit
        or _OTHER_LABEL.search(label)
        or _SUFFIX.match(visible.text, end)
    )
    score = _score(visible, at, amount, around, label)
    if other:
        score -= _OTHER_PENALTY
    if not in_headline and not around.price and _is_prose(visible.piece_at(at)):
        score -= 2
    if any(0 <= button - at < _BEFORE_BUTTON for button in buy_buttons):
        score += 1
    return _Candidate(at, amount, score, around, reduced, other)


def _is_short(piece: tuple[int, int]) -> bool:
    return piece[1] - piece[0] <= _BARE_PIECE


def _is_prose(piece: tuple[int, int]) -> bool:
    return piece[1] - piece[0] > _PROSE


def _label(before: str) -> str:
    """The words before a number that are not about the number before it."""
    at = next((at + 1 for at in range(len(before) - 1, -1, -1) if before[at].isdigit()), 0)
    if at:
        at = max(at, before.find(BOUNDARY, at))
        if about_it := _SUFFIX.match(before, at):
            at = about_it.end()
    return before[at:][-30:].replace(BOUNDARY, " ")


def _score(
    visible: VisibleText, at: int, amount: Amount, around: Surroundings, label: str
) -> float:
    score = 0.0
    score += 2.0 if amount.currency else 0.0
    score += 2.0 if around.price else 0.0
    score += 2.0 if around.item_price else 0.0
    score += 1.0 if _LABEL.search(label) else 0.0
    score += 0.5 if around.strong else 0.0
    score -= 5.0 if around.neighbour else 0.0
    score -= 2.0 if around.link else 0.0
    score -= 1.0 if around.hidden else 0.0
    score -= 0.2 if amount.range_from else 0.0
    if at < visible.headline:
        return score - 0.3 - (visible.headline - at) / 500
    distance = max(0, at - visible.headline_end)
    return score - min(3.0, distance / (2500 if visible.is_titled else 40_000))
