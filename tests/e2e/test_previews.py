"""Previews of feeds and watches: a real process, sites on loopback."""

from __future__ import annotations

import asyncio
import gzip
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message

from bombs import bomb
from e2e.api_client import Answer, Api, calling
from e2e.feed_site import FeedSite, item, rss
from e2e.hostile_site import PAGE
from e2e.running import Webloom, running_for_module, until, until_some
from e2e.shop_site import CAPTCHA, Served, ShopSite, article, product
from e2e.watched_site import ALLOWED
from webloom.application.imports.clear_spool import PAGE_SECONDS
from webloom.bootstrap.connections import open_services
from webloom.entrypoints.api.admin_schemas import FeedPreviewBody
from webloom.entrypoints.api.context import preview_slots
from webloom.entrypoints.api.previews import preview_feed
from webloom.settings import load_settings

MEBIBYTE = 1024 * 1024
LAUGHS = (
    b'<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;">'
    b'<!ENTITY c "&b;&b;&b;&b;">]><rss><channel><item><title>&c;</title></item></channel></rss>'
)


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webloom]:
    data_dir = tmp_path_factory.mktemp("previews") / "data"
    with running_for_module("api", data_dir=data_dir, allow_addresses=ALLOWED) as it:
        yield it
        assert "Traceback" not in it.log


@pytest.fixture
async def api(process: Webloom) -> AsyncIterator[Api]:
    """Whatever a test asks for, nothing of it stays in the spool."""
    async with calling(process) as api:
        yield api
    spool = process.data_dir / "spool"
    await until(lambda: not list(spool.glob("*")), what="an empty spool")


@pytest.fixture
async def feeds() -> AsyncIterator[FeedSite]:
    async with FeedSite() as site:
        yield site


@pytest.fixture
async def shop() -> AsyncIterator[ShopSite]:
    async with ShopSite() as site:
        yield site


async def feed_preview(api: Api, url: str, **fields: Any) -> Answer:
    return await api.call("POST", "/api/feeds/preview", json={"url": url, **fields})


async def page_preview(api: Api, url: str, **selection: Any) -> Answer:
    body = {"url": url, "selection": selection}
    return await api.call("POST", "/api/watches/preview", json=body)


# Feeds.


async def test_a_feed_is_shown_as_it_would_be_imported_and_nothing_is_stored(
    api: Api, feeds: FeedSite
) -> None:
    feeds.feed = rss(
        item(1, "Weaver", category="Crafts"), item(1), item(2, title=""), item(3, "Spinner")
    )
    answer = await feed_preview(api, feeds.url("/feed").replace("http:", "HTTP:"))
    assert answer.status == 200, answer.text
    seen = answer.body
    postings, failures = seen.pop("postings"), seen.pop("failures")
    assert sum(seen.pop("failureReasons").values()) == 1
    assert seen == {
        "url": feeds.url("/feed"),
        "format": "rss",
        "bytes": len(feeds.feed),
        "isWhole": True,
        "isCut": False,
        "fetched": 4,
        "duplicates": 1,
        "failed": 1,
        "repairs": {},
    }
    assert [each["title"] for each in postings] == ["Weaver", "Spinner"]
    assert postings[0] == {
        "title": "Weaver",
        "externalId": "job-1",
        "jobUrl": "https://jobs.test/1",
        "categories": ["Crafts"],
        "publishedAt": "2026-11-02T10:00:00Z",
        **dict.fromkeys(("company", "location", "remote", "jobType", "salary")),
        **dict.fromkeys(("description", "expiresAt")),
    }
    assert [each["index"] for each in failures] == [2]
    for stored in ("/api/feeds", "/api/jobs", "/api/import-logs"):
        assert (await api.call("GET", stored)).body["data"] == []


async def test_a_feed_is_read_by_its_format_and_mapping(api: Api, feeds: FeedSite) -> None:
    one = "<stelle><wer>Tuch AG</wer><was>Weber</was><nr>7</nr></stelle>"
    feeds.feed = f"<stellen>{one}{one.replace('7', '8')}</stellen>".encode()
    mapping = {"title": "was", "company": "wer", "externalId": "nr"}
    answer = await feed_preview(api, feeds.url("/feed"), format="generic", mapping=mapping)
    assert answer.status == 200, answer.text
    assert [
        (each["title"], each["company"], each["externalId"]) for each in answer.body["postings"]
    ] == [("Weber", "Tuch AG", "7"), ("Weber", "Tuch AG", "8")]


