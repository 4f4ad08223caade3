"""Fast paths of reading a page give the same result as the slow ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from webloom.diffs.align import _in_place
from webloom.diffs.steps import Steps
from webloom.parsing.pages.addresses import Base
from webloom.parsing.pages.wall_words import ERROR_WORDS, WALL_WORDS
from webloom.parsing.text_decoding import decode
from webloom.parsing.web_url import join, normalise

BODIES = [
    ("Café".encode(), None, True, "valid UTF-8"),
    ("Café".encode("latin-1"), "text/html; charset=utf-8", False, "bytes that are no UTF-8"),
    ("Café".encode("latin-1"), "text/html; charset=iso-8859-1", False, "another codec"),
    ("Café".encode("utf-16"), None, False, "UTF-16"),
]


@pytest.mark.parametrize(
    ("body", "kind", "is_utf8"),
    [row[:3] for row in BODIES],
    ids=[row[3] for row in BODIES],
)
def test_a_body_is_reused_as_utf8_only_if_it_is_valid(
    body: bytes, kind: str | None, is_utf8: bool
) -> None:
    decoded = decode(body, kind)
    assert decoded is not None
    assert (decoded.utf8 is not None) == is_utf8
    if decoded.utf8 is not None:
        assert decoded.utf8.decode() == decoded.text


@pytest.mark.parametrize(
    "address", ["x.php", "./x", "./x?a=b", "a/b.html", "/c%C3%A9", "../up", "a/../b"]
)
@pytest.mark.parametrize("page", ["http://shop.test/a/b?q=1", "http://shop.test/"])
def test_an_address_is_joined_as_by_the_book(page: str, address: str) -> None:
    base = Base(LexborHTMLParser("<html></html>"), page)
    assert base.absolute(address) == normalise(join(page, address))


WORDS = [
    (WALL_WORDS, "Just a moment...", True),
    (WALL_WORDS, "JUST A MOMENT", True),
    (WALL_WORDS, "ZUGRIFF VERWEIGERT", True),
    (WALL_WORDS, "Доступ ЗАПРЕЩЁН", True),
    (WALL_WORDS, "人机验证", True),
    (WALL_WORDS, "404 not found", False),
    (ERROR_WORDS, "404 not found", True),
    (ERROR_WORDS, "- 404 -", True),
    (ERROR_WORDS, "Модель 404", False),
    (ERROR_WORDS, "Just a moment...", False),
]


@pytest.mark.parametrize(("words", "text", "is_found"), WORDS)
def test_words_of_walls_and_errors_are_found_whatever_their_case(
    words: Any, text: str, is_found: bool
) -> None:
    assert bool(words.search(text)) == is_found


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(3, 7)), max_size=12))
def test_nothing_can_have_more_in_common_than_what_changed_in_place(
    pairs: list[tuple[int, int]],
) -> None:
    old, new = [one for one, _ in pairs], [other for _, other in pairs]
    blocks = _in_place(old, new, Steps(100_000))
    if blocks is not None:
        for place, other, length in blocks:
            assert old[place : place + length] == new[other : other + length]
        assert sum(block.length for block in blocks) == _longest(old, new)


def _longest(old: list[int], new: list[int]) -> int:
    row = [0] * (len(new) + 1)
    for item in old:
        before = row[:]
        for place, other in enumerate(new):
            row[place + 1] = (
                before[place] + 1 if item == other else max(before[place + 1], row[place])
            )
    return row[-1]
