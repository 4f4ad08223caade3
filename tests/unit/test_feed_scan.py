"""Records are found and read back exactly, however the bytes come in."""

from __future__ import annotations

import json
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unit.feed_bodies import CLOSING, OPENING, Read, feed, item, text_of, tree_of
from webloom.parsing.feeds.element import Element
from webloom.parsing.feeds.encoding import Encoding, RecordDecoder
from webloom.parsing.feeds.entities import References
from webloom.parsing.feeds.json_items import JsonItems
from webloom.parsing.feeds.repairs import Repairs
from webloom.parsing.feeds.scan import Scanner, Skipped
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


QUICK = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@QUICK
@given(st.lists(st.lists(_NAME.flatmap(lambda name: _element(name, 2)), max_size=6), max_size=4))
def test_a_well_formed_feed_is_read_back_exactly(
    items: list[list[tuple[str, tuple[object, ...]]]],
) -> None:
    written = [f"<item>{''.join(markup for markup, _ in fields)}</item>" for fields in items]
    read = Read(feed(*[each.encode() for each in written]))
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


def scanned(first: bytes, *rest: bytes) -> tuple[list[bytes | Skipped], Repairs, bool]:
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


def _json_items(first: bytes, *rest: bytes) -> tuple[list[object], Repairs, bool]:
    pieces = iter(rest)
    repairs = Repairs()
    decoder = RecordDecoder(Encoding(first, None), repairs)
    items = JsonItems(first, lambda _: next(pieces, b""), decoder=decoder, repairs=repairs)
    read: list[object] = [
        tree_of(each) if isinstance(each, Element) else each for each in items.items()
    ]
    return read, repairs, items.is_whole


JSON = json.dumps(
    {
        "version": "https://jsonfeed.org/version/1.1",
        "title": "Jobs",
        "hubs": [{"url": "x"}],
        "items": [
            {"id": 1, "title": 'Caf\u00e9 \U0001f600 \\ "', "tags": ["a", ["b", None], "c"]},
            {"id": "2", "salary": {"min": 1e3, "max": 12345678901234567890}, "remote": True},
            {},
        ],
        "expired": False,
    },
    ensure_ascii=False,
).encode()


def test_where_json_is_cut_changes_nothing() -> None:
    expected = _json_items(JSON)
    assert expected[2]
    for cut in range(1, len(JSON)):
        assert _json_items(JSON[:cut], JSON[cut:]) == expected, cut
    assert _json_items(JSON[:1], *[JSON[at : at + 1] for at in range(1, len(JSON))]) == expected


# JSON


LINES = b'{"id": 1, "tags": ["a"]}\n\n{"id": 2}\r\n{"id": 3, "x": "}\\n{"}\n'


def test_objects_on_lines_are_items() -> None:
    read = Read(LINES)
    assert read.texts("id") == ["1", "2", "3"]
    assert read.is_whole
    assert read.repairs == {}
    expected = _json_items(LINES)
    for cut in range(LINES.index(b"2"), len(LINES)):
        assert _json_items(LINES[:cut], LINES[cut:]) == expected, cut


def test_a_line_that_is_no_json_costs_itself_only() -> None:
    read = Read(
        b'{"id": 1}\n{"id": 2, "a": [}\n{"id": "3"}\n{"id": 4, "a": "\n{"id": 5}\n{"id": 6}'
    )
    assert read.texts("id") == ["1", "3", "5", "6"]
    assert len(read.failures) == 2


def test_json_becomes_elements() -> None:
    read = Read(JSON)
    head = read.records.head
    assert head.root == "json"
    assert head.elements == {"version": "https://jsonfeed.org/version/1.1", "title": "Jobs"}
    assert head.names == ["version", "title", "hubs", "items", "id", "title", "tags"]
    first, second, third = read.items
    assert [(child.name, child.text) for child in first.children] == [
        ("id", "1"),
        ("title", 'Café \U0001f600 \\ "'),
        ("tags", "a"),
        ("tags", "b"),
        ("tags", "c"),
    ]
    salary = second.first("salary")
    assert salary is not None
    assert [(child.name, child.text) for child in salary.children] == [
        ("min", "1000.0"),
        ("max", "12345678901234567890"),
    ]
    assert text_of(second, "remote") == "true"
    assert third.children == []
    assert read.is_whole
    assert read.repairs == {}