async def test_of_a_long_feed_the_beginning_is_shown(api: Api, feeds: FeedSite) -> None:
    feeds.feed = rss(*(item(number, "" if number % 2 else None) for number in range(6000)))
    seen = (await feed_preview(api, feeds.url("/feed"))).body
    assert (seen["isWhole"], seen["isCut"]) == (False, True)
    assert 2000 <= seen["fetched"] < 2300
    assert seen["failed"] * 2 == pytest.approx(seen["fetched"], abs=2)
    assert [each["title"] for each in seen["postings"]] == [f"Job {2 * n}" for n in range(20)]
    assert [each["index"] for each in seen["failures"]] == [2 * n + 1 for n in range(20)]


async def test_a_feed_that_ends_too_early_is_not_the_beginning_of_a_larger_one(
    api: Api, feeds: FeedSite
) -> None:
    feeds.feed = rss(item(1), item(2)).removesuffix(b"</channel></rss>")
    seen = (await feed_preview(api, feeds.url("/feed"))).body
    assert (seen["isWhole"], seen["isCut"], seen["fetched"]) == (False, False, 2)


@pytest.mark.parametrize("is_packed", [False, True], ids=["plain", "gzip"])
async def test_of_a_large_feed_the_beginning_is_fetched(
    api: Api, feeds: FeedSite, is_packed: bool
) -> None:
    """Whether it states its length or not."""
    words = os.urandom(48 * 1024).hex()  # which can't be packed much
    feeds.feed = rss(*(item(number, description=words) for number in range(400)))
    assert len(feeds.feed) > 32 * MEBIBYTE
    if is_packed:
        feeds.feed = gzip.compress(feeds.feed, 1)
    answer = await feed_preview(api, feeds.url("/feed"))
    assert answer.status == 200, answer.text
    seen = answer.body
    assert (seen["isWhole"], seen["isCut"]) == (False, True)
    assert seen["bytes"] == 16 * MEBIBYTE
    assert 0 < seen["fetched"] < 400
    assert len(seen["postings"]) == 20


@pytest.mark.parametrize(
    "wrong",
    [
        {"url": "ftp://feeds.test/jobs.xml"},
        {"url": "http://10.0.0.1/jobs.xml"},
        {"url": "http://localhost:9/jobs.xml"},
        {"url": "https://feeds.test/", "format": "carved"},
        {"url": "https://feeds.test/", "mapping": {"tittle": "was"}},
        {"url": "https://feeds.test/", "mapping": {"title": ""}},
    ],
    ids=["scheme", "private", "localhost", "format", "field", "path"],
)
async def test_what_can_not_be_added_is_refused_with_the_same_words(
    api: Api, wrong: dict[str, Any]
) -> None:
    added = await api.call("POST", "/api/feeds", json=wrong)
    shown = await api.call("POST", "/api/feeds/preview", json=wrong)
    assert added.status == shown.status == 422
    assert shown.body["detail"] == added.body["detail"]


async def test_an_address_without_a_scheme_is_previewed_as_it_would_be_added(api: Api) -> None:
    for path in ("/api/feeds", "/api/watches"):
        refused = await api.call("POST", f"{path}/preview", json={"url": "10.0.0.1/jobs"})
        assert refused.is_problem(422, "10.0.0.1 is a private address"), refused.text


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/status?code=500", "can't be fetched: the server answered 500."),
        ("/status?code=404", "can't be fetched: the server answered 404."),
        ("/redirect?to=http://127.0.0.1:9/", "can't be fetched: 127.0.0.1"),
        ("/reset", "can't be fetched: the connection was lost"),
        ("/page", "can't be read. The answer is a web page"),
        ("/text?body=", "can't be read. The answer is empty"),
        ("/endless-body", "can't be read. The answer is neither XML nor JSON"),
        ("/bomb?encoding=gzip&mebibytes=200", "can't be read. "),
    ],
)
async def test_a_preview_of_something_else_than_a_feed_says_so(
    api: Api, feeds: FeedSite, path: str, reason: str
) -> None:
    answer = await feed_preview(api, feeds.url(path))
    assert answer.is_problem(422, f"This feed {reason}")
    assert answer.body["detail"].endswith(".")


