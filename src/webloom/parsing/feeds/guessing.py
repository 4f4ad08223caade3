"""The encoding of a feed that is not the UTF-8 it declares or implies, by its byte patterns.

A wrong guess spoils a whole feed, no guess only a few letters: so only clear cases are guessed.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from webloom.parsing.words import by_word

_LOOKED_AT: Final = 32 * 1024  # bytes
_UTF8 = re.compile(  # of two and three bytes; others are rare
    rb"[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xef][\x80-\xbf]{2}"
)
_LANGUAGE = re.compile(
    rb"""(?:<(?:dc:)?language>\s*+(?:<!\[CDATA\[)?\s*+|\sxml:lang\s*+=\s*+["'])([a-z]{2})\b""",
    re.IGNORECASE,
)
_BY_LANGUAGE: Final = by_word(
    {
        "cp1250": "bs cs hr hu pl ro sk sl",
        "cp1257": "et lt lv",
        "cp1254": "az tr",
        "cp1256": "ar fa ur",
        "cp1253": "el",
        "cp1255": "he",
        "cp874": "th",
    }
)
_ONLY_OF_WINDOWS: Final = bytes(range(0x80, 0xA0))
_FEWEST: Final = 15  # characters
_BEYOND_ASCII: Final = bytes(range(0x80, 0x100))
_SMALL: Final = _BEYOND_ASCII[0x60:]  # letters of windows-1251, and the capitals of KOI8
_CAPITAL: Final = _BEYOND_ASCII[0x40:0x60]  # the other way round
_CYRILLIC = re.compile(rb"[\xc0-\xff\xa8\xb8\xa3\xb3]{3,}+")  # other text has few of them
_CYRILLIC_AT_LEAST: Final = 20  # bytes
_VOWELS_OF_KOI8: Final = b"\xcf\xc1\xc9"  # the most frequent ones
_VOWELS_OF_CP1251: Final = b"\xce\xc0\xc8"  # the same as capitals

# Two bytes for a character. Named: what most of a text consists of, and the script of a language.
_EAST_ASIAN: Final = {
    "cp949": re.compile(
        rb"(?P<common>[\xa1\xb0-\xc8][\xa1-\xfe])|(?P<rare>[\x81-\xfe][\x41-\x5a\x61-\x7a\x81-\xfe])"
        rb"|[\x80-\xff]"
    ),
    "cp932": re.compile(
        rb"(?P<kana>\x82[\x9f-\xf1]|\x83[\x40-\x96])"
        rb"|(?P<common>\x81[\x40-\x9e]|\x82[\x4f-\x9a]|[\x88-\x98][\x40-\x7e\x80-\xfc])"
        rb"|(?P<rare>[\x81-\x9f\xe0-\xfc][\x40-\x7e\x80-\xfc]|[\xa1-\xdf])|[\x80-\xff]"
    ),
    "euc_jp": re.compile(
        rb"(?P<kana>[\xa4\xa5][\xa1-\xf6])|(?P<common>[\xa1\xa3\xb0-\xcf][\xa1-\xfe])"
        rb"|(?P<rare>[\xa1-\xfe]{2}|\x8e[\xa1-\xdf])|[\x80-\xff]"
    ),
    "big5hkscs": re.compile(
        rb"(?P<common>[\xa1\xa4-\xc6][\x40-\x7e\xa1-\xfe])"
        rb"|(?P<rare>[\x81-\xfe][\x40-\x7e\xa1-\xfe])|[\x80-\xff]"
    ),
    "gb18030": re.compile(
        rb"(?P<common>[\xa1\xa3\xb0-\xd7][\xa1-\xfe])|(?P<rare>[\x81-\xfe][\x40-\x7e\x80-\xfe])"
        rb"|[\x80-\xff]"
    ),
}
_JAPANESE: Final = frozenset({"cp932", "euc_jp"})
_SHARE: Final = 0.93  # of common characters; the texts of another of these have up to 0.85
_SHARE_OF_KANA: Final = 0.15


def guessed(head: bytes) -> str | None:
    """The codec of the beginning of a feed; None: UTF-8, for the most part, or no language that is
    known by its bytes, and so a Western one."""
    head = head[:_LOOKED_AT]
    beyond_ascii = _times(head, _BEYOND_ASCII)
    if not beyond_ascii or sum(map(len, _UTF8.findall(head))) > 0.5 * beyond_ascii:
        return None
    return _of_language(head) or _cyrillic(head, beyond_ascii) or _east_asian(head)


def _of_language(head: bytes) -> str | None:
    """By the language that the feed says it is in."""
    said = _LANGUAGE.search(head)
    language = said[1].decode().lower() if said else ""
    codec = _BY_LANGUAGE.get(language)
    if codec != "cp1250" or _times(head, _ONLY_OF_WINDOWS):
        return codec
    is_windows = language == "pl" and _times(head, b"\xb9") > _times(head, b"\xb1")
    return codec if is_windows else "iso8859-2"


def _cyrillic(head: bytes, beyond_ascii: int) -> str | None:
    """Most letters are small, and in words, whose bytes UTF-8 does not put beside each other."""
    letters = b"".join(_CYRILLIC.findall(head))
    if len(letters) < _CYRILLIC_AT_LEAST or len(letters) <= 0.7 * beyond_ascii:
        return None
    if _times(letters, _SMALL) > 0.5 * len(letters):
        return "cp1251"
    if _times(letters, _CAPITAL) < 0.75 * len(letters):
        return None
    is_koi8 = _times(letters, _VOWELS_OF_KOI8) > 2 * _times(letters, _VOWELS_OF_CP1251)
    return "koi8-u" if is_koi8 else None


def _times(text: bytes, each: bytes) -> int:
    return len(text) - len(text.translate(None, each))


def _east_asian(head: bytes) -> str | None:
    for codec, characters in _EAST_ASIAN.items():
        kinds = Counter(found.lastgroup for found in characters.finditer(head))
        common, every = kinds["common"] + kinds["kana"], kinds.total()
        is_its_script = codec not in _JAPANESE or kinds["kana"] >= _SHARE_OF_KANA * every
        # One may be cut in two at the end.
        if common >= _FEWEST and kinds[None] <= 1 and common >= _SHARE * every and is_its_script:
            return codec
    return None
