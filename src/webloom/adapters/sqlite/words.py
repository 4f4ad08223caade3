"""Words that are searched for, in indexes of words and in columns.

FTS5 collects all rows of all words with a beginning before it returns the first; the rows of whole
words it reads as they are asked for. So a beginning is replaced by the words that have it. If they
are too many, so are their rows: then the latest rows are looked at one by one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from webloom.adapters.sqlite.batches import plain
from webloom.domain.search import Term, is_found

IS_FOUND = "is_found(search)"  # after `look_for`
MOST_WORDS = 32  # in place of a beginning
MOST_COLLECTED = 2000  # rows of a beginning that FTS5 may collect
_BEHIND_ALL = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class Expression:
    text: str  # for FTS5; empty: all rows
    rest: tuple[Term, ...] = ()  # what has to be looked for in the rows that it finds


def expression_in(connection: sqlite3.Connection, index: str, terms: Sequence[Term]) -> Expression:
    """`index` is a table of FTS5, which has its own idea of words: much the same one."""
    vocabulary = f"temp.{index}_vocabulary"
    connection.execute(
        f"CREATE VIRTUAL TABLE IF NOT EXISTS {vocabulary} USING fts5vocab(main, {index}, instance)"
    )
    found = {term: _expression_of(connection, vocabulary, term) for term in terms}
    return Expression(
        " AND ".join(each for each in found.values() if each is not None),
        tuple(term for term, each in found.items() if each is None),
    )


def _expression_of(connection: sqlite3.Connection, vocabulary: str, term: Term) -> str | None:
    """None: too many rows would be collected."""
    text = f'"{plain(term.text)}"'
    if not term.is_open:
        return text
    *before, beginning = term.words
    if not term.text.isascii():  # FTS5 folds some other letters in another way
        return f"{text} *"
    words = _words_with(connection, vocabulary, beginning)
    if 0 < len(words) <= MOST_WORDS:
        phrases = (f'"{" ".join([*before, word])}"' for word in words)
        return f"({' OR '.join(phrases)})"
    return f"{text} *" if _has_few(connection, vocabulary, beginning) else None


def _words_with(connection: sqlite3.Connection, vocabulary: str, beginning: str) -> list[str]:
    """Hop from word to word; one more than MOST_WORDS if there are more."""
    words: list[str] = []
    start, end = beginning, beginning + _BEHIND_ALL
    following = f"SELECT term FROM {vocabulary} WHERE term >= ? AND term <= ? LIMIT 1"
    while len(words) <= MOST_WORDS:
        found = connection.execute(following, (start, end)).fetchone()
        if found is None:
            break
        words.append(found[0])
        start = f"{words[-1]}\0"
    return words


def _has_few(connection: sqlite3.Connection, vocabulary: str, beginning: str) -> bool:
    rows = f"SELECT 1 FROM {vocabulary} WHERE term >= ? AND term <= ? LIMIT {MOST_COLLECTED}"
    [count] = connection.execute(
        f"SELECT count(*) FROM ({rows})", (beginning, beginning + _BEHIND_ALL)
    ).fetchone()
    return bool(count < MOST_COLLECTED)


def look_for(connection: sqlite3.Connection, terms: Sequence[Term]) -> None:
    """Make IS_FOUND true for rows whose column `search` has the terms in one of its lines."""
    look_for_each(connection, {"search": terms})


def look_for_each(
    connection: sqlite3.Connection, terms_of_each: Mapping[str, Sequence[Term]]
) -> str:
    """The name of a function that takes a text for each, with lines: whether all terms of each are
    in its text."""
    each_terms = [*terms_of_each.values()]

    @cache  # many rows have the same
    def are_found(*texts: str) -> bool:
        return all(
            is_found(text.split("\n"), terms) for text, terms in zip(texts, each_terms, strict=True)
        )

    connection.create_function("is_found", -1, are_found, deterministic=True)
    return "is_found"
