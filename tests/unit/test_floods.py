"""Floods, refused before they take much to be read; and moments beyond all dates."""

from __future__ import annotations

import sys
import tracemalloc
from collections import Counter
from datetime import UTC, datetime

import pytest

from webloom.domain.errors import FeedUnreadable
from webloom.domain.page import Selection
from webloom.domain.tags import MOST_TAGS as MOST_TAGS_OF_ONE
from webloom.entrypoints.api.requests import instant
from webloom.parsing.opml import (
    MOST_AMPERSANDS,
    MOST_ATTRIBUTES,
    MOST_BARE_AMPERSANDS,
    MOST_CATEGORIES,
    MOST_LEVELS,
    MOST_TAGS,
    Outline,
    read_feeds_and_count_pages,
    read_opml,
)
from webloom.parsing.pages.selection import check_selection, choose_lines
from webloom.parsing.watch_list import read_watch_list

MEBIBYTE = 1 << 20
FEED = b'<outline xmlUrl="https://a.test/"/>'


def opml(*parts: bytes) -> bytes:
    return b"<opml><body>" + FEED + b"".join(parts) + b"</body></opml>"


def attributes(count: int) -> bytes:
    return b"".join(b" a%d=''" % each for each in range(count))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(opml(b"&" * (MOST_BARE_AMPERSANDS + 1)), "as &amp;", id="bare ampersands"),
        pytest.param(opml(b"<a/>" * MOST_TAGS), "tags", id="tags"),
        pytest.param(opml(b"&lt;" * (MOST_AMPERSANDS + 1)), "ampersands", id="entities"),
        pytest.param(
            opml(b"<outline", attributes(MOST_ATTRIBUTES + 1), b"/>"), "attributes", id="attributes"
        ),
        pytest.param(opml(b"<a>" * MOST_LEVELS), "levels deep", id="a deep nest"),
    ],
)
def test_a_flood_in_an_opml_is_refused(content: bytes, reason: str) -> None:
    with pytest.raises(FeedUnreadable, match=reason):
        read_opml(content)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(opml(b"&" * MOST_BARE_AMPERSANDS), id="bare ampersands"),
        pytest.param(opml(b"&lt;" * MOST_AMPERSANDS), id="ampersands"),
        pytest.param(opml(b"<outline", attributes(MOST_ATTRIBUTES), b"/>"), id="attributes"),
        pytest.param(opml(b'<outline text="', b"a" * MEBIBYTE * 4, b'"/>'), id="a long attribute"),
        pytest.param(opml(b"<!--", b"a" * MEBIBYTE * 4, b"-->"), id="a long comment"),
        pytest.param(opml(b"<a></a>" * (MOST_TAGS // 2 - 5)), id="many elements side by side"),
    ],
)
def test_what_is_large_but_no_flood_is_read(content: bytes) -> None:
    assert read_opml(content) == [Outline("https://a.test/", "https://a.test/")]


def test_many_categories_cost_no_more_than_their_number() -> None:
    """Those that are tags already, and those that can't be one."""
    outlines = 50
    names = ",".join([str(each) for each in range(MOST_TAGS_OF_ONE - 1)] + ["0", ""] * 1000)
    content = opml(
        *(
            b'<outline xmlUrl="https://a.test/%d" htmlUrl="https://a.test/" category="%s"/>'
            % (number, names.encode())
            for number in range(outlines)
        ),
        b'<outline htmlUrl="https://b.test/"/>' * 2,
    )
    calls: Counter[str] = Counter()

    def count(frame: object, event: str, callee: object) -> None:
        if event in ("call", "c_call"):
            calls[getattr(callee, "__name__", "Python")] += 1

    sys.setprofile(count)
    try:
        feeds, pages = read_feeds_and_count_pages(content)
    finally:
        sys.setprofile(None)
    assert pages == 1
    assert [len(each.tags) for each in feeds[1:]] == [MOST_TAGS_OF_ONE - 1] * outlines
    assert calls["ParserCreate"] == 1
    assert calls.total() < 20 * outlines * MOST_CATEGORIES


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"ab\n" * MEBIBYTE, id="lines"),
        pytest.param(b"[" + b'"ab",' * MEBIBYTE + b'"ab"]', id="JSON"),
    ],
)
def test_a_list_that_is_too_long_is_not_made_first(content: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(FeedUnreadable, match="split it"):
            read_watch_list(content)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 8 * MEBIBYTE


def test_patterns_are_bounded_together() -> None:
    """Each of them alone is not too large, and takes a quarter of a second."""
    large = [r"\p{L}" * 150 + str(each) for each in range(50)]
    check_selection(Selection(ignore_pattern=large[:1]))
    with pytest.raises(ValueError, match="all patterns together"):
        check_selection(Selection(ignore_pattern=large))


def test_many_usual_patterns_are_not_too_large() -> None:
    usual = [rf"(?i)\b(?:updated|viewed) {each} .{{0,500}} (?:times|ago)$" for each in range(50)]
    selection = Selection(ignore_pattern=usual)
    check_selection(selection)
    assert choose_lines("Viewed 49 or more times\nboots", selection) == "boots"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("0001-01-01T00:00:00+14:00", datetime.min.replace(tzinfo=UTC)),
        ("9999-12-31T23:59:59-14:00", datetime.max.replace(tzinfo=UTC)),
        ("2026-01-01T00:30:00+01:00", datetime(2025, 12, 31, 23, 30, tzinfo=UTC)),
    ],
)
def test_every_moment_has_a_date_in_utc(given: str, expected: datetime) -> None:
    """Databases can't write any other, nor compare it."""
    found = instant(datetime.fromisoformat(given))
    assert found is not None
    assert found.tzinfo is UTC
    assert found == expected
