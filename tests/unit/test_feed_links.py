"""Links of postings: relative, escaped, missing, or one of several."""

from __future__ import annotations

import pytest

from unit.feed_postings import ATOM, ReadPostings, atom_entry, rss_item


@pytest.mark.parametrize(
    ("attributes", "feed_inner", "expected"),
    [
        ('xml:base="https://b.example/a/"', '<link href="https://c.example/"/>', "b.example/a/x/1"),
        ("", '<link rel="self" href="https://s.example/f/feed"/>', "s.example/f/x/1"),
        (
            "",
            '<link rel="self" href="https://s.example/feed"/>'
            '<link rel="hub" href="https://h.example/"/><link href="https://c.example/d/"/>',
            "c.example/d/x/1",
        ),
        ("", '<link rel="self" href="https://s.example/f"/><link href="/d/"/>', "s.example/d/x/1"),
        ('xml:base="sub/"', "", "board.example/sub/x/1"),
        ("", "", "board.example/x/1"),
    ],
)
def test_relative_links_of_atom_start_from_the_base_of_the_feed(
    attributes: str, feed_inner: str, expected: str
) -> None:
    found = atom_entry('><id>1</id><title>T</title><link href="x/1"/>', feed_inner, attributes)
    assert found.job_url == f"https://{expected}"


def test_the_bases_of_an_entry_and_of_a_link_build_on_the_feeds() -> None:
    base = 'xml:base="https://b.example/a/"'
    within = 'xml:base="jobs/"><id>1</id><title>T</title>'
    assert atom_entry(f'{within}<link href="1"/>', "", base).job_url == "https://b.example/a/jobs/1"
    own = f'{within}<link xml:base="https://o.example/z/" href="1"/>'
    assert atom_entry(own, "", base).job_url == "https://o.example/z/1"


def test_the_links_of_entries_are_not_the_base() -> None:
    first = '<entry><id>0</id><title>S</title><link href="https://e.example/0"/></entry>'
    second = '<entry><id>1</id><title>T</title><link href="/1"/></entry>'
    found = ReadPostings(f"<feed {ATOM}>{first}{second}</feed>").postings[1]
    assert found.job_url == "https://board.example/1"


def test_a_base_of_rss_goes_before_the_link_of_its_channel() -> None:
    link = "<link>https://c.example/</link>"
    found = rss_item("<link>1.html</link>", link, 'xml:base="https://b.example/x/"')
    assert found.job_url == "https://b.example/x/1.html"


def test_relative_links_of_a_json_feed_without_a_page_start_from_its_own_url() -> None:
    found = ReadPostings(
        '{"version": "https://jsonfeed.org/version/1", "feed_url": "https://f.example/feed.json",'
        ' "items": [{"id": "1", "title": "T", "url": "/1"}]}'
    ).only()
    assert found.job_url == "https://f.example/1"


@pytest.mark.parametrize(
    ("guid", "expected"),
    [
        ("<guid>https://a.example/1</guid>", "https://a.example/1"),
        ('<guid isPermaLink="true">https://a.example/1</guid>', "https://a.example/1"),
        ('<guid isPermaLink="false">https://a.example/1</guid>', None),
        ("<guid>a-1</guid>", None),
        (
            "<guid>1</guid><a:link xmlns:a='http://www.w3.org/2005/Atom' rel='self' href='/s'/>"
            "<a:link href='/p'/>",
            "https://board.example/p",
        ),
    ],
)
def test_an_item_without_a_link_takes_it_from_its_guid(guid: str, expected: str | None) -> None:
    namespace = 'xmlns:a="http://www.w3.org/2005/Atom"'
    feed = f"<rss {namespace}><channel><item><title>T</title>{guid}</item></channel></rss>"
    assert ReadPostings(feed).only().job_url == expected


def test_the_type_of_a_link_may_have_a_charset() -> None:
    links = (
        '<link href="https://a.example/pdf" type="application/pdf"/>'
        '<link href="https://a.example/page" type="text/html; charset=utf-8"/>'
    )
    found = atom_entry(f"><id>1</id><title>T</title>{links}")
    assert found.job_url == "https://a.example/page"


@pytest.mark.parametrize("ampersand", ["&amp;amp;", "<![CDATA[&#038;]]>", "<![CDATA[&#x26;]]>"])
def test_an_ampersand_of_a_url_may_be_escaped_too_often(ampersand: str) -> None:
    found = rss_item(f"<link>https://a.example/?a=1{ampersand}copy=2</link>")
    assert found.job_url == "https://a.example/?a=1&copy=2"


def test_a_parameter_that_looks_like_a_reference_stays_in_the_link() -> None:
    found = ReadPostings(
        "<jobs><job><id>1</id><title>A</title><url>https://a.example/?a=1&amp=2&lt=3</url></job></jobs>"
    )
    assert found.only().job_url == "https://a.example/?a=1&amp=2&lt=3"
