"""Records are found and read back exactly, however the bytes come in."""

from __future__ import annotations

from collections.abc import Callable
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unit.feed_bodies import CLOSING, OPENING, ReadRecords, feed, growth, item, tree_of
from webloom.parsing.feeds.element import Element
from webloom.parsing.feeds.entities import References
from webloom.parsing.feeds.repairs import Repairs
from webloom.parsing.feeds.scan import Scanner, Unreadable
from webloom.parsing.feeds.tags import Tags
from webloom.parsing.feeds.tokens import Tokenizer

# Well-formed feeds

_PIECES = [
    "<",
    ">",
    "&",
    "]]>",
    "<![CDATA[",
    "&amp;",
    "</item>",
    "<item>",
    "--",
    " ",
    "\n",
    "'",
    '"',
]
_CHARACTERS = st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff")
_TEXT = st.lists(st.sampled_from(_PIECES) | _CHARACTERS, max_size=12).map("".join)
_NAME = st.sampled_from(["title", "link", "Job-Id", "dc:creator", "x.y", "itemid", "items", "é"])


@st.composite
def _written(draw: st.DrawFn, text: str) -> str:
    """The text as character data, CDATA or both."""
    way = draw(st.integers(0, 2))
    if way == 0 or (way == 1 and ("]]>" in text or "<![CDATA[" in text)):
        return escape(text)
    if way == 1:
        return f"<![CDATA[{text}]]>"
    half = len(text) // 2
    first = escape(text[:half]) + "<!-- <item> & </item> -->"
    return first + "".join(f"&#{ord(character)};" for character in text[half:])


@st.composite
def _element(draw: st.DrawFn, name: str, depth: int) -> tuple[str, tuple[object, ...]]:
    """Its markup, and what is to be read."""
    names = st.sampled_from(["a", "B", "dc:c"])
    attributes = draw(st.dictionaries(names, _TEXT, max_size=2))
    blanks = {"\t": "&#9;", "\n": "&#10;"}
    written = "".join(f" {key}={quoteattr(value, blanks)}" for key, value in attributes.items())
    prefix, _, local = name.lower().rpartition(":")
    read = {key.lower(): value for key, value in attributes.items()}
    if depth and draw(st.booleans()):
        children = draw(
            st.lists(_NAME.flatmap(lambda name: _element(name, depth - 1)), min_size=1, max_size=3)
        )
        inner = "\n".join(markup for markup, _ in children)
        nested: tuple[object, ...] = (prefix, local, read, "", [tree for _, tree in children])
        return f"<{name}{written}>{inner}</{name}>", nested
    text = draw(_TEXT)
    flat: tuple[object, ...] = (prefix, local, read, text, [])
    if not text and draw(st.booleans()):
        return f"<{name}{written}/>", flat
    return f"<{name}{written}>{draw(_written(text))}</{name} >", flat


def _without_markup(element: Element) -> tuple[object, ...]:
    children = [_without_markup(child) for child in element.children]
    return (element.prefix, element.name, element.attributes, element.text, children)


