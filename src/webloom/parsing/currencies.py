# ruff: noqa: RUF001  currency signs look like other letters
"""ISO 4217 codes, and the signs and words that are written for them, in shops and in job feeds."""

from __future__ import annotations

from typing import Final

from webloom.parsing.words import by_word, words

CODES: Final = frozenset(
    words("""
    AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN
    BWP BYN BZD CAD CDF CHF CLF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD GBP
    GEL GHS GIP GMD GNF GTQ GYD HKD HNL HRK HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS
    KHR KRW KWD KYD KZT LAK LBP LKR LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN
    NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SCR SDG SEK
    SGD SOS SRD SYP THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VES VND XAF XCD XOF
    XPF YER ZAR ZMW
    """)
)

_BY_CODE: Final = {
    "AED": "د.إ د.إ.",
    "AMD": "դր ֏",
    "AUD": "au$ a$",
    "AZN": "₼ man",
    "BAM": "km",
    "BDT": "৳ tk tk.",
    "BGN": "лв лв.",
    "BHD": "bd د.ب",
    "BRL": "r$ rs$",
    "BYN": "б.р. б.р",
    "CAD": "ca$ c$ cad$ cdn$",
    "CHF": "sfr. sfr fr. chf.",
    "CLP": "clp$",
    "CNY": "人民币 rmb",
    "COP": "cop$",
    "CRC": "₡",
    "CZK": "kč kc",
    "DOP": "rd$",
    "DZD": "da دج",
    "EGP": "egp. le ج.م جنيه",
    "EUR": "€ euro euros eur. evro",
    "GEL": "₾",
    "GHS": "₵",
    "HKD": "hk$",
    "HRK": "kn kuna",
    "HUF": "ft ft.",
    "IDR": "rp rp.",
    "ILS": '₪ ش.ج ש"ח ש״ח nis',
    "INR": "₹ mrp",
    "IRR": "تومان ریال",
    "JMD": "j$",
    "JOD": "د.ا",
    "JPY": "円 yen",
    "KES": "ksh ksh. kshs",
    "KGS": "сом",
    "KRW": "₩ 원",
    "KWD": "kd د.ك",
    "KZT": "₸ тг тг. тенге",
    "LAK": "₭",
    "MAD": "د.م",
    "MKD": "ден",
    "MNT": "₮",
    "MXN": "mx$ mex$",
    "MYR": "rm",
    "NAD": "n$",
    "NGN": "₦",
    "NIO": "c$.",
    "NZD": "nz$",
    "OMR": "ر.ع",
    "PAB": "b/.",
    "PEN": "s/. s/",
    "PHP": "₱",
    "PLN": "zł zl",
    "PYG": "₲ gs. gs",
    "QAR": "qr ر.ق",
    "RSD": "дин рсд",
    "RUB": "₽",
    "SAR": "sr ر.س ر.س.",
    "SGD": "s$ sg$",
    "THB": "฿ บาท",
    "TND": "dt",
    "TRY": "₺ tl",
    "TTD": "tt$",
    "TWD": "nt$",
    "UAH": "₴ грн грн.",
    "UGX": "ugx.",
    "USD": "us$ u$s usd$ $us usd.",
    "UYU": "$u",
    "UZS": "сум",
    "VND": "₫ đ vnđ vnd.",
    "ZAR": "r",
}
# Signs that several currencies share, with the likeliest currency first.
_SHARED: Final = {
    "$ ＄": ("USD CAD AUD NZD MXN CLP COP ARS SGD HKD TWD UYU DOP BRL JMD TTD BBD BSD NAD FJD"),
    "£": "GBP EGP LBP",
    "¥": "JPY CNY",
    "￥": "CNY JPY",
    "元": "CNY TWD",
    "圓": "TWD HKD",
    "bs. bs": "BOB VES",
    "kr.": "DKK NOK SEK ISK",
    "kr": "SEK NOK DKK ISK",
    "lei leu": "RON MDL",
    "din din.": "RSD MKD",
    "руб руб. рублей р. р": "RUB BYN",
    "br": "BYN ETB",
    "rs. rs": "INR PKR LKR NPR MUR",
    "dh": "MAD AED",
    "dhs dh. درهم": "AED MAD",
    "ريال": "SAR QAR OMR",
}
# By sign in lower case: the currencies that it may stand for.
SIGNS: Final[dict[str, tuple[str, ...]]] = {
    **{sign: (code,) for sign, code in by_word(_BY_CODE).items()},
    **{sign: words(codes) for signs, codes in _SHARED.items() for sign in signs.split()},
}
