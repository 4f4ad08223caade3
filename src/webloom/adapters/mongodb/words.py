"""The words of a URL, and texts that look for them.

A word is a run of letters and digits, in lower case and without accents. A text is found where all
its words stand in a row; with a star at its end, the last of them may go on.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

_ASCII_WORD = re.compile(r"[a-z0-9]+")
_WORD = re.compile(r"[^\W_]+")


def words_of(text: str) -> list[str]:
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    apart = unicodedata.normalize("NFD", text)
    bare = "".join(each for each in apart if unicodedata.category(each) != "Mn")
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

    def is_in(self, url: str) -> bool:
        there, length = words_of(url), len(self.words)
        last = self.words[-1]
        for start in range(len(there) - length + 1):
            end = there[start + length - 1]
            if (end.startswith(last) if self.is_open else end == last) and tuple(
                there[start : start + length - 1]
            ) == self.words[:-1]:
                return True
        return False
