from __future__ import annotations

from collections.abc import Sequence
from itertools import compress, count
from typing import NamedTuple

_BLANK = 0
_OTHER_SPACES = "\t\v\f\r\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
_UNTIDY = ("  ", "\n ", " \n", *_OTHER_SPACES)


class Lines(NamedTuple):
    """The lines of a text that are not blank."""

    ids: list[int]  # two lines are equal when their ids are
    numbers: Sequence[int]  # of each in the text, from 1; and the one after the last


class LineTable:
    """Every line once, with its white space normalised."""

    def __init__(self) -> None:
        self.texts: list[str] = [""]  # by id
        self._ids = {"": _BLANK}  # of lines as they are, and of normalised ones

    def read(self, text: str) -> Lines:
        raw = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._add(raw)
        ids = list(map(self._ids.__getitem__, raw))
        if _BLANK not in ids:
            return Lines(ids, range(1, len(ids) + 2))
        numbers = [*compress(count(1), ids), len(ids) + 1]
        return Lines(list(filter(None, ids)), numbers)

    def _add(self, raw: list[str]) -> None:
        ids, texts = self._ids, self.texts
        unknown = [line for line in dict.fromkeys(raw) if line not in ids]
        if _is_tidy("\n".join(unknown)):
            ids.update(zip(unknown, count(len(texts))))
            texts.extend(unknown)
            return
        for line in unknown:
            normalised = " ".join(line.split())
            if normalised not in ids:
                ids[normalised] = len(texts)
                texts.append(normalised)
            ids[line] = ids[normalised]


def _is_tidy(text: str) -> bool:
    """Whether no line has white space to normalise. Looking for it is far quicker than doing it."""
    return (
        not text.startswith(" ")
        and not text.endswith(" ")
        and not any(each in text for each in _UNTIDY)
    )
