"""Work locations, and whether work is remote."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from webloom.parsing.words import words

_REMOTE = re.compile(
    r"\b(?:remote(?:ly)?|anywhere|worldwide|work[ -]from[ -]home|wfh|telecommut\w*|telework\w*|"
    r"home[ -]?based|home[ -]?office|distributed|télétravail|teletravail|teletrabajo|teletrabalho|"
    r"thuiswerk\w*|mobiles arbeiten|smart working|remot[oa]|à distance|a distanza|zdaln\w*|"
    r"удал[её]нн\w*|дистанционн\w*)\b",
    re.IGNORECASE,
)
_NEVER_REMOTE = re.compile(
    r"\b(?:no|not|non|nicht|kein|keine)[ -]+(?:\w+[ -]+)?"
    r"(?:remote|home[ -]?(?:office|based|work)|telecommut)",
    re.IGNORECASE,
)
_PARTLY = re.compile(
    r"\b(?:hybrid\w*|part(?:ly|ial(?:ly)?|iel)|teilweise|parcial|parziale)\b", re.I
)
_NOT_REMOTE = re.compile(r"\bhybrid\w*|\bon[ -]?site\b|\bin[ -]office\b|\bvor ort\b", re.I)
_LOOKED_AT: Final = 300  # characters
_YES: Final = frozenset(words("1 true yes y t ja oui si sí sim full fully always on"))
_NO: Final = frozenset(
    words("0 false no n f nein non não nee none never off onsite on-site office hybrid physical")
)


def says_remote(flag: str) -> bool | None:
    """By a field that is about remote work only. Hybrid work is not remote."""
    word = flag.strip().lower()
    if word in _YES:
        return True
    if word in _NO:
        return False
    return sounds_remote(word.replace("_", " "))


@lru_cache(maxsize=10_000)
def sounds_remote(text: str) -> bool | None:
    """By a location or a kind of employment; None when it says nothing about it."""
    text = text[:_LOOKED_AT]
    if _NEVER_REMOTE.search(text):
        return False
    is_elsewhere = _NOT_REMOTE.search(text) is not None
    if not _REMOTE.search(text):
        return False if is_elsewhere else None
    if _PARTLY.search(text):
        return False
    return None if is_elsewhere else True


def composed(parts: Iterable[str | None]) -> str:
    """City, region and country as one text, each once."""
    kept: list[str] = []
    for part in parts:
        if part and part not in kept:
            kept.append(part)
    return ", ".join(kept)