@pytest.mark.parametrize("hostile", [LAUGHS, bomb("gzip", 200)], ids=["entities", "zeros"])
async def test_a_hostile_feed_is_refused(api: Api, feeds: FeedSite, hostile: bytes) -> None:
    feeds.feed = hostile
    answer = await feed_preview(api, feeds.url("/feed"))
    assert answer.is_problem(422, "This feed can't be read. ")


async def test_two_feeds_are_previewed_at_a_time(api: Api, feeds: FeedSite) -> None:
    waiting = [asyncio.create_task(feed_preview(api, feeds.url("/gated"))) for _ in range(2)]
    await until(lambda: len(feeds.watch.starts) == 2)
    refused = await feed_preview(api, feeds.url("/feed"))
    assert refused.is_problem(503, "2 previews of feeds")
    assert int(refused.headers["retry-after"]) > 0
    assert (await page_preview(api, feeds.url("/page"))).status == 200

    waiting[0].cancel()  # which closes its connection

    async def preview() -> Answer | None:
        answer = await feed_preview(api, feeds.url("/feed"))
        return None if answer.status == 503 else answer

    assert (await until_some(preview)).status == 200
    feeds.opened.set()
    assert (await waiting[1]).status == 422  # as it is a page
    with pytest.raises(asyncio.CancelledError):
        await waiting[0]


async def test_a_preview_is_cancelled_when_the_client_disconnects(
    feeds: FeedSite, tmp_path: Path
) -> None:
    async def receive() -> Message:
        await until(lambda: bool(feeds.watch.starts))
        return {"type": "http.disconnect"}

    env = {"WEBLOOM_DATA_DIR": str(tmp_path), "WEBLOOM_ALLOW_ADDRESSES": ALLOWED}
    settings = load_settings(env)
    async with open_services(settings) as services:
        request = Request({"type": "http", "method": "POST", "headers": []}, receive)
        context: Any = SimpleNamespace(services=services, feed_previews=preview_slots("feeds"))
        with pytest.raises(ClientDisconnect):
            await preview_feed(request, context, FeedPreviewBody(url=feeds.url("/gated")))
    assert not list(settings.spool.iterdir())


# Pages.


async def test_a_page_is_shown_as_a_watch_would_see_it(api: Api, shop: ShopSite) -> None:
    shop.pages["/loom"] = product("49.90", stock="OutOfStock")
    answer = await page_preview(api, shop.url("/redirect?to=/loom"))
    assert answer.status == 200, answer.text
    seen = answer.body
    assert seen["classification"].pop("reasons")
    assert seen["classification"].pop("confidence") > 0.5
    text = seen.pop("text")
    assert "49.90 EUR" in text
    assert seen == {
        "url": shop.url("/loom"),
        "statusCode": 200,
        "title": "Loom",
        "lines": len(text.splitlines()),
        "isCut": False,
        "price": {"current": 49.9, "list": None, "currency": "EUR", "source": "json-ld"},
        "availability": "out_of_stock",
        "classification": {"type": "product"},
        "problem": None,
        "needsJavascript": None,
    }
    assert '"current":49.90,' in answer.text  # with the digits that the shop wrote
    assert (await api.call("GET", "/api/watch/pages")).body["data"] == []


async def test_of_a_page_only_what_is_selected_is_shown(api: Api, shop: ShopSite) -> None:
    shop.pages["/story"] = article("Once upon a time.", aside="Beside<p>the story")
    seen = (await page_preview(api, shop.url("/story"), keep=["#aside"])).body
    assert (seen["text"], seen["lines"]) == ("Beside\nthe story", 2)


async def test_of_a_long_page_the_beginning_is_shown(api: Api, shop: ShopSite) -> None:
    shop.pages["/long"] = Served(body="<!doctype html><main>" + "<p>Warp and weft" * 10_000)
    seen = (await page_preview(api, shop.url("/long"), keep=["main"])).body
    assert seen["isCut"]
    assert (len(seen["text"]), seen["lines"]) == (50_000, 10_000)


