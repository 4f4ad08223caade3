"""Broken feeds: every item that can be read is read, with its text, and repairs are counted."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

import pytest

from unit.feed_bodies import (
    CLOSING,
    DECLARATION,
    OPENING,
    ReadRecords,
    feed,
    feed_with,
    growth,
    item,
)
from unit.feed_postings import ReadPostings, job, rss_item

HTML = "<p>Text 50 &amp; more</p>"


class Defect(NamedTuple):
    reason: str
    body: bytes | Callable[[bytes], bytes]
    title: str = "Title 50"
    description: str = HTML
    repairs: dict[str, int] = {}  # noqa: RUF012


def title(text: bytes) -> bytes:
    return item(50, title=text)


def description(text: bytes) -> bytes:
    return item(50, description=text)


def body_of(defect: Defect) -> bytes:
    return defect.body(item(50)) if callable(defect.body) else defect.body


DEFECTS = [
    # Text
    Defect("bare &", title(b"R&D & AT&T, a && b"), "R&D & AT&T, a && b", HTML,
           {"bare ampersand": 5}),
    Defect("& in a URL", title(b"?a=1&b=2&copy=1&amp;c=3"), "?a=1&b=2&copy=1&c=3", HTML,
           {"bare ampersand": 2}),
    Defect("escaped twice", title(b"&amp;lt;b&amp;gt; &amp;amp;"), "&lt;b&gt; &amp;", HTML),
    Defect("a reference to &", title(b"&#38;lt; &#x26;amp;"), "&lt; &amp;", HTML),
    Defect("HTML's entities", title(b"Caf&eacute;&nbsp;&ndash;"), "Café\xa0\u2013", HTML,
           {"undeclared entity": 3}),
    Defect("unknown entity", title(b"a &foo; b"), "a &foo; b", HTML, {"unknown entity": 1}),
    Defect("windows-1252 by number", title(b"&#147;a&#148; &#128;"), "“a” €", HTML),
    Defect("no character", title(b"a&#0;b&#xFFFF;c&#xD800;d&#1114112;e"), "abcde", HTML,
           {"invalid character reference": 4}),
    Defect("a number too long to be one", title(b"&#" + b"9" * 5000 + b";"),
           "&#" + "9" * 5000 + ";", HTML, {"bare ampersand": 1}),
    Defect("control characters", title(b"a\x00b\x0b\x1fc"), "abc", HTML, {"control character": 3}),
    Defect("stray <", title(b"a < b <3 x<=y"), "a < b <3 x<=y", HTML, {"stray <": 3}),
    Defect("]]> in text", title(b"a ]]> b"), "a ]]> b", HTML, {"misplaced ]]>": 1}),
    Defect("line ends", title(b"a\r\nb\rc"), "a\nb\nc", HTML),
    # Encoding
    Defect("a byte of windows-1252", title(b"Caf\xe9"), "Café", HTML, {"wrong encoding": 1}),
    Defect("both", title("Übung ".encode() + b"Caf\xe9 \x80"), "Übung Café €", HTML,
           {"wrong encoding": 1}),
    Defect("a character cut in two", title("Caf€".encode()[:-1]), "Caf\xe2\u201a", HTML,
           {"wrong encoding": 1}),
    # Sections
    Defect("CDATA ends early", description(b"<![CDATA[<p>a ]]> b</p> ]]>"), "Title 50",
           "<p>a ]]> b</p> ", {"misplaced ]]>": 1}),
    Defect("CDATA that never ends", description(b"<![CDATA[<p>a</p>"), "Title 50", "<p>a</p>",
           {"unterminated section": 1}),
    Defect("CDATA of the title never ends", title(b"<![CDATA[Title"), "Title", HTML,
           {"unterminated section": 1}),
    Defect("CDATA of the first of two titles never ends",
           title(b"<![CDATA[Title</title><title><![CDATA[x]]>"), "Title", HTML,
           {"unterminated section": 1}),
    Defect("a comment that never ends", description(b"abc <!-- def"), "Title 50", "abc ",
           {"unterminated section": 1}),
    Defect("CDATA with the end of an item", description(b"<![CDATA[a</item>b]]>"), "Title 50",
           "a</item>b"),
    Defect("CDATA with items", description(b"<![CDATA[</item><item></item>\n<item>]]>"),
           "Title 50", "</item><item></item>\n<item>"),
    Defect("a comment with items", lambda usual: b"<!--<item><title>x</title></item>-->" + usual),
    Defect("a comment in an item", title(b"Ti<!-- </item><item> -->tle"), "Title", HTML),
    Defect("several CDATA", title(b"a <![CDATA[b]]> c <![CDATA[&amp;]]>&amp;"), "a b c &amp;&",
           HTML),
    # Tags
    Defect("an end tag is misspelt", title(b"Title 50</titel><title>"), "Title 50", HTML,
           {"mismatched tag": 2}),
    Defect("an end tag is missing", lambda usual: usual.replace(b"</title>", b""), "Title 50",
           HTML, {"mismatched tag": 1}),
    Defect("the end tag of the text is missing",
           lambda usual: usual.replace(b"</description>", b""), "Title 50", HTML,
           {"mismatched tag": 1}),
    Defect("end tags in another case", lambda usual: usual.replace(b"</title>", b"</TITLE>"),
           "Title 50", HTML, {"mismatched tag": 1}),
    Defect("an end tag too many", description(b"a</b>c"), "Title 50", "ac", {"mismatched tag": 1}),
    Defect("an unclosed <br>", description(b"a<br>b<br>c"), "Title 50", "a<br>b<br>c",
           {"mismatched tag": 2}),
    Defect("HTML that is no XML", description(b"<ul><li>a<li>b &nbsp;</ul><img src=x.png>&eacute;"),
           "Title 50", "<ul><li>a<li>b &nbsp;</ul><img src=x.png>&eacute;",
           {"mismatched tag": 2, "malformed tag": 1, "undeclared entity": 2}),
    Defect("crossing tags", description(b"<b><i>a</b></i>c"), "Title 50", "<b><i>a</b></i>c",
           {"mismatched tag": 2}),
    Defect("no quotes", lambda usual: usual.replace(b"<title>", b"<title lang=en checked>"),
           "Title 50", HTML, {"malformed tag": 1}),
    Defect("undeclared prefix", lambda usual: usual.replace(b"</title>", b"</title><x:y>z</x:y>"),
           "Title 50", HTML, {"undeclared prefix": 1}),
    Defect("a prefix that the item declares",
           lambda usual: usual.replace(b"</title>", b'</title><x:y xmlns:x="u">z</x:y>')),
    Defect("the end of the item is missing", lambda usual: usual.replace(b"</item>", b""),
           "Title 50", HTML, {"mismatched tag": 1}),
    Defect("the end of title and item are missing",
           lambda usual: usual.replace(b"</item>", b"").replace(b"</title>", b""),
           "Title 50", HTML, {"mismatched tag": 2}),
    Defect("the item's tags in another case",
           lambda usual: usual.replace(b"item>", b"Item>")),
    Defect("blanks in tags", lambda usual: usual.replace(b"item>", b"item\n >")),
    Defect("an item within the item",
           lambda usual: usual.replace(b"<link>", b"<s><item>x</item><item>y</item></s><link>")),
    Defect("an item as field of the item",
           lambda usual: usual.replace(b"<link>", b"<item>x</item><link>")),
    Defect("an empty item within", lambda usual: usual.replace(b"<link>", b"<item/><link>")),
    Defect("attributes", lambda usual: usual.replace(b"<item>", b'<item a="1 > 0" b=\'/\'>')),
]  # fmt: skip


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.reason)
@pytest.mark.parametrize("at", [0, 50, 99])
def test_a_defect_in_an_item_costs_no_more_than_itself(defect: Defect, at: int) -> None:
    read = ReadRecords(feed_with(body_of(defect), at=at))
    assert not read.failures
    assert len(read.items) == 100
    assert read.texts("title")[at] == defect.title
    assert read.texts("description")[at].rstrip("\n") == defect.description
    for number in set(range(100)) - {at}:
        assert read.texts("title")[number] == f"Title {number}"
        assert read.texts("link")[number] == f"https://jobs.example/{number}"
        assert read.texts("creator")[number] == f"Company {number}"
        assert read.texts("description")[number] == f"<p>Text {number} &amp; more</p>"
    assert read.repairs == defect.repairs
    assert read.is_whole


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.reason)
def test_a_defect_in_every_item_costs_none(defect: Defect) -> None:
    read = ReadRecords(feed(*[body_of(defect)] * 30))
    assert len(read.items) == 30
    assert set(read.texts("title")) == {defect.title}
    assert {text.rstrip("\n") for text in read.texts("description")} == {defect.description}


AROUND = [
    ("blank before the declaration", b"\n  ", b"", {"junk around the document": 1}),
    ("text before it", b"Warning: x\n", b"", {"junk around the document": 1}),
    ("HTML before it", b"<br />\n<b>Warning</b>: x in <b>y.php</b>", b"",
     {"junk around the document": 1}),
    ("a comment before it", b"<!-- a -->", b"", {"junk around the document": 1}),
    ("a byte order mark", b"\xef\xbb\xbf", b"", {}),
    ("a comment behind", b"", b"<!-- cached -->\n<!-- again -->", {}),
    ("an instruction behind", b"", b"<?php end ?>", {}),
    ("text behind", b"", b"0", {"junk around the document": 1}),
    ("HTML behind", b"", b"<script>x</script>", {"junk around the document": 1}),
    ("the document twice", b"", OPENING + CLOSING, {"junk around the document": 1}),
    ("NUL behind", b"", b"\0\0\0", {"control character": 3}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("before", "behind", "repairs"), [row[1:] for row in AROUND], ids=[row[0] for row in AROUND]
)
def test_what_is_around_the_document_is_skipped(
    before: bytes, behind: bytes, repairs: dict[str, int]
) -> None:
    read = ReadRecords(before + feed(item(1), item(2)) + behind)
    assert read.texts("title") == ["Title 1", "Title 2"]
    assert read.repairs == repairs
    assert read.is_whole
    assert read.records.head.root == "rss"
    assert read.records.head.elements == {"title": "Jobs", "link": "https://jobs.example/"}


def test_a_blank_before_a_root_without_declaration_is_not_a_defect() -> None:
    read = ReadRecords(b"\n" + OPENING + item(1) + CLOSING)
    assert (len(read.items), read.repairs) == (1, {})


def test_items_of_a_second_document_are_read_too() -> None:
    read = ReadRecords(feed(item(1)) + feed(item(2)))
    assert read.texts("title") == ["Title 1", "Title 2"]
    assert read.repairs == {"junk around the document": 1}


@pytest.mark.parametrize(
    ("cut", "titles"),
    [
        (b"<title>Title 2", ["Title 0", "Title 1"]),
        (b"https://jobs.example/2</link>", ["Title 0", "Title 1"]),
        (b"<item>\n<title>Title 2", ["Title 0", "Title 1"]),
    ],
)
def test_a_truncated_feed_gives_what_was_whole(cut: bytes, titles: list[str]) -> None:
    body = feed(*[item(number) for number in range(5)])
    read = ReadRecords(body[: body.index(cut) + len(cut) - 3])
    assert read.texts("title") == titles
    assert [failure.reason for failure in read.failures] == [
        "the feed ends in the middle of this record"
    ]
    assert read.failures[0].sample.startswith("<item>")
    assert read.repairs == {"truncated": 1}
    assert not read.is_whole


def test_a_feed_cut_between_items_is_not_whole_and_has_no_failure() -> None:
    read = ReadRecords(DECLARATION + OPENING + item(0) + item(1))
    assert (len(read.items), read.failures, read.is_whole) == (2, [], False)
    assert read.repairs == {"truncated": 1}


def test_the_last_item_is_read_though_its_end_is_missing() -> None:
    read = ReadRecords(feed(item(0), item(1).replace(b"</item>\n", b"")))
    assert read.texts("description")[1] == "<p>Text 1 &amp; more</p>"
    assert read.is_whole
    assert read.repairs == {"mismatched tag": 1}


def test_thousands_of_sections_that_never_end_are_read() -> None:
    read = ReadRecords(never_ending(5_000))
    assert len(read.items) == 5_000
    assert set(read.texts("description")) == {"abc"}


def test_the_work_for_sections_that_never_end_grows_no_faster_than_their_number() -> None:
    assert growth(ReadRecords, never_ending(200), never_ending(400)) < 2.1


def never_ending(count: int) -> bytes:
    return feed(*[item(1, description=b"<![CDATA[abc").replace(b"]]>", b"")] * count)


# Tags


@pytest.mark.parametrize(
    "record",
    [
        "<job><id>1</id>< title>Cook</title><company>Inn</company></job>",
        "<job><id>1</id><title>Cook</ title><company>Inn</company></job>",
        '<job><id>1</id>< title lang="en" >Cook< /title >< company >Inn</company></job>',
        "< job><id>1</id><title>Cook</title><company>Inn</company></job>",
        "<job><id>1</id><title>Cook</title><company>Inn</company></ job>",
        "<job><id>1</id><title><! [CDATA[Cook]]></title><company>Inn</company></job>",
    ],
)
def test_a_blank_behind_the_bracket_of_a_tag_changes_nothing(record: str) -> None:
    other = "<job><id>2</id><title>Waiter</title></job>"
    for body in (f"{record}{other}", f"{other}{record}"):
        read = ReadPostings(f"<jobs>{body}</jobs>")
        cook = next(each for each in read.postings if each.external_id == "1")
        assert (cook.title, cook.company) == ("Cook", "Inn")
        assert sorted(each.title for each in read.postings) == ["Cook", "Waiter"]


def test_a_feed_is_recognised_though_all_its_titles_have_a_blank_in_their_tags() -> None:
    records = "".join(f"<oferta><id>{n}</id>< tytul>A</tytul></oferta>" for n in range(3))
    read = ReadPostings(f"<oferty>{records}</oferty>")
    assert [each.title for each in read.postings] == ["A"] * 3


@pytest.mark.parametrize(
    "text",
    [
        "age < 60 and > 18",
        "a < b> c",
        "a < b > c <b>d</b>",
        "x </ y> z",
        "< br/> 1",
        "1 < 2 </p> 3",
    ],
)
def test_a_bracket_that_opens_and_closes_nothing_stays_text(text: str) -> None:
    said = job(f"<salary>{text}</salary>").salary
    expected = text.replace("<b>", "").replace("</b>", "").replace(" </p>", "")
    assert said is not None
    assert said.text == expected


def test_a_field_beside_thousands_of_brackets_with_blanks_is_read() -> None:
    body = "".join(f"< a{n}>" for n in range(50_000)) + "<! [CDATA[x]]>" * 50_000
    found = job(f"<company>Inn</company><description>{body}</description>")
    assert found.company == "Inn"


def test_a_field_whose_start_and_end_tags_differ_has_the_name_that_is_known() -> None:
    good = "".join(f"<job><id>{n}</id><title>A</title><city>Ulm</city></job>" for n in range(3))
    records = (
        "<job><id>3</id><tilte>B</title><city>Bonn</city></job>"
        "<job><id>4</id><title>C</titel><city>Bonn</city></job>"
        "<job><id>5</id><title>D</title></city><town>Bonn</town></job>"
    )
    read = ReadPostings(f"<jobs>{good}{records}</jobs>")
    found = [(each.title, each.city) for each in read.postings[3:]]
    assert found == [("B", "Bonn"), ("C", "Bonn"), ("D", "Bonn")]


@pytest.mark.parametrize("ending", ["", "</descripton>"])
def test_a_field_that_is_not_closed_ends_at_a_field_that_no_record_had_before(ending: str) -> None:
    broken = f"<description>Text{ending}<category>Food</category>"
    found = ReadPostings(
        "<rss><channel><item><title>A</title><guid>1</guid><description>B</description></item>"
        f"<item><title>C</title><guid>2</guid>{broken}</item></channel></rss>"
    ).postings[1]
    assert (found.description, found.categories) == ("Text", ["Food"])


def test_an_end_tag_may_lack_its_bracket() -> None:
    found = rss_item("<guid>g5</guid\n<pubDate>Tue, 05 Mar 2024 10:00:00 GMT</pubDate>")
    assert found.external_id == "g5"
    assert found.published_at == datetime(2024, 3, 5, 10, tzinfo=UTC)


def test_a_tag_of_one_endless_word_is_passed_over() -> None:
    record = "<item><title>T</title><guid>1</guid></item>"
    assert ReadPostings(f"<rss {'a' * 60_000}><channel>{record}").only().title == "T"


def test_cdata_may_be_written_in_lower_case() -> None:
    found = rss_item("<guid>1</guid><description><![cdata[R&D <b>a</b>]]></description>")
    assert found.description == "R&D <b>a</b>"


# References


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("Ship &amp Anchor", "Ship & Anchor"),
        ("a &lt b &amp", "a < b &"),
        ("&#55357;&#56960; Go &#xD83D;&#xDE80;", "🚀 Go 🚀"),
        ("a&#xD83D;b", "ab"),
        ("R&amp;amp;D at Caf&amp;eacute;", "R&D at Café"),
    ],
)
def test_references_are_read_as_they_are_meant(written: str, title: str) -> None:
    record = f"<job><id>1</id><title>{written}</title></job>"
    assert ReadPostings(f"<jobs>{record}</jobs>").only().title == title
