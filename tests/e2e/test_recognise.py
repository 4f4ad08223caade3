"""POST /api/recognise, against sites on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from e2e.api_client import Answer, Api, calling
from e2e.feed_site import FeedSite, item, rss
from e2e.running import Webloom, running_for_module, until, until_some
from e2e.shop_site import CAPTCHA, Served, ShopSite, article, product
from e2e.watched_site import ALLOWED

APP = (
    "<!doctype html><title>Shop</title><noscript>You need to enable JavaScript.</noscript>"
    '<div id=root></div><script src="/app.js"></script>'
)


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webloom]:
    data_dir = tmp_path_factory.mktemp("recognise") / "data"
    with running_for_module("up", data_dir=data_dir, allow_addresses=ALLOWED) as it:
        yield it
        assert "Traceback" not in it.log


@pytest.fixture
async def api(process: Webloom) -> AsyncIterator[Api]:
    async with calling(process) as api:
        yield api


@pytest.fixture
async def feeds() -> AsyncIterator[FeedSite]:
    async with FeedSite() as site:
        yield site


@pytest.fixture
async def shop() -> AsyncIterator[ShopSite]:
    async with ShopSite() as site:
        yield site


async def recognise(api: Api, address: str) -> Answer:
    return await api.call("POST", "/api/recognise", json={"address": address})


async def recognised(api: Api, address: str) -> dict[str, Any]:
    answer = await recognise(api, address)
    assert answer.status == 200, answer.text
    body: dict[str, Any] = answer.body
    return body


NOTHING: dict[str, Any] = {"feed": None, "watches": [], "record": None}


async def test_a_feed_without_a_scheme_is_fetched_and_named(api: Api, feeds: FeedSite) -> None:
    feeds.feed = rss(*(item(number) for number in range(7)), item(8, title=""))
    seen = await recognised(api, f" <{feeds.url('/feed').removeprefix('http://')}>\n")
    sample = seen["feed"].pop("sample")
    assert [each["title"] for each in sample] == [f"Job {number}" for number in range(5)]
    assert seen == {
        "kind": "feed",
        "url": feeds.url("/feed"),
        "statusCode": 200,
        "title": "Jobs",
        "feed": {"format": "rss", "items": 8, "isWhole": True, "failed": 1},
        "page": None,
        "problem": None,
        "known": NOTHING,
    }
    assert [request.path for request in feeds.requests] == ["/feed"]
    for stored in ("/api/feeds", "/api/watches", "/metadata/records"):
        assert (await api.call("GET", stored)).body["data"] == []


async def test_a_page_is_shown_with_price_and_feeds(api: Api, shop: ShopSite) -> None:
    link = '<link rel=alternate type="application/rss+xml" title="News" href="/news.xml">'
    page = product("49.90", stock="OutOfStock")
    shop.pages["/loom"] = Served(body=page.body.replace("<title>", f"{link}<title>"))
    seen = await recognised(api, shop.url("/redirect?to=/loom"))
    assert seen["page"]["classification"].pop("reasons")
    assert seen["page"]["classification"].pop("confidence") > 0.5
    assert seen == {
        "kind": "page",
        "url": shop.url("/loom"),
        "statusCode": 200,
        "title": "Loom",
        "feed": None,
        "page": {
            "feeds": [{"url": shop.url("/news.xml"), "title": "News", "known": None}],
            "price": {"current": 49.9, "list": None, "currency": "EUR", "source": "json-ld"},
            "availability": "out_of_stock",
            "classification": {"type": "product"},
            "needsJavascript": None,
        },
        "problem": None,
        "known": NOTHING,
    }


async def test_a_page_of_scripts_says_so_here_and_in_the_preview(api: Api, shop: ShopSite) -> None:
    shop.pages["/app"] = Served(body=APP)
    reason = (
        "The text of this page appears only with JavaScript, which Webloom does not run: it says "
        "“You need to enable JavaScript”."
    )
    seen = await recognised(api, shop.url("/app"))
    assert seen["page"]["needsJavascript"] == reason
    preview = await api.call("POST", "/api/watches/preview", json={"url": shop.url("/app")})
    assert preview.body["needsJavascript"] == reason
    expected = {"type": "other", "confidence": 0.0, "reasons": [reason]}
    assert preview.body["classification"] == seen["page"]["classification"] == expected


@pytest.mark.parametrize(
    ("served", "kind", "problem"),
    [
        (Served(body=CAPTCHA), "page", "a wall was served instead of the page"),
        (Served(body="<title>Gone</title>", status=410), "page", "the server answered 410"),
        (Served(body="PNG\0\1\2\3"), "other", "what was fetched is not text"),
    ],
    ids=["wall", "gone", "picture"],
)
async def test_what_is_of_no_use_says_why(
    api: Api, shop: ShopSite, served: Served, kind: str, problem: str
) -> None:
    shop.pages["/page"] = served
    seen = await recognised(api, shop.url("/page"))
    assert (seen["kind"], seen["statusCode"]) == (kind, served.status)
    assert seen["problem"].startswith(problem)


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("", "This address can't be fetched: the address is empty."),
        ("a.example\nb.example", "This address can't be fetched: there is more than one line"),
        ("10.0.0.1/jobs", "This address can't be fetched: 10.0.0.1 is a private address"),
        ("mailto:me@example.com", "This address can't be fetched: the URL must begin with http"),
        ("x" * 60_000, "This address can't be fetched: the address is longer"),
        ("127.1.0.1:9", "This address can't be fetched: port 9 of 127.1.0.1"),
    ],
    ids=["empty", "two", "private", "mail", "long", "port"],
)
async def test_what_is_not_an_address_is_refused_with_a_sentence(
    api: Api, address: str, reason: str
) -> None:
    answer = await recognise(api, address)
    assert answer.is_problem(422, reason)
    assert answer.body["detail"].endswith(".")


async def test_a_site_that_does_not_answer_is_said(api: Api, shop: ShopSite) -> None:
    answer = await recognise(api, shop.url("/reset"))
    assert answer.is_problem(422, "This address can't be fetched: the connection was lost")


async def test_hostile_titles_are_text_and_short(api: Api, shop: ShopSite) -> None:
    title = "&lt;script&gt;alert(1)&lt;/script&gt;\n\x07" + "x" * 10_000
    shop.pages["/page"] = article("Words", title=title)
    seen = await recognised(api, shop.url("/page"))
    assert seen["title"] == ("<script>alert(1)</script> " + "x" * 10_000)[:200]
    added = await api.call(
        "POST",
        "/api/watches",
        json={"url": seen["url"], "name": seen["title"], "enabled": False},
    )
    assert added.status == 201, added.text


async def test_what_webloom_has_already_is_said(api: Api, shop: ShopSite, feeds: FeedSite) -> None:
    page, feed = shop.url("/known"), feeds.url("/feed")
    feeds.feed = rss(item(1))
    link = f'<link rel=alternate type="application/rss+xml" href="{feed}">'
    shop.pages["/known"] = Served(body=f"<!doctype html>{link}{article('Words').body}")
    added = await api.call("POST", "/api/feeds", json={"url": feed, "name": "My feed"})
    known_feed = {"feedId": added.body["feedId"], "name": "My feed"}
    assert (await recognised(api, feed))["known"] == NOTHING | {"feed": known_feed}
    seen = await recognised(api, page)
    assert seen["page"]["feeds"] == [{"url": feed, "title": None, "known": known_feed}]
    assert seen["known"] == NOTHING

    watch = await api.call("POST", "/api/watches", json={"url": page, "name": "My watch"})
    await api.call("POST", "/metadata", json={"url": page})

    async def known() -> dict[str, Any] | None:
        it: dict[str, Any] = (await recognised(api, shop.url("/redirect?to=/known")))["known"]
        return it if it["watches"] and it["record"] == "COMPLETED" else None

    assert await until_some(known) == {
        "feed": None,
        "watches": [{"jobId": watch.body["jobId"], "name": "My watch"}],
        "record": "COMPLETED",
    }
    await api.call("DELETE", f"/api/watches/{watch.body['jobId']}")
    assert (await recognised(api, page))["known"]["watches"] == []


async def test_it_counts_as_a_preview_of_a_page(api: Api, shop: ShopSite) -> None:
    waiting = [asyncio.create_task(recognise(api, shop.url("/gated"))) for _ in range(2)]
    await until(lambda: len(shop.watch.starts) == 2)
    refused = await recognise(api, shop.url("/page"))
    assert refused.is_problem(503, "2 previews of pages")
    shop.opened.set()
    assert [each.status for each in await asyncio.gather(*waiting)] == [200, 200]
