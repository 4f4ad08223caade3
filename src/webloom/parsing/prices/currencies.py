# ruff: noqa: RUF001  signs of money look like other letters
"""Currencies by their signs, and which one is meant where several share a sign."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from webloom.parsing.currencies import CODES, SIGNS
from webloom.parsing.words import words

# Written with a dot before the thousands, and never with cents.
WITHOUT_CENTS: Final = frozenset(words("CLP COP CRC IDR PYG VND"))
WITH_THREE_DECIMALS: Final = frozenset(words("BHD JOD KWD LYD OMR TND"))

_OF_REGION: Final[dict[str, str]] = {
    "ae": "AED", "ar": "ARS", "am": "AMD", "au": "AUD", "az": "AZN", "ba": "BAM", "bd": "BDT",
    "bg": "BGN", "bh": "BHD", "bo": "BOB", "br": "BRL", "by": "BYN", "ca": "CAD", "ch": "CHF",
    "cl": "CLP", "cn": "CNY", "co": "COP", "cr": "CRC", "cz": "CZK", "dk": "DKK", "do": "DOP",
    "dz": "DZD", "eg": "EGP", "ge": "GEL", "gh": "GHS", "hk": "HKD", "hu": "HUF", "id": "IDR",
    "il": "ILS", "in": "INR", "ir": "IRR", "is": "ISK", "jm": "JMD", "jo": "JOD", "jp": "JPY",
    "ke": "KES", "kg": "KGS", "kr": "KRW", "kw": "KWD", "kz": "KZT", "lb": "LBP", "li": "CHF",
    "lk": "LKR", "ma": "MAD", "md": "MDL", "mk": "MKD", "mu": "MUR", "mx": "MXN", "my": "MYR",
    "na": "NAD", "ng": "NGN", "ni": "NIO", "no": "NOK", "np": "NPR", "nz": "NZD", "om": "OMR",
    "pa": "PAB", "pe": "PEN", "ph": "PHP", "pk": "PKR", "pl": "PLN", "py": "PYG", "qa": "QAR",
    "ro": "RON", "rs": "RSD", "ru": "RUB", "sa": "SAR", "se": "SEK", "sg": "SGD", "th": "THB",
    "tn": "TND", "tr": "TRY", "tt": "TTD", "tw": "TWD", "ua": "UAH", "ug": "UGX", "uk": "GBP",
    "gb": "GBP", "us": "USD", "uy": "UYU", "uz": "UZS", "ve": "VES", "vn": "VND", "za": "ZAR",
} | dict.fromkeys(
    words("at be cy de ee es eu fi fr gr hr ie it lt lu lv mt nl pt si sk"), "EUR"
)  # fmt: skip
# Others are languages too: /ar/ is Arabic rather than Argentina.
_REGIONS_IN_PATHS: Final = frozenset(words("au nz ca mx sg hk tw cl pk lk np dk no se cn jp"))
_OF_ANY_COUNTRY: Final = frozenset(words("co am"))  # domains that shops of any country take
_OF_LANGUAGE: Final[dict[str, str]] = {
    "sv": "SEK", "da": "DKK", "nb": "NOK", "nn": "NOK", "no": "NOK", "is": "ISK", "ja": "JPY",
    "zh": "CNY", "ur": "PKR", "hi": "INR", "si": "LKR", "ne": "NPR", "be": "BYN", "ru": "RUB",
    "sr": "RSD", "mk": "MKD", "ro": "RON",
}  # fmt: skip

_CODES_IN_LOWER_CASE: Final = frozenset(
    words(
        "aed aud bgn brl cad chf clp cny czk dkk eur gbp hkd huf ils inr jpy kzt mxn nok nzd pkr "
        "pln ron rsd rub sar sek sgd twd uah usd vnd zar"
    )
)

# Words that are other things too: they count only where that money is used.
_WEAK: Final = frozenset(
    words(
        "km ft ft. da le man br sr dt bd kd dh dh. r din din. mrp bs gs р fr. tk tk. "
        "all top try cup gel mop pen sos bam mad"
    )
)

_MARKS: Final = frozenset("€$£¥￥＄₹₽₺₩₪₴₫₦₱₲₡₸₼₾₵₭₮৳฿円元圓원֏đ")
_AROUND_SIGN: Final = ".,:;*()[]{}<>|+~!?\"'-–—\u200e\u200f"
_LONGEST: Final = 8
_NO_CENTS: Final = re.compile(r"^(?:(\s?[.,:]\s?[-–—]{1,2})|-)")  # of "1 299:-"
_BETWEEN_ELEMENTS: Final = "\x1f"
_WRITTEN_SO: Final = frozenset(words("EUR CHF CZK DKK NOK SEK ISK"))  # with no other sign, too


def sign_before(text: str, regional: Sequence[str]) -> tuple[int, str] | None:
    """The currency that stands at the end of the text, and where it begins."""
    head = text.rstrip().rstrip(":=").rstrip()
    if not head or head[-1].isdigit():
        return None
    parts = head.split()
    word = parts[-1][-_LONGEST:]
    for at in range(len(word) - 1, -1, -1):
        if word[at].isdigit():
            word = word[at + 1 :]
            break
    whole = word.lstrip(_AROUND_SIGN)
    is_apart = whole == "$" and len(parts) > 1 and parts[-2].isupper()  # "AU $", but not "a $"
    if is_apart and (code := _stated(parts[-2] + "$", regional)):
        return len(head) - 1, code
    for one in dict.fromkeys((whole, whole.rstrip(_AROUND_SIGN))):
        if code := _stated(one, regional):
            return len(head) - len(whole), code
    if head[-1] in _MARKS and (code := currency_of(head[-1], regional)):
        return len(head) - 1, code
    return None


def sign_after(text: str, regional: Sequence[str]) -> tuple[int, str] | None:
    """The currency that the text begins with, and where it ends."""
    no_cents = _NO_CENTS.match(text)
    tail = text[no_cents.end() :].lstrip() if no_cents else text.lstrip()
    if tail and not tail[0].isdigit():
        skipped = len(text) - len(tail)
        word = tail.split()[0][: _LONGEST + 2]
        before_slash = _BEFORE_SLASH.split(word, maxsplit=1)[0]
        for one in dict.fromkeys((word, before_slash, word.rstrip(_AROUND_SIGN))):
            if code := _stated(one, regional):
                return skipped + len(one), code
        if word[0] in _MARKS and (code := currency_of(word[0], regional)):
            return skipped + 1, code
    is_price = no_cents and no_cents[1] and " " not in no_cents[1].lstrip()
    between = text[no_cents.end() : len(text) - len(tail)] if no_cents else ""
    is_range = tail[:1].isdigit() and _BETWEEN_ELEMENTS not in between  # of "12.-14. November"
    if no_cents and is_price and not is_range:
        code = next((one for one in regional if one in _WRITTEN_SO), None)
        return (no_cents.end(), code) if code else None
    return None


_BEFORE_SLASH: Final = re.compile(r"[/|;(\d]")


def _stated(word: str, regional: Sequence[str]) -> str | None:
    code = currency_of(word, regional)
    if code is None or code in regional or word in ("Ft", "KD"):
        return code
    return None if word.lower() in _WEAK else code


def regional_currencies(url: str, *languages: str | None) -> tuple[str, ...]:
    """What is paid with where the page seems to be from, the likeliest first."""
    host, path = _host_and_path(url)
    labels = host.split(".")
    found = [_OF_REGION.get(labels[-1], "")]
    for language in languages:
        code, _, region = (language or "").lower().replace("_", "-").partition("-")
        found.append(_OF_REGION.get(region.split("-")[-1], ""))
        found.append(_OF_LANGUAGE.get(code, ""))
    hints = "/".join([*path.lower().split("/")[1:3], labels[0]])
    found.extend(_OF_REGION[one] for one in re.split(r"[-_/]", hints) if one in _REGIONS_IN_PATHS)
    return tuple(one for one in dict.fromkeys(found) if one)


def country_currency(url: str) -> str | None:
    """What is paid with in the country whose domain the page is in."""
    country = _host_and_path(url)[0].split(".")[-1]
    return None if country in _OF_ANY_COUNTRY else _OF_REGION.get(country)


def _host_and_path(url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return "", ""
    return parts.hostname or "", parts.path


@lru_cache(maxsize=4096)
def _possible(sign: str) -> tuple[str, ...]:
    if sign in CODES or sign.lower() in _CODES_IN_LOWER_CASE:
        return (sign.upper(),)
    return SIGNS.get(sign.lower(), ())


def currency_of(sign: str, regional: Iterable[str] = ()) -> str | None:
    """The ISO code of a sign, a name or a code; None where it is none of them."""
    possible = _possible(sign.strip()[:20])
    if not possible:
        return None
    return next((one for one in regional if one in possible), possible[0])
