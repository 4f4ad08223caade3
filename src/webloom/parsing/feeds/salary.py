"""Pay as feeds write it: fields of their own, or a line of text for people."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from webloom.parsing.currencies import CODES, SIGNS
from webloom.parsing.job_posting import Salary
from webloom.parsing.words import by_word, words

_HIGHEST: Final = 1e12  # no salary; and no database's trouble
_LOOKED_AT: Final = 300  # characters of a text
_MOST_MILLIONS: Final = 1_000  # 50 000 m/w/d is none
_MOST_AMOUNTS: Final = 10  # of a text
_WIDEST: Final = 50  # times the lower end of a range
_LONGEST_TIME: Final = 3_000  # 140000 YEAR is pay

_CODES: Final = CODES - set(words("ALL AMD CUP LAK MOP SOS TOP"))  # which are words or firms too
_NAMES: Final = {  # beside the signs that shops use; in a shop, pounds are a weight
    "USD": "dollar dollars",
    "GBP": "pounds",
    "INR": "rupees",
    "RUB": "rur",  # as it was until 1998, and as some still write it
    "KZT": "tenge",
    "PLN": "zlotych złotych",
    "BRL": "reais",
    "HUF": "forint",
}
# The signs of shops that don't mean something else in a line about pay.
_USED: Final = words(
    "us$ u$s usd$ ca$ c$ cdn$ au$ a$ nz$ hk$ s$ sg$ r$ mx$ nt$ $ € £ ¥ ₹ ₽ ₺ ₩ ₪ ₴ ₫ ₦ ₱ ฿ zł zl "
    "kč rs. rs euro euros sfr fr. rmb ft lei yen tl 元 円 rm rp ksh "
    "руб рублей грн тенге"  # noqa: RUF001 - Cyrillic is meant
)
_SIGNS: Final = {**{sign: SIGNS[sign][0] for sign in _USED}, **by_word(_NAMES)}
DOLLARS: Final = {  # by country, in lower case
    "hong kong": "HKD",
    "new zealand": "NZD",
    **by_word(
        {
            "AUD": "au aus australia",
            "CAD": "ca can canada",
            "HKD": "hk hkg",
            "MXN": "mx mex mexico méxico",
            "NZD": "nz nzl",
            "SGD": "sg sgp singapore",
        }
    ),
}
_WORDS: Final = frozenset(filter(str.isalpha, _SIGNS)) - {"円", "元"}
_SIGN = re.compile(
    rf"(?<![^\W\d_])(?:{'|'.join(sorted(_WORDS, key=len, reverse=True))})(?![^\W\d_])|"
    + "|".join(map(re.escape, sorted(_SIGNS.keys() - _WORDS, key=len, reverse=True))),
    re.IGNORECASE,
)
_CURRENCY_AFTER = re.compile(r"\s?(?:[^\W\d_]{2,7}|[^\w\s])(?!\s?\d)")
_RAND = re.compile(r"(?<![^\W\d_])R(?=\s?\d)")
_CODE = re.compile(r"(?<![A-Za-z])([A-Z]{3})(?![A-Za-z])")

_PERIODS: Final = (
    ("hour", r"hour(?:ly|s)?|hrs?|h|p\.?h\.?|stunde|stündlich|std|heure|hora|ora|uur"
     r"|stunden(?:lohn|satz)|horaire|godz\w*|timme|hod(?:in\w*)?|час(?:ов)?"),
    ("day", r"day|daily|p\.?d\.?|diem|tag|täglich|jour(?:n[ée]e|nalier)?|d[ií]a|giorno|dag|dia"),
    ("week", r"week(?:ly)?|wk|p\.?w\.?|woche|wöchentlich|semaine|hebdomadaire"
     r"|semanal?|settimana(?:le)?|недел\w*"),
    ("month", r"month(?:ly)?|mo|mth|pcm|p\.?m\.?|monat(?:lich|s(?:gehalt|lohn))?|mois"
     r"|mensuel\w*|mes|mese|maand|mies\w*|mån(?:ad|ed)?|mtl\.?|m[eê]s|mensual(?:es)?|mensa(?:l|is)|mensil[ei]"
     r"|měs(?:íc\w*|íčně)?|мес(?:яц\w*)?|міс(?:яц\w*)?"),
    ("year", r"year(?:ly)?|yr|annum|annual(?:ly|ized)?|p\.?\s?a\.?|jahr(?:esgehalt)?|jährlich|année"
     r"|(?:(?<=par )|(?<=/)|(?<=/ ))an|annuel\w*|año|anno|ano|jaar|rok|anual(?:es)?|anuais"
     r"|annu(?:o|i|a|ale)|rocznie|рік|år|lpa|год"),
)  # fmt: skip
_PERIOD = re.compile(
    r"(?<![^\W\d_])(?=[^\W\d_])(?:"
    + "|".join(f"(?P<{name}>{words})" for name, words in _PERIODS)
    + r")(?![^\W_])",
    re.IGNORECASE,
)
_EAST_ASIAN: Final = {"年": "year", "月": "month", "日": "day", "時": "hour", "时": "hour"}
_EAST_ASIAN_PERIOD = re.compile("([年月日時时])[収收薪給给俸]|/([年月日時时])")
_UNIT: Final = by_word(
    {
        "hour": "hour hourly hr h perhour hours",
        "day": "day daily d perday days",
        "week": "week weekly w wk perweek weeks",
        "month": "month monthly m mo permonth months pcm",
        "year": "year yearly y yr peryear years annual annually annum perannum pa salary",
    }
)
_NUMBER = re.compile(
    r"(?:(?<![\w.,])|(?<=\bR))\d{1,3}(?:[ \u00a0\u202f'’]\d{3})+(?:[.,]\d{1,2})?(?!\d)"  # noqa: RUF001 - as they write
    r"|\d[\d.,]*\d|\d"
)
_AND_MORE = re.compile(r"\+|\s+\+\s*(?:$|[,;.)/])")  # but not "+ bonus"
_AFTER = re.compile(
    r"\s?(?:(?P<thousand>k(?![^\W\d_])|t(?=€|\s?eur)|tsd|thousand|mil(?![^\W\d_])|тыс)"
    r"|(?P<million>m(?![^\W\d_])|mio|million|млн)"
    r"|(?P<myriad>万)"
    r"|(?P<lakh>lakhs?|lacs?|lpa))"
    r"|(?P<other>%|st\b|nd\b|rd\b|th\b"
    r"|\s(?:sign(?:ing|[ -]on)|welcome|joining|retention|referral|relocation) bonus\b)",
    re.IGNORECASE,
)
_SCALES: Final = {"thousand": 1e3, "million": 1e6, "lakh": 1e5, "myriad": 1e4}
_NOT_PAY = re.compile(
    r"401\s*\(?k\)?|\b(?:19|20)\d\d[-/]\d{1,2}\b|24/7"
    # 40 hours a week, 12-month: how long, and not how much
    r"|(?P<time>(?:\d[\d.,]*\s?(?:[-–]|to|bis|à)\s?)?"  # noqa: RUF001 - as they write
    r"(?P<longest>\d{1,3}(?:[ \u00a0]\d{3})+|\d[\d.,]*))(?:\s*|-)"
    r"(?:(?P<several>hours|hrs|stunden|heures|horas|uur|uren|godzin|days|tagen?|jours|dagen|weeks"
    r"|wochen|semaines|semanas|weken|months|monaten?|meses|maanden|years|yrs|jahren?|ans|años)"
    r"|hour|h|day|tag|jour|dag|week|woche|month|monat|mois|maand|year|jahr|jaar)\b"
    r"(?!\s*\w*\s*(?:rate|salary))"
    r"(?:\s*(?:/|\b(?:per|an?|each|pro|par|por|p|je|in der|la|al)\b\.?|(?=\bweekly))\s*"
    r"(?:week(?:ly)?|wk|w\.?|woche|semaine|semana|settimana|day|tag|jour|month|monat|mois|maand"
    r"|year|jahr|annum)\b)?",
    re.IGNORECASE,
)
# What a match of it has in any case, and few others have.
_MAYBE_NOT_PAY = re.compile(
    r"[0-9](?:[.,]?\s*-?[DGHJMUWYdghjmuwy]|[.,]?\s*-?(?:[Ss][Tt]?[Ee]?|[Tt][Aa]|[Aa][NnÑñ])|[-/][0-9])"
    r"|401"
)
_AT = re.compile(r"\s*(?:at\b|@)", re.IGNORECASE)  # 40 hours at $25
_BETWEEN = re.compile(
    r"^[^\d]{0,25}?(?:(?<![^\W\d_])-|-(?![^\W\d_])|–|—|−|~|〜|～|\bto\b|\bbis\b|\bà\b|\bau?\b|\band\b|\bund\b|\bet\b|\by\b|\be\b|\btot\b"  # noqa: RUF001 - as they write
    r"|\bup to\b|\bhasta\b|\bdo\b|\bдо\b|\bпо\b|/)[^\d]{0,15}$",  # noqa: RUF001 - Cyrillic is meant
    re.IGNORECASE,
)
_AT_MOST = re.compile(
    r"(?:\b(?:up to|max(?:imum)?|bis(?: zu)?|jusqu'?[àa]|hasta|fino a|tot|até|under|do|до)\b|<)"
    r"\W{0,4}\w{0,3}\W{0,3}$",
    re.IGNORECASE,
)
_AT_LEAST = re.compile(
    r"(?:\b(?:from|min(?:imum)?|ab|von|à partir de|dès|desde|da|vanaf|starting at|at least|over"
    r"|od|от|від)\b|>)"
    r"\W{0,4}\w{0,3}\W{0,3}$",
    re.IGNORECASE,
)


class _Amount(NamedTuple):
    value: float
    scale: float  # 1000 where it says thousands itself
    start: int
    end: int


@lru_cache(maxsize=2_000)
def salary(
    *,
    text: str | None,
    low: str | None = None,
    high: str | None = None,
    currency: str | None = None,
    period: str | None = None,
    dollar: str | None = None,
) -> Salary | None:
    """Fields of their own go before what a text says. `dollar` is what $ means in that country."""
    if text is None and low is None and high is None:
        return None
    least, most = (_first_amount(part) if part else None for part in (low, high))
    said = _of_pay(text[:_LOOKED_AT]) if text else ""
    if least is None and most is None:
        least, most = _range(said)
    if least is not None and most is not None and least > most:
        least, most = most, least
    code = unit = None
    if least is not None or most is not None:
        for part in (currency, low, high, said):
            code = code or (find_currency(part) if part else None)
        if (
            dollar
            and code == "USD"
            and not any(part and "US" in part.upper() for part in (currency, low, high, said))
        ):
            code = dollar
        unit = (find_period(period) if period else None) or (find_period(said) if said else None)
    if least is None and most is None and not text:
        return None
    return Salary(
        min=_number(least),
        max=_number(most),
        currency=code,
        period=unit,
        text=text or None,
    )


def find_currency(text: str) -> str | None:
    for code in _CODE.findall(text.upper() if len(text) == 3 else text):
        if code in _CODES:
            return str(code)
    sign = _SIGN.search(text)
    if sign is not None:
        return _SIGNS[sign[0].lower()]
    return "ZAR" if _RAND.search(text) else None


def find_period(text: str) -> str | None:
    if not any(map(str.isdigit, text)):
        squeezed = "".join(filter(str.isalpha, text.lower()))
        if squeezed in _UNIT:
            return _UNIT[squeezed]
    found = _PERIOD.search(text.replace("_", " "))
    if found is not None:
        return found.lastgroup
    east_asian = _EAST_ASIAN_PERIOD.search(text)
    return _EAST_ASIAN[east_asian[1] or east_asian[2]] if east_asian else None


def _number(value: float | None) -> int | float | None:
    return int(value) if value is not None and value == int(value) else value


def _first_amount(text: str) -> float | None:
    amounts = _amounts(_of_pay(text[:_LOOKED_AT]))
    return amounts[0].value if amounts else None


def _of_pay(text: str) -> str:
    """With blanks in place of what is about something else."""
    return _NOT_PAY.sub(_blanked, text) if _MAYBE_NOT_PAY.search(text) else text


def _blanked(found: re.Match[str]) -> str:
    time = found["time"]
    if time is not None and (
        _is_behind_money(found.string, found.start())
        or (found["several"] is None and (_value(found["longest"]) or 0) >= _LONGEST_TIME)
    ):
        return found[0]
    if time is not None and _AT.match(found.string, found.end()):
        return found[0].replace(time, " " * len(time), 1)
    return " " * len(found[0])


def _range(text: str) -> tuple[float | None, float | None]:
    amounts = _amounts(text)[:_MOST_AMOUNTS]
    if not amounts:
        return None, None
    while len(amounts) > 1:
        first, second = amounts[:2]
        low, high = _as_large(first, second), _as_large(second, first)
        is_range = _BETWEEN.match(text[first.end : second.start]) is not None
        if is_range and high < _WIDEST * low:
            return low, high
        if _is_money(text, first) or not any(_is_money(text, each) for each in amounts[1:]):
            if is_range:
                return low, high
            break
        del amounts[0]  # Grade 7 - £30,000
    first = amounts[0]
    before = text[: first.start]
    if _AT_MOST.search(before):
        return None, first.value
    if _AT_LEAST.search(before) or _AND_MORE.match(text, first.end):
        return first.value, None
    return first.value, first.value


def _is_money(text: str, amount: _Amount) -> bool:
    """Whether a currency stands beside it."""
    if _is_behind_money(text, amount.start):
        return True
    after = _CURRENCY_AFTER.match(text, amount.end)
    return after is not None and find_currency(after[0].strip()) is not None


def _is_behind_money(text: str, at: int) -> bool:
    return find_currency(text[max(at - 4, 0) : at]) is not None


def _as_large(amount: _Amount, other: _Amount) -> float:
    """80 is 80,000 where the other end of the range is 90k."""
    alike = amount.scale == 1.0 and other.scale > 1.0 and amount.value < 1000
    return amount.value * other.scale if alike else amount.value


def _amounts(text: str) -> list[_Amount]:
    amounts = []
    for found in _NUMBER.finditer(text):
        value = _value(found[0])
        end = found.end()
        after = _AFTER.match(text, end)
        kind = after.lastgroup if after else None
        if kind == "million" and value is not None and value >= _MOST_MILLIONS:
            after = kind = None
        if kind == "other" or value is None:
            continue
        scale = _SCALES[kind] if kind else 1.0
        if after is not None:
            end = after.end()
        if 0 < (rounded := round(value * scale, 2)) < _HIGHEST:
            amounts.append(_Amount(rounded, scale, found.start(), end))
    return amounts


def _value(digits: str) -> float | None:
    """1,200.50 and 1.200,50 and 1 200,50: the last separator is a decimal one, unless three digits
    follow it or it comes twice."""
    digits = re.sub(r"[^\d.,]", "", digits)
    last = max(digits.rfind("."), digits.rfind(","))
    if last >= 0:
        decimals = len(digits) - last - 1
        is_decimal = digits.count(digits[last]) == 1 and (
            decimals != 3 or digits[:last] == "0" or "." in digits[:last] or "," in digits[:last]
        )
        whole = re.sub(r"\D", "", digits[:last])
        digits = f"{whole}.{digits[last + 1 :]}" if is_decimal else re.sub(r"\D", "", digits)
    return float(digits) if len(digits) <= 20 else None
