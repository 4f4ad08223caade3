"""How lists are searched.

A word is a run of letters and digits, in lower case and without accents. An item is found if every
word of the query is the beginning of one of its words, in any order. Words that the query joins
(`shop.example`) or quotes (`"senior engineer"`) stand in a row. Quoted words are whole words,
unless a star follows the last one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MOST_WORDS = 1000  # of one item that it is found by
LONGEST_WORD = 64
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
_TERM = re.compile(r'"(?P<phrase>[^"]*)"?(?P<star>\s*\*)?|(?P<joined>[^\s"]+)')


def words_of(text: str) -> list[str]:
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    bare = unicodedata.normalize("NFD", text).translate(_BARE)
    return _WORD.findall(bare.casefold())


def searchable(texts: Iterable[str]) -> str:
    """The words of an item as a text, which `Term.is_in` looks at. Words of two texts never stand
    in a row."""
    left, parts = MOST_WORDS, []
    for text in texts:
        if words := [word[:LONGEST_WORD] for word in words_of(text)[:left]]:
            parts.append(f" {' '.join(words)} ")
        left -= len(words)
        if left == 0:
            break
    return "\n".join(dict.fromkeys(parts))


@dataclass(frozen=True, slots=True)
class Term:
    """Words that stand in a row."""

    words: tuple[str, ...]
    is_open: bool  # the last word is a beginning
    text: str  # as it was given, for an index that has its own idea of words

    @property
    def whole_words(self) -> tuple[str, ...]:
        return self.words[:-1] if self.is_open else self.words

    @property
    def needle(self) -> str:
        """What `searchable` contains if the term is found."""
        words = " ".join(word[:LONGEST_WORD] for word in self.words)
        return f" {words}" if self.is_open else f" {words} "

    def is_in(self, found: str) -> bool:
        return self.needle in found


def contains(found: str, terms: Iterable[Term]) -> bool:
    """Whether what `searchable` has made contains all terms."""
    return all(term.is_in(found) for term in terms)


def is_found(texts: Sequence[str], terms: Sequence[Term]) -> bool:
    """Whether an item with these texts contains all terms. Most items that a list looks at don't:
    that is seen without splitting their texts into words."""
    joined = "\n".join(texts)
    if joined.isascii():
        lowered = joined.lower()
        if any(word[:LONGEST_WORD] not in lowered for term in terms for word in term.words):
            return False
    return contains(searchable(texts), terms)


def terms_of(query: str) -> list[Term]:
    """An item must contain all of them. A blank query has none; a query that is not blank and
    has no word has one that nothing contains."""
    terms = []
    for match in _TERM.finditer(query):
        phrase = match["phrase"]
        text = match["joined"] if phrase is None else phrase
        if words := words_of(text):
            is_open = phrase is None or match["star"] is not None or phrase.rstrip().endswith("*")
            terms.append(Term(tuple(words), is_open, text))
    if not terms and query.strip():
        return [NOTHING]
    return terms


NOTHING = Term((), is_open=False, text="")


def driving_words(terms: Sequence[Term]) -> tuple[str, bool]:
    """The longest word that an item must have, or else the longest beginning of one; and whether it
    is a beginning."""
    whole = [word for each in terms for word in each.whole_words]
    if whole:
        return max(whole, key=len), False
    return max((each.words[0] for each in terms), key=len), True
