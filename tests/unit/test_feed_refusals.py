"""What is refused because it is not a feed, or an attack; and feeds that are only empty."""

from __future__ import annotations

import gzip
import json

import pytest

from unit.feed_bodies import CLOSING, OPENING, ReadRecords, item
from unit.feed_postings import ReadPostings
from webloom.domain.errors import FeedUnreadable
from webloom.parsing.feeds.element import Head
from webloom.parsing.feeds.formats import detect

NOT_FEEDS = [
    ("empty", b"", "empty"),
    ("blank", b" \n\n", "empty"),
    ("only a byte order mark", b"\xef\xbb\xbf", "empty"),
    ("text", b"Service unavailable", "neither XML nor JSON"),
    ("text with brackets", b"Error (code [3])", "neither XML nor JSON"),
    ("a web page", b"<!DOCTYPE html>\n<html><body>Log in</body></html>", "web page"),
    ("a web page in XML", b'<?xml version="1.0"?><html><body/></html>', "web page"),
    ("a piece of one", b"<div>Please <b>log in</b></div>", "web page"),
    ("a picture", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0", "neither XML nor JSON"),
    ("a ZIP archive", b"PK\x03\x04abc", "ZIP archive"),
    ("gzip of nothing", gzip.compress(b""), "empty"),
    ("gzip of noise", gzip.compress(b"abc")[:10], "empty"),
    ("JSON without items", b'{"error": "no"}', "without a list"),
    ("a piece of JSON", b'{"items', "begins like JSON"),
    ("a string in JSON", b'"abc"', "neither XML nor JSON"),
    (
        "billion laughs",
        b'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><rss>&b;</rss>',
        "declares entities",
    ),
    (
        "an external entity",
        b'<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]><rss>&a;</rss>',
        "declares entities",
    ),
    ("a parameter entity", b'<!DOCTYPE r [<!ENTITY % a "b"> %a;]><rss/>', "declares entities"),
    ("a DOCTYPE without end", b"<!DOCTYPE r [<!ELEMENT a ANY>" + b" " * 70_000, "does not end"),
]


@pytest.mark.parametrize(
    ("answer", "said"), [row[1:] for row in NOT_FEEDS], ids=[row[0] for row in NOT_FEEDS]
)
def test_a_document_that_is_not_a_feed_is_refused_with_one_sentence(
    answer: bytes, said: str
) -> None:
    with pytest.raises(FeedUnreadable, match=said) as refused:
        ReadRecords(answer)
    assert "\n" not in str(refused.value)
    assert str(refused.value).endswith(".")


@pytest.mark.parametrize(
    ("root", "names", "words"),
    [
        ("html", ["html", "body"], "web page"),
        ("opml", ["opml", "head", "title", "outline", "outline"], "OPML"),
        ("urlset", ["urlset", "url", "loc", "url", "loc"], "sitemap"),
        ("envelope", ["envelope", "body", "fault"], "does not look like a feed"),
    ],
)
def test_xml_that_is_not_a_feed_is_refused_by_what_it_is(
    root: str, names: list[str], words: str
) -> None:
    with pytest.raises(FeedUnreadable, match=words):
        detect(Head(root, {}, names), "auto")


def test_an_error_message_in_xml_is_refused() -> None:
    with pytest.raises(FeedUnreadable):
        ReadPostings("<response><status>500</status></response>")


@pytest.mark.parametrize(
    "entry", [{"id": 1, "title": "Food"}, {"id": 1, "company": "Inn"}, {"title": "Food", "date": 1}]
)
def test_a_list_in_json_that_is_not_of_postings_is_refused(entry: dict[str, object]) -> None:
    with pytest.raises(FeedUnreadable):
        ReadPostings(json.dumps({"terms": [entry]}))


# Document types

DTD = b'<!DOCTYPE rss PUBLIC "-//Netscape//DTD RSS 0.91//EN" "http://x.example/rss.dtd">'


def test_a_plain_doctype_is_ignored_and_may_declare_html_entities() -> None:
    read = ReadRecords(DTD + OPENING + item(1, title=b"Caf&eacute;") + CLOSING)
    assert (read.texts("title"), read.repairs) == (["Café"], {})


def test_entities_that_stand_for_characters_are_read() -> None:
    subset = b"<!DOCTYPE rss [<!ENTITY eacute \"&#233;\"> <!ENTITY corp 'Example Inc'>]>"
    read = ReadRecords(subset + OPENING + item(1, title=b"Caf&eacute; &corp;") + CLOSING)
    assert (read.texts("title"), read.repairs) == (["Café Example Inc"], {})


def test_a_reference_that_would_name_a_file_stays_text() -> None:
    late = item(1, title=b"&xxe;") + b'<!DOCTYPE r [<!ENTITY xxe SYSTEM "file:///etc/passwd">]>'
    read = ReadRecords(OPENING + late + CLOSING)
    assert read.texts("title") == ["&xxe;"]


# Empty feeds


@pytest.mark.parametrize(
    "root",
    [
        b"<rss><channel/></rss>",
        b"<rss/>",
        b"<jobs></jobs>",
        b'<?xml version="1.0"?>\n<jobs a="b" />\n',
        b"[]",
        b'{"version": "https://jsonfeed.org/version/1.1", "items": []}',
    ],
)
def test_an_empty_feed_has_no_records_and_no_defects(root: bytes) -> None:
    read = ReadRecords(root, ("item", "job"))
    assert (read.items, read.failures, read.repairs, read.is_whole) == ([], [], {}, True)


@pytest.mark.parametrize(
    "feed",
    [
        "<jobs/>",
        "<source></source>",
        "<rss><channel/></rss>",
        "<feed/>",
        "<source><publisher>P</publisher><lastBuildDate>today</lastBuildDate></source>",
        "<source><jobs/></source>",
        "<jobs><count>0</count></jobs>",
    ],
)
def test_a_feed_without_records_gives_no_postings(feed: str) -> None:
    assert ReadPostings(feed).items == []
