"""Names of feeds and watches."""

from __future__ import annotations

import unicodedata

LONGEST_NAME = 200


def is_control(character: str) -> bool:
    """Whether no name and no tag may have it: a control character, or half of a character."""
    return unicodedata.category(character) in ("Cc", "Cs")


def refuse_bad_name(name: str) -> None:
    """Raises ValueError, whose text says what is wrong."""
    if len(name) > LONGEST_NAME:
        raise ValueError(f"longer than {LONGEST_NAME} characters")
    if any(map(is_control, name)):
        raise ValueError("it contains a control character")
