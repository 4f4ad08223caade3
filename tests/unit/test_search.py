"""What a word is, and what finds it. tests/contracts/search_examples.py has more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.search_examples import ACCENTED, EXAMPLES, OF_ACCENTED, TEXT
from webloom.domain.search import (
    LONGEST_WORD,
    MOST_WORDS,
    contains,
    is_found,
    searchable,
    terms_of,
    words_of,
)

WORDS = [
    ("http://Site.Example/Path-1_2?q=3", ["http", "site", "example", "path", "1", "2", "q", "3"]),
    ("Ärger in der Straße", ["arger", "in", "der", "strasse"]),
    ("A\u0308B caf\u00e9 nai\u0308ve", ["ab", "cafe", "naive"]),
    ("ΑΒΓ 東京 ٣٤", ["αβγ", "東京", "٣٤"]),
    ("%C3%A4", ["c3", "a4"]),
    ("", []),
    ("-_./", []),
]


@pytest.mark.parametrize(("text", "words"), WORDS, ids=[ascii(row[0])[:20] for row in WORDS])
def test_words_are_letters_and_digits_without_case_and_accents(text: str, words: list[str]) -> None:
    assert words_of(text) == words


@pytest.mark.parametrize(
    ("text", "examples"), [(TEXT, EXAMPLES), (ACCENTED, OF_ACCENTED)], ids=["plain", "accents"]
)
def test_every_word_of_a_query_is_the_beginning_of_a_word(
    text: str, examples: dict[str, bool]
) -> None:
    found = searchable(["before", text, "behind"])
    assert {query: contains(found, terms_of(query)) for query in examples} == examples


def test_words_of_two_texts_do_not_stand_in_a_row() -> None:
    found = searchable(["one", "", "two"])
    assert not contains(found, terms_of('"one two"'))
    assert contains(found, terms_of("one two"))


def test_what_is_searched_is_bounded() -> None:
    many = searchable(f"word{number} {'x' * 1000}" for number in range(10_000))
    assert len(many) < MOST_WORDS * (LONGEST_WORD + 3)
    assert contains(many, terms_of("word1"))
    assert contains(many, terms_of("x" * 500))
    assert contains(many, terms_of(f'"word2 {"x" * 1000}"'))


@given(
    st.lists(st.text(st.sampled_from("aB1é. \n\u0130\uff21"), max_size=12), max_size=3),
    st.lists(st.sampled_from(["a", "b", "a.b", '"a b"', '"b"', '"a b*"', "é", "i"]), max_size=3),
)
def test_what_is_found_at_a_glance_is_what_its_words_contain(
    texts: list[str], queries: list[str]
) -> None:
    terms = terms_of(" ".join(queries))
    assert is_found(texts, terms) == contains(searchable(texts), terms)


def test_a_long_word_is_found_by_its_beginning_at_a_glance() -> None:
    assert is_found(["x" * 100], terms_of("X" * 80))
