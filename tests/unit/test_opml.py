from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webloom.domain.errors import FeedUnreadable
from webloom.parsing.opml import MOST_FEEDS, Outline, read_opml, write_opml

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def opml(*outlines: str, head: str = "") -> bytes:
    return f'{head}<opml version="1.0"><body>{"".join(outlines)}</body></opml>'.encode()


def written(*feeds: Outline) -> bytes:
    return write_opml(feeds, title="Feeds", created=NOW)


def feeds_in(content: bytes) -> list[tuple[str, str]]:
    return [(each.url, each.name) for each in read_opml(content)]


def test_feeds_of_nested_outlines_are_found_in_order() -> None:
    content = opml(
        '<outline text="Jobs"><outline text="Remote">',
        '<outline type="rss" text="short" title="One &amp; only" xmlUrl=" https://a.test/1 "/>',
        "</outline>",
        '<outline text="Two" XMLURL="https://a.test/2"/></outline>',
        '<outline xmlUrl="https://a.test/3"/>',
        '<outline text="no feed" htmlUrl="https://a.test/"/>',
        '<outline text="empty" xmlUrl=""/>',
        head='\ufeff<?xml version="1.0" encoding="utf-8"?><!-- mine -->\n',
    )
    assert feeds_in(content) == [
        ("https://a.test/1", "One & only"),
        ("https://a.test/2", "Two"),
        ("https://a.test/3", "https://a.test/3"),
    ]


def test_a_feed_that_is_listed_twice_is_read_once() -> None:
    content = opml(
        '<outline text="a" xmlUrl="https://a.test/"/>',
        '<outline text="b" xmlUrl="https://a.test/"/>',
    )
    assert feeds_in(content) == [("https://a.test/", "a")]


def test_a_bare_ampersand_in_a_url_is_one() -> None:
    content = opml('<outline text="R&D &lt;3 &#38;" xmlUrl="https://a.test/?a=1&b=2&amp;c=3"/>')
    assert feeds_in(content) == [("https://a.test/?a=1&b=2&c=3", "R&D <3 &")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "windows-1252"])
def test_every_common_encoding_is_read(encoding: str) -> None:
    head = f'<?xml version="1.0" encoding="{encoding}"?>'
    text = opml('<outline text="Café" xmlUrl="https://a.test/"/>', head=head).decode()
    assert feeds_in(text.encode(encoding)) == [("https://a.test/", "Café")]


def test_an_opml_without_feeds_has_none() -> None:
    assert read_opml(opml()) == []
    assert read_opml(written()) == []


LAUGHS = (
    '<!DOCTYPE opml [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">'
    '<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]>'
)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not OPML"),
        (b"hello", "not OPML"),
        (b"<rss><channel/></rss>", "begins with <rss>"),
        (b'{"feeds": []}', "not OPML"),
        (b"\x00\xff\xfe\x01" * 100, "not OPML"),
        (opml('<outline text="&c;"/>', head=LAUGHS), "DTD"),
        (opml(head='<!DOCTYPE opml SYSTEM "file:///etc/passwd">'), "DTD"),
        (opml('<outline text="&undefined;"/>'), "broken in line 1: undefined entity"),
        (b'<opml>\n<outline text="a">\n', "broken in line 3"),
        (b'<opml><outline text="\xff"/></opml>', "broken in line 1"),
        (b'<?xml version="1.0" encoding="klingon"?><opml/>', "OPML"),
    ],
)
def test_other_documents_are_refused_with_a_reason(content: bytes, reason: str) -> None:
    with pytest.raises(FeedUnreadable, match=reason):
        read_opml(content)


def test_ten_thousand_feeds_are_read_and_one_more_is_not() -> None:
    feeds = [f'<outline xmlUrl="https://a.test/{number}"/>' for number in range(MOST_FEEDS + 1)]
    assert len(read_opml(opml(*feeds[1:]))) == MOST_FEEDS
    with pytest.raises(FeedUnreadable, match="10,000"):
        read_opml(opml(*feeds))


def test_a_deep_nest_is_read() -> None:
    depth = 990
    feed = '<outline xmlUrl="https://a.test/"/>'
    content = opml("<outline>" * depth, feed, "</outline>" * depth)
    assert feeds_in(content) == [("https://a.test/", "https://a.test/")]


@pytest.mark.parametrize(
    "name",
    [
        "R&D <b>",
        "\"double\" and 'single'",
        "Café ☕ 漢字",
        "]]>",
        "<!-- -->",
        "&amp;",
        "' onload='x",
    ],
)
def test_a_name_comes_back_as_it_was(name: str) -> None:
    feed = Outline("https://a.test/?a=1&b='2'", name)
    assert read_opml(written(feed)) == [feed]


@given(st.text(min_size=1, max_size=30))
def test_any_name_can_be_written_and_read(name: str) -> None:
    [read] = read_opml(written(Outline("https://a.test/", name)))
    if name.isprintable() and name.split():
        assert read.name == " ".join(name.split())


def test_folders_of_feed_readers_are_tags() -> None:
    content = opml(
        '<outline text="News"><outline title="Far, away"><outline xmlUrl="https://a.test/1"/>',
        f'</outline><outline text="{"x" * 51}"><outline text="no feed"/>',
        '<outline xmlUrl="https://a.test/2" category="news,b"><outline xmlUrl="https://a.test/3"/>',
        "</outline></outline></outline>",
        '<outline xmlUrl="https://a.test/4"/>',
        *[f'<outline text="folder {level}">' for level in range(50)],
        '<outline xmlUrl="https://a.test/5"/>',
        *["</outline>"] * 50,
    )
    *found, deep = [each.tags for each in read_opml(content)]
    assert found == [("News", "Far away"), ("news", "b"), ("News",), ()]
    assert deep == tuple(f"folder {level}" for level in range(20))


def test_tags_are_the_categories_of_an_outline() -> None:
    feed = Outline("https://a.test/", "A", ("on sale", "R&D <1>"))
    assert read_opml(written(feed)) == [feed]
    given = "/Boston/Weather, News ,news,, ,/," + "x" * 51 + ",\t"
    [read] = read_opml(opml(f'<outline text="a" xmlUrl="https://a.test/" category="{given}"/>'))
    assert read.tags == ("Boston/Weather", "News")
