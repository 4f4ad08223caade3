"""The words of a text, and phrases that look for them.

A word is a run of letters and digits, in lower case and without accents. A text is found where all
its words stand in a row; with a star at its end, the last of them may go on.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from bson.max_key import MaxKey

from webloom.adapters.mongodb.documents import Document
from webloom.adapters.mongodb.indexes import Collection

MOST_WORDS = 50  # with one prefix, that an index can be asked for at once
_LAST_LETTER = "\U0010ffff"
_MOST_REMEMBERED = 5000  # characters


class _Bare(dict[int, int | None]):
    """For `str.translate`: without what stands above and below letters."""

    def __missing__(self, code: int) -> int | None:
        kept = None if unicodedata.category(chr(code)) == "Mn" else code
        if len(self) < _MOST_REMEMBERED:
            self[code] = kept
        return kept


_BARE = _Bare()
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_WORD = re.compile(r"[^\W_]+")


def words_of(text: str) -> list[str]:
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    bare = unicodedata.normalize("NFD", text).translate(_BARE)
    return _WORD.findall(bare.casefold())


@dataclass(frozen=True, slots=True)
class Phrase:
    words: tuple[str, ...]
    is_open: bool  # the last word is a beginning

    @classmethod
    def parse(cls, text: str) -> Phrase:
        return cls(tuple(words_of(text)), text.endswith("*"))

    @property
    def whole_words(self) -> tuple[str, ...]:
        return self.words[:-1] if self.is_open else self.words

    def is_in(self, text: str) -> bool:
        there, length = words_of(text), len(self.words)
        last = self.words[-1]
        for start in range(len(there) - length + 1):
            end = there[start + length - 1]
            if (end.startswith(last) if self.is_open else end == last) and tuple(
                there[start : start + length - 1]
            ) == self.words[:-1]:
                return True
        return False


async def words_with_prefix(
    collection: Collection, index: list[tuple[str, int]], prefix: str
) -> list[str] | None:
    """Hop along an index that begins with `words`; None when there are too many."""
    rest: list[tuple[str, Any]] = [(name, MaxKey()) for name, _ in index[1:]]
    words: list[str] = []
    start, end = prefix, prefix + _LAST_LETTER
    while len(words) <= MOST_WORDS:
        keys = collection.find(hint=index, return_key=True, limit=1)
        keys = keys.min([("words", start), *rest]).max([("words", end), *rest])
        found: list[Document] = await keys.to_list()
        if not found:
            return words
        words.append(found[0]["words"])
        start = words[-1] + "\0"
    return None
