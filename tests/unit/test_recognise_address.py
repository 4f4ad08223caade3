"""What is made of an address, on a web in memory and stores in a file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from fakes.page_reader import InProcessPageReader
from fakes.web import Answer, FakeWeb
from webloom.adapters.feed_process.reader import ProcessFeedReader
from webloom.application.host_turns import HostTurns
from webloom.application.inventory.check_url import check_url
from webloom.application.recognise_address import (
    FeedFound,
    PageFound,
    RecogniseAddress,
    Unreadable,
    name_of,
)
from webloom.bootstrap.connections import open_services
from webloom.domain.errors import FetchFailed, UrlRefused
from webloom.domain.network_policy import NetworkPolicy
from webloom.domain.politeness import HostLimits
from webloom.parsing.pages.page import FeedLink
from webloom.ports.page_reader import PageOrder, PageRead
from webloom.settings import load_settings

HTML = {"Content-Type": "text/html; charset=utf-8"}
XML = {"Content-Type": "application/xml"}
JSON = {"Content-Type": "application/json"}
ITEM = "<item><title>Weaver</title><guid>1</guid></item>"
RSS = f"<rss><channel><title>Loom &amp;amp; Jobs</title>{ITEM}</channel></rss>".encode()
ATOM = (
    b'<feed xmlns="http://www.w3.org/2005/Atom"><title>Atoms</title>'
    b"<entry><title>Weaver</title><id>1</id></entry></feed>"
)
JSON_FEED = b'{"title": "In JSON", "items": [{"id": "1", "title": "Weaver"}]}'
WORDS = "<p>The shuttle goes from one side of the loom to the other. </p>" * 20
PAGE = f"<!doctype html><title> A \n story </title>{WORDS}".encode()
FEEDS = b"""<!doctype html><title>Blog</title>
  <link rel=alternate type=application/rss+xml title=" All <b>posts</b>
  " href=/rss><link rel="ALTERNATE home" type="application/atom+xml; charset=utf-8" href=atom>
  <link rel=alternate type=application/feed+json href=https://other.test/feed.json title="">
  <link rel=alternate type=application/rss+xml title=Again href=/rss>
  <link rel=alternate type=text/html hreflang=de href=/de>
  <link rel=alternate type=application/rss+xml href="javascript:alert(1)">
  <link rel=stylesheet type=application/rss+xml href=/style>"""


@pytest.fixture
def web() -> FakeWeb:
    return FakeWeb()


@pytest.fixture
async def recognise(web: FakeWeb, tmp_path: Path) -> AsyncIterator[RecogniseAddress]:
    settings = load_settings({"WEBLOOM_DATA_DIR": str(tmp_path)})
    async with open_services(settings) as services:
        yield RecogniseAddress(
            check=partial(check_url, policy=NetworkPolicy.parse([])),
            downloader=web,
            feed_reader=ProcessFeedReader(processes=1),
            page_reader=InProcessPageReader(),
            turns=HostTurns(HostLimits(concurrency=8, delay=0.0)),
            spool=settings.spool,
            max_feed=1_000_000,
            feeds=services.imports.feeds,
            watches=services.watches,
            pages=services.pages,
            records=services.store,
        )
    assert not list(settings.spool.glob("*"))


@pytest.mark.parametrize(
    ("body", "headers", "format_name", "title"),
    [
        (RSS, XML, "rss", "Loom & Jobs"),
        (RSS, HTML, "rss", "Loom & Jobs"),
        (ATOM, XML, "atom", "Atoms"),
        (JSON_FEED, JSON, "json-feed", "In JSON"),
        (b"<rss><channel><title>Empty</title></channel></rss>", XML, "rss", "Empty"),
    ],
    ids=["rss", "rss called a page", "atom", "json", "empty"],
)
async def test_a_feed_is_recognised_and_named_after_its_channel(
    recognise: RecogniseAddress,
    web: FakeWeb,
    body: bytes,
    headers: dict[str, str],
    format_name: str,
    title: str,
) -> None:
    web.pages["https://jobs.test/feed"] = Answer(body=body, headers=headers)
    seen = await recognise(" <jobs.test/feed> ")
    assert isinstance(seen.found, FeedFound)
    assert (seen.url, seen.title) == ("https://jobs.test/feed", title)
    assert (seen.found.last.format, seen.found.last.is_whole) == (format_name, True)
    assert [each.title for each in seen.found.seen.postings] in (["Weaver"], [])


@pytest.mark.parametrize(
    ("body", "headers", "kind", "title"),
    [
        (PAGE, HTML, "HTML", "A story"),
        (b"<?xml version='1.0'?>" + PAGE, XML, "HTML", "A story"),
        (b"<section><title>A</title><title>B</title></section>" * 9, HTML, "HTML", None),
        (b"Plain words", {"Content-Type": "text/plain"}, "plain text", None),
        (b'{"price": 5}', JSON, "JSON", None),
        (b'[{"price": 5}, {"price": 6}]', JSON, "JSON", None),
        (b"<urlset><url><loc>https://a.test/</loc></url></urlset>", XML, "XML", None),
        (b"", HTML, "HTML", None),
    ],
    ids=["page", "xhtml", "sloppy", "plain", "json", "json without titles", "sitemap", "empty"],
)
async def test_what_is_not_a_feed_is_read_as_a_page(
    recognise: RecogniseAddress,
    web: FakeWeb,
    body: bytes,
    headers: dict[str, str],
    kind: str,
    title: str | None,
) -> None:
    web.pages["https://site.test/"] = Answer(body=body, headers=headers)
    seen = await recognise("site.test")
    assert isinstance(seen.found, PageFound)
    assert (seen.found.seen.reading.kind, seen.title) == (kind, title)


async def test_a_page_offers_its_feeds(recognise: RecogniseAddress, web: FakeWeb) -> None:
    web.pages["https://blog.test/a/b"] = Answer(body=FEEDS, headers=HTML)
    seen = await recognise("https://blog.test/a/b")
    assert isinstance(seen.found, PageFound)
    assert [link for link, _ in seen.found.feeds] == [
        FeedLink(url="https://blog.test/rss", title="All <b>posts</b>"),
        FeedLink(url="https://blog.test/a/atom", title=None),
        FeedLink(url="https://other.test/feed.json", title=None),
    ]


async def test_of_very_many_feeds_ten_are_offered(
    recognise: RecogniseAddress, web: FakeWeb
) -> None:
    link = '<link rel=alternate type=application/rss+xml title="{}" href=/{}>'
    links = "".join(link.format("x" * 10_000, number) for number in range(100))
    body = f"<!doctype html>{links}{WORDS}".encode()
    web.pages["https://blog.test/"] = Answer(body=body, headers=HTML)
    seen = await recognise("blog.test")
    assert isinstance(seen.found, PageFound)
    assert len(seen.found.feeds) == 10
    assert all(len(link.title or "") == 200 for link, _ in seen.found.feeds)


async def test_what_can_not_be_read_is_said(recognise: RecogniseAddress, web: FakeWeb) -> None:
    picture = Answer(body=b"PNG\0\1\2\3", headers={"Content-Type": "image/png"})
    web.pages["https://site.test/a.png"] = picture
    seen = await recognise("site.test/a.png")
    assert seen.title is None
    assert seen.found == Unreadable(
        reason="what was fetched is not text; the site calls it image/png"
    )


async def test_a_feed_behind_an_error_is_not_one(recognise: RecogniseAddress, web: FakeWeb) -> None:
    web.pages["https://jobs.test/feed"] = Answer(status=503, body=RSS, headers=XML)
    seen = await recognise("https://jobs.test/feed")
    assert isinstance(seen.found, PageFound)
    assert seen.found.seen.problem == "the server answered 503"


async def test_without_a_scheme_http_is_tried_if_https_has_no_connection(
    recognise: RecogniseAddress, web: FakeWeb
) -> None:
    web.pages["http://old.test/"] = Answer(body=PAGE, headers=HTML)
    assert (await recognise("old.test")).url == "http://old.test/"
    with pytest.raises(FetchFailed):
        await recognise("https://old.test/")
    with pytest.raises(FetchFailed):
        await recognise("nowhere.test")


async def test_an_answer_over_https_is_an_answer(recognise: RecogniseAddress, web: FakeWeb) -> None:
    web.pages["https://both.test/other"] = Answer(body=PAGE, headers=HTML)
    web.pages["http://both.test/"] = Answer(body=PAGE, headers=HTML)
    seen = await recognise("both.test")
    assert (seen.url, seen.status_code) == ("https://both.test/", 404)


async def test_what_the_policy_refuses_is_not_asked(
    recognise: RecogniseAddress, web: FakeWeb
) -> None:
    for address in ("10.0.0.1", "localhost:8000", "ftp://site.test/"):
        with pytest.raises(UrlRefused):
            await recognise(address)
    assert web.requested == []


async def test_the_scheme_whose_port_is_allowed_is_taken(recognise: RecogniseAddress) -> None:
    policy = NetworkPolicy.parse(["192.168.1.5:80"])
    web = FakeWeb(policy=policy)
    web.pages["http://192.168.1.5/"] = Answer(body=PAGE, headers=HTML)
    lenient = replace(recognise, downloader=web, check=partial(check_url, policy=policy))
    assert (await lenient("192.168.1.5")).url == "http://192.168.1.5/"


async def test_it_ends_when_its_time_is_up(recognise: RecogniseAddress, web: FakeWeb) -> None:
    web.pages["https://site.test/"] = Answer(body=PAGE, headers=HTML)

    class Stuck(InProcessPageReader):
        async def read(self, order: PageOrder) -> PageRead:
            await asyncio.Event().wait()
            raise AssertionError

    stuck = replace(recognise, page_reader=Stuck(), seconds=0.05)
    with pytest.raises(FetchFailed, match="not fetched and read within"):
        await stuck("site.test")


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("A story", "A story"),
        (" A\n\tstory\x00 ", "A story"),
        ("\x1b[31mred\x9b", "[31mred"),
        ("\ud800", None),
        ("", None),
        ("x" * 5000, "x" * 200),
        ("👩‍👩‍👧 family", "👩‍👩‍👧 family"),
    ],
)
def test_a_title_becomes_a_name(title: str, name: str | None) -> None:
    assert name_of(title) == name