@pytest.mark.parametrize(
    ("served", "problem"),
    [
        (Served(body=CAPTCHA), "a wall was served instead of the page: "),
        (Served(body=CAPTCHA, status=403), "the server answered 403: it refuses the request"),
        (Served(body="<title>Gone</title>", status=410), "the server answered 410"),
        (Served(body="", status=500), "the server answered 500"),
    ],
    ids=["wall", "refused", "gone", "no body"],
)
async def test_a_preview_shows_why_a_check_would_fail(
    api: Api, shop: ShopSite, served: Served, problem: str
) -> None:
    shop.pages["/page"] = served
    answer = await page_preview(api, shop.url("/page"))
    assert answer.status == 200, answer.text
    assert answer.body["statusCode"] == served.status
    assert answer.body["problem"].startswith(problem)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/redirect?to=http://127.0.0.1:9/", "This page can't be fetched: 127.0.0.1"),
        ("/picture", "This page can't be read: what was fetched is not text"),
        ("/broken-picture", "This page can't be read: the server answered 500."),
        ("/bomb?encoding=gzip&mebibytes=100", "This page can't be fetched: the body is larger"),
    ],
)
async def test_a_preview_of_something_else_than_a_page_says_so(
    api: Api, shop: ShopSite, path: str, reason: str
) -> None:
    shop.pages["/picture"] = Served(body="PNG\0\1\2\3")
    shop.pages["/broken-picture"] = Served(body="PNG\0\1\2\3", status=500)
    assert (await page_preview(api, shop.url(path))).is_problem(422, reason)


async def test_a_selection_is_refused_as_that_of_a_watch_is(api: Api, shop: ShopSite) -> None:
    for selection in ({"keep": ["p["]}, {"ignorePattern": ["("]}, {"drop": [" "]}):
        wrong = {"url": shop.url("/page"), "selection": selection}
        added = await api.call("POST", "/api/watches", json=wrong)
        shown = await api.call("POST", "/api/watches/preview", json=wrong)
        assert added.status == shown.status == 422
        assert shown.body["detail"] == added.body["detail"]
    private = await page_preview(api, "http://10.0.0.1/")
    assert private.is_problem(422, "This URL can't be fetched: 10.0.0.1")


async def test_a_selector_that_finds_nothing_is_reported_unless_the_page_is_a_wall(
    api: Api, shop: ShopSite
) -> None:
    shop.pages["/wall"] = Served(body=CAPTCHA)
    missing = await page_preview(api, shop.url("/page"), keep=["#price"])
    assert missing.is_problem(422, "'#price' finds nothing on the page")
    wall = await page_preview(api, shop.url("/wall"), keep=["#price"])
    assert wall.body["problem"].startswith("a wall was served")


async def test_two_pages_are_previewed_at_a_time(api: Api, shop: ShopSite) -> None:
    waiting = [asyncio.create_task(page_preview(api, shop.url("/gated"))) for _ in range(2)]
    await until(lambda: len(shop.watch.starts) == 2)
    refused = await page_preview(api, shop.url("/page"))
    assert refused.is_problem(503, "2 previews of pages")
    shop.opened.set()
    assert [each.status for each in await asyncio.gather(*waiting)] == [200, 200]
    assert (await page_preview(api, shop.url("/page"))).status == 200


async def test_a_preview_that_the_end_of_the_process_cuts_off_is_cleared_away_later(
    tmp_path: Path,
) -> None:
    settings = load_settings({"WEBLOOM_DATA_DIR": str(tmp_path)})
    old, fresh = (settings.spool / f"{name}.preview" for name in ("old", "fresh"))
    for folder in (old, fresh):
        folder.mkdir(parents=True)
        (folder / "feed").write_bytes(PAGE)
    before = old.stat().st_mtime - PAGE_SECONDS - 1
    os.utime(old, (before, before))
    async with open_services(settings) as services:
        assert await services.clear_spool() == 1
    assert list(settings.spool.iterdir()) == [fresh]