QUICK = settings(max_examples=settings().max_examples // 3)


@QUICK
@given(st.lists(st.lists(_NAME.flatmap(lambda name: _element(name, 2)), max_size=6), max_size=4))
def test_a_well_formed_feed_is_read_back_exactly(
    items: list[list[tuple[str, tuple[object, ...]]]],
) -> None:
    written = [f"<item>{''.join(markup for markup, _ in fields)}</item>" for fields in items]
    read = ReadRecords(feed(*[each.encode() for each in written]))
    assert [[_without_markup(child) for child in each.children] for each in read.items] == [
        [tree for _, tree in fields] for fields in items
    ]
    assert read.repairs == {}
    assert read.failures == []
    assert read.is_whole


@QUICK
@given(_element("item", 2))
def test_the_quick_way_reads_as_the_thorough_one(sample: tuple[str, tuple[object, ...]]) -> None:
    text = f"<item>{sample[0]}</item>"

    def read(is_thorough: bool) -> tuple[object, object]:
        repairs = Repairs()
        tags = Tags(repairs, References(repairs), ["dc"])
        tokenizer = Tokenizer(tags)
        if is_thorough:
            tokenizer._read_flat = lambda *_: False  # type: ignore[method-assign]
        return tree_of(tokenizer.parse(text)), repairs

    assert read(is_thorough=True) == read(is_thorough=False)


# Pieces

NASTY = (
    OPENING
    + item(1)
    + b"<!-- <item>no</item> -->"
    + b'<item a="x > y"><title>T &amp; R&D</title><d><![CDATA[a </item> ] ]] b]]></d></item>'
    + item(2).replace(b"</item>", b"")
    + item(3, description=b"<![CDATA[never closed")
    + b"<item/><Item\n><title>U</title></ITEM ><see/>"
    + item(4).replace(b"<link>", b"<see><item>x</item><item>y</item></see><link>")
    + item(5).replace(b"<link>", b"<item>z</item><link>")
    + item(6, title="Ünïcödé \u20ac".encode())
    + CLOSING
    + b"<!-- end -->"
)


def scanned(first: bytes, *rest: bytes) -> tuple[list[bytes | Unreadable], Repairs, bool]:
    pieces = iter(rest)
    repairs = Repairs()
    scanner = Scanner(
        first, lambda _: next(pieces, b""), root="rss", names=["item"], repairs=repairs
    )
    return list(scanner.records()), repairs, scanner.is_whole


def test_where_the_bytes_are_cut_changes_nothing() -> None:
    expected = scanned(NASTY)
    assert len(expected[0]) == 9
    assert expected[2]
    for cut in range(1, len(NASTY)):
        assert scanned(NASTY[:cut], NASTY[cut:]) == expected, cut
    assert scanned(b"", *[NASTY[at : at + 1] for at in range(len(NASTY))]) == expected


# Sizes


def test_a_record_that_is_too_large_is_a_failure_and_is_not_held() -> None:
    big = item(1, description=b"<![CDATA[" + b"x" * 50_000_000 + b"]]>")
    read = ReadRecords(feed(item(0), big, item(2)))
    assert read.texts("title") == ["Title 0", "Title 2"]
    assert [failure.reason for failure in read.failures] == ["the record is larger than 16 MB"]
    assert read.failures[0].sample.startswith("<item>\n<title>Title 1</title>")
    assert read.is_whole


def test_a_large_record_is_read() -> None:
    big = item(1, description=b"<![CDATA[" + b"<p>abc</p>" * 1_000_000 + b"]]>")
    read = ReadRecords(feed(item(0), big, item(2)))
    assert [len(text) for text in read.texts("description")] == [24, 10_000_000, 24]


def repeated(text: bytes) -> Callable[[int], bytes]:
    return lambda count: text * count


def numbered(text: bytes) -> Callable[[int], bytes]:
    return lambda count: b"".join(text % number for number in range(count))


FLOODS = {  # what floods a feed, and how much of it
    "start tags": (repeated(b"<a>"), 100_000),
    "end tags": (repeated(b"</a>"), 100_000),
    "brackets": (repeated(b"<"), 150_000),
    "ampersands": (repeated(b"&"), 150_000),
    "values without an end": (repeated(b'<a b="'), 100_000),
    "CDATA without an end": (repeated(b"<![CDATA["), 60_000),
    "comments without an end": (repeated(b"<!--"), 100_000),
    "items without an end": (repeated(b"<item>"), 20_000),
    "ends of CDATA": (repeated(b"]]>"), 200_000),
    "instructions without an end": (repeated(b"<?"), 200_000),
    "items and fields without an end": (numbered(b"<item><a%d>"), 5_000),
    "blanks in start tags": (numbered(b"< a%d>"), 50_000),
    "blanks in CDATA": (repeated(b"<! [CDATA[x]]>"), 50_000),
}


def flooded(name: str, *, is_before: bool, share: int = 1) -> bytes:
    make, count = FLOODS[name]
    flood = make(count // share)
    second = flood + item(1) if is_before else item(1, description=flood)
    return feed(item(0), second, item(2))


@pytest.mark.parametrize("name", FLOODS)
@pytest.mark.parametrize("is_before", [True, False])
def test_items_around_hostile_markup_are_read(name: str, is_before: bool) -> None:
    read = ReadRecords(flooded(name, is_before=is_before))
    assert read.texts("title")[0] == "Title 0"
    assert read.texts("title")[-1] == "Title 2"


@pytest.mark.parametrize("name", FLOODS)
@pytest.mark.parametrize("is_before", [True, False])
def test_the_work_for_hostile_markup_grows_no_faster_than_its_size(
    name: str, is_before: bool
) -> None:
    small, large = (flooded(name, is_before=is_before, share=share) for share in (50, 25))
    assert growth(ReadRecords, small, large) < 2.1