@pytest.mark.parametrize(
    ("body", "count", "failures", "is_whole"),
    [
        (b'[{"a": 1}, {"a": 2}]', 2, 0, True),
        (b'{"data": {"jobs": [{"a": 1}]}, "x": [1]}', 1, 0, True),
        (b'[{"a": 1}, {"a": }, {"a": 2}]', 2, 1, True),
        (b'[{"a": 1}, {"a": "x" "y"}, {"a": 2},]', 2, 1, True),
        (b'[{"a": 1}, 5, {"a": 2}]', 2, 1, True),
        (b'[{"a": 1}, {"a": "2', 1, 1, False),
        (b'[{"a": 1},', 1, 0, False),
        (b'{"items": [{"a": 1}]', 1, 0, False),
        (b"[{" + b'"a":[{' * 5000 + b"}]" * 5000 + b'}, {"a": 1}]', 1, 1, True),
    ],
)
def test_broken_json(body: bytes, count: int, failures: int, is_whole: bool) -> None:
    read = Read(body)
    assert (len(read.items), len(read.failures), read.is_whole) == (count, failures, is_whole)


def test_characters_of_json_that_are_none_are_dropped() -> None:
    read = Read(b'[{"title": "a\\u0000b\\ud800c\\ud83d\\ude00"}]')
    assert read.texts("title") == ["abc\U0001f600"]
    assert read.repairs == {"control character": 2}


# Sizes


def test_a_record_that_is_too_large_is_a_failure_and_is_not_held() -> None:
    big = item(1, description=b"<![CDATA[" + b"x" * 50_000_000 + b"]]>")
    read = Read(feed(item(0), big, item(2)))
    assert read.texts("title") == ["Title 0", "Title 2"]
    assert [failure.reason for failure in read.failures] == ["the record is larger than 16 MB"]
    assert read.failures[0].sample.startswith("<item>\n<title>Title 1</title>")
    assert read.is_whole


def test_a_large_record_is_read() -> None:
    big = item(1, description=b"<![CDATA[" + b"<p>abc</p>" * 1_000_000 + b"]]>")
    read = Read(feed(item(0), big, item(2)))
    assert [len(text) for text in read.texts("description")] == [24, 10_000_000, 24]


def test_an_item_of_json_that_is_too_large() -> None:
    body = b'[{"a": "1"}, {"a": "' + b"x" * 5_000_000 + b'"}, {"a": "2"}]'
    read = Read(body, largest=1_000_000)
    assert read.texts("a") == ["1", "2"]
    assert len(read.failures) == 1


@pytest.mark.parametrize(
    "hostile",
    [
        b"<a>" * 100_000,
        b"</a>" * 100_000,
        b"<" * 150_000,
        b"&" * 150_000,
        b'<a b="' * 100_000,
        b"<![CDATA[" * 60_000,
        b"<!--" * 100_000,
        b"<item>" * 20_000,
        b"]]>" * 200_000,
        b"<?" * 200_000,
        b"".join(b"<item><a%d>" % number for number in range(5_000)),
    ],
    ids=lambda body: body[:9].decode(),
)
@pytest.mark.parametrize("is_before", [True, False])
def test_hostile_markup_costs_no_more_than_its_size(hostile: bytes, is_before: bool) -> None:
    second = hostile + item(1) if is_before else item(1, description=hostile)
    read = Read(feed(item(0), second, item(2)))
    assert read.texts("title")[0] == "Title 0"
    assert read.texts("title")[-1] == "Title 2"
