"""Watched pages: their versions, prices and changes, and what does not count as a change."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

from e2e.api_client import Api
from e2e.running import Webloom
from e2e.shop_site import (
    CAPTCHA,
    Served,
    ShopSite,
    article,
    checked,
    page_of,
    product,
    watched,
)
from e2e.watch_api.calls import got, pages


async def test_a_page_has_the_field_names_of_its_messages(api: Api, site: ShopSite) -> None:
    site.pages["/loom"] = product("1299.50")
    url = site.url("/loom")
    watch = await watched(api, url)
    await checked(api, watch["jobId"])
    page = await page_of(api, watch["jobId"], url)
    assert page.keys() >= {
        "jobId", "url", "title", "text", "metadata", "images", "links", "price", "currency",
        "classification", "version", "lastUpdated", "availability", "lastChecked",
    }  # fmt: skip
    assert (page["jobId"], page["url"], page["title"]) == (watch["jobId"], url, "Loom")
    assert (page["price"], page["currency"], page["availability"]) == (1299.5, "EUR", "in_stock")
    assert page["classification"]["type"] == "product"
    assert (page["version"], page["lastOutcome"], page["lastError"]) == (1, "changed", None)
    assert "shuttle" in page["text"]
    now = datetime.now(UTC).timestamp() * 1000
    assert abs(page["lastUpdated"] - now) < 600_000
    # As a person spells it.
    spelt = url.replace("http://", "HTTP://")
    assert (await page_of(api, watch["jobId"], spelt))["url"] == url
    [version] = (await got(api, "/versions", jobId=watch["jobId"], url=spelt))["data"]
    assert version["version"] == 1


async def test_pages_are_filtered_and_come_in_small_chunks(api: Api, site: ShopSite) -> None:
    for number in range(3):
        site.pages[f"/loom-{number}"] = product("10", title=f"Loom {number}")
    site.pages["/story"] = article("News.")
    site.pages["/gone"] = Served(body="gone", status=410)
    urls = [site.url(path) for path in site.pages]
    watch = await watched(api, *urls)
    watch_id = watch["jobId"]
    await checked(api, watch_id)

    async def found(**parameters: str | int) -> set[str]:
        answer = await got(api, "", jobId=watch_id, **parameters)
        assert "text" not in answer["data"][0] if answer["data"] else True
        return {page["url"].removeprefix(site.url("")) for page in answer["data"]}

    assert await found() == set(site.pages)
    assert await found(type="product") == {"/loom-0", "/loom-1", "/loom-2"}
    assert await found(outcome="failed") == {"/gone"}
    assert await found(q='"LOOM 1"') == {"/loom-1"}  # 1 alone begins 127, too
    assert await found(q="/story") == {"/story"}
    assert await found(changedSince=4_000_000_000_000) == set()
    assert await found(outcome="") == set(site.pages), "a form that leaves a field empty"
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        answer = await got(api, "", jobId=watch_id, limit=2, **cursor)
        seen += [page["url"] for page in answer["data"]]
        if answer["nextCursor"] is None:
            break
        cursor = {"cursor": answer["nextCursor"]}
    assert sorted(seen) == sorted(urls)
    turned = await got(api, "", jobId=watch_id, sort="lastUpdated")
    assert [page["url"] for page in turned["data"]] == seen[::-1]
    for parameters, part in (
        ({"outcome": "odd"}, "outcome"),
        ({"limit": 201}, "limit"),
        ({"cursor": "x"}, "cursor"),
        ({"nothing": "x"}, "nothing"),
        ({"changedSince": -1}, "changedSince"),
        ({"q": "a\0b"}, "NUL"),
    ):
        assert (await pages(api, **parameters)).is_problem(422, part)


async def test_versions_changes_and_diffs_of_a_page(api: Api, site: ShopSite) -> None:
    url = site.url("/story")
    site.pages["/story"] = article("The first word.")
    watch = await watched(api, url)
    named = {"jobId": watch["jobId"], "url": url}
    await checked(api, watch["jobId"])
    site.pages["/story"] = article("The second word.", title="Another title")
    run = await checked(api, watch["jobId"])
    site.pages["/story"] = article("The third word.")
    await checked(api, watch["jobId"])

    versions = (await got(api, "/versions", **named))["data"]
    assert [each["version"] for each in versions] == [3, 2, 1]
    assert [each["expireAt"] is None for each in versions] == [True, False, False]
    assert versions[0].keys() >= {"jobId", "url", "snapshotHash", "version", "createdAt"}
    part = await got(api, "/versions", **named, limit=2)
    assert part["nextCursor"] == "2"
    rest = await got(api, "/versions", **named, limit=2, cursor=2)
    assert [each["version"] for each in rest["data"]] == [1]
    assert rest["nextCursor"] is None

    second = await got(api, "/versions/2", **named)
    assert second["parsed"]["title"] == "Another title"
    assert "The second word." in second["parsed"]["text"]
    assert second["snapshotHash"] == versions[1]["snapshotHash"]
    for number in ("4", "0", "99999999999999999999"):
        answer = await pages(api, f"/versions/{number}", **named)
        assert answer.is_problem(404 if number == "4" else 422)

    diff = await got(api, "/diff", **named, **{"from": 1, "to": 3})
    assert diff["version"] == {"previous": 1, "current": 3}
    assert diff["diff"]["textChanged"] is True
    unified = await pages(api, "/diff", **named, **{"from": 1, "to": 2}, form="unified")
    assert unified.headers["content-type"].startswith("text/plain")
    lines = unified.text.splitlines()
    assert {"-The first word.", "+The second word."} <= set(lines)
    side = await pages(api, "/diff", **named, **{"from": 2, "to": 1}, form="side-by-side")
    [line] = [line for line in side.text.splitlines() if "first" in line]
    assert line.index("second") < line.index("first")
    same = await got(api, "/diff", **named, **{"from": 2, "to": 2})
    assert same["diff"]["textChanged"] is False
    assert (await pages(api, "/diff", **named, **{"from": 1, "to": 9})).is_problem(404)
    assert (await pages(api, "/diff", **named, **{"from": 1})).is_problem(422, "to is missing")

    changes = await got(api, "/changes", **named, limit=1)
    [latest] = changes["data"]
    assert latest["version"] == {"previous": 2, "current": 3}
    assert latest.keys() >= {"jobId", "url", "changes", "version", "timestamp"}
    assert (latest["reasons"], latest["alerts"]) == ([{"kind": "page"}], ["the page changed"])
    [older] = (await got(api, "/changes", **named, cursor=changes["nextCursor"]))["data"]
    assert older["version"] == {"previous": 1, "current": 2}
    assert older["changes"]["title"] == {"previous": "A story", "current": "Another title"}
    assert (await got(api, "/changes", runId=run["runId"]))["data"] == [older]


async def test_prices_are_a_series_with_its_extremes_as_json_and_csv(
    api: Api, site: ShopSite
) -> None:
    url = site.url("/loom")
    watch = await watched(api, url)
    named = {"jobId": watch["jobId"], "url": url}
    for price in ("100", "80.50", "95"):
        site.pages["/loom"] = product(price)
        await checked(api, watch["jobId"])
    answer = await got(api, "/prices", **named, limit=2)
    assert [each["price"] for each in answer["data"]] == [95, 80.5]
    assert [each["version"] for each in answer["data"]] == [3, 2]
    assert [each["changePercent"] for each in answer["data"]] == [18.01, -19.5]
    summary = answer["summary"]
    assert (summary["minimum"], summary["maximum"], summary["median"]) == (80.5, 100, 95)
    assert (summary["records"], summary["currency"]) == (3, "EUR")
    assert summary["last"] == summary["lastChange"] == answer["data"][0]
    rest = await got(api, "/prices", **named, limit=2, cursor=answer["nextCursor"])
    assert [each["price"] for each in rest["data"]] == [100]
    assert rest["nextCursor"] is None

    table = await pages(api, "/prices", **named, format="csv")
    assert table.headers["content-type"].startswith("text/csv")
    heading, *rows = [line.split(",") for line in table.text.splitlines()]
    assert heading == ["timestamp", "time", "price", "currency", "changePercent", "version"]
    assert [row[2:] for row in rows] == [
        ["95", "EUR", "18.01", "3"], ["80.5", "EUR", "-19.5", "2"], ["100", "EUR", "", "1"]
    ]  # fmt: skip
    nothing = await got(api, "/prices", jobId=watch["jobId"], url="https://shop.test/none")
    assert nothing == {"data": [], "summary": None, "nextCursor": None}


# What is a change, and what is not.


def _contents(it: Webloom, *tables: str) -> dict[str, list[Any]]:
    with closing(sqlite3.connect(it.data_dir / "webloom.db")) as database:
        return {table: database.execute(f"SELECT * FROM {table}").fetchall() for table in tables}


async def test_an_unchanged_page_writes_nothing_but_the_time_of_its_check(
    api: Api, site: ShopSite, whole: Webloom
) -> None:
    """By 304, and by the same content in other bytes."""
    site.pages["/tagged"] = product("10", etag='"1"')
    site.pages["/plain"] = article("As ever.")
    urls = [site.url("/tagged"), site.url("/plain")]
    watch = await watched(api, *urls)
    await checked(api, watch["jobId"])
    kept = ("snapshots", "snapshot_bodies", "change_logs", "price_history")
    before = _contents(whole, *kept)
    was = [await page_of(api, watch["jobId"], url) for url in urls]
    site.pages["/plain"] = Served(body=site.pages["/plain"].body.replace("<p>", "<p >\n "))
    run = await checked(api, watch["jobId"])
    assert (run["pagesProcessed"], run["changesDetected"], run["pagesFailed"]) == (2, 0, 0)
    assert _contents(whole, *kept) == before
    for url, page in zip(urls, was, strict=True):
        now = await page_of(api, watch["jobId"], url)
        assert now.pop("lastOutcome") == "unchanged"
        assert now.pop("lastChecked") > page.pop("lastChecked")
        assert page.pop("lastOutcome") == "changed"
        assert now == page
    sent = [each.headers.get("if-none-match") for each in site.requests if each.path == "/tagged"]
    assert sent == [None, '"1"']


WALLS = [
    (Served(body="<h1>Access denied</h1>", status=403), "403", "a wall"),
    (Served(body=CAPTCHA), "a wall was served", "a captcha that says it is fine"),
    (Served(body="<h1>Not found</h1>", status=404), "404", "no such page"),
    (Served(body="<h1>Broken</h1>", status=500), "500", "a broken site"),
    (Served(body="{}", status=429), "429", "too many"),
]


async def test_a_wall_or_an_error_is_reported_and_never_a_change(api: Api, site: ShopSite) -> None:
    paths = {f"/{number}": wall for number, wall in enumerate(WALLS)}
    for path in paths:
        site.pages[path] = product("10")
    watch = await watched(api, *(site.url(path) for path in paths))
    await checked(api, watch["jobId"])
    for path, (wall, _, _) in paths.items():
        site.pages[path] = wall
    run = await checked(api, watch["jobId"])
    assert (run["status"], run["pagesFailed"], run["changesDetected"]) == ("failed", len(WALLS), 0)
    for path, (_, part, reason) in paths.items():
        page = await page_of(api, watch["jobId"], site.url(path))
        assert part in page["lastError"], reason
        assert (page["lastOutcome"], page["version"], page["price"]) == ("failed", 1, 10), reason
        assert page["title"] == "Loom"
    assert (await got(api, "/changes", jobId=watch["jobId"]))["data"] == []
    tried = sum(each.path == "/3" for each in site.requests)
    assert tried == 1 + 3, "500 is tried three times"
    for path in paths:
        site.pages[path] = product("10")
    run = await checked(api, watch["jobId"])
    assert (run["status"], run["changesDetected"]) == ("completed", 0)


async def test_another_selection_is_no_change_of_the_page(api: Api, site: ShopSite) -> None:
    url = site.url("/story")
    site.pages["/story"] = article("As ever.", aside="Weather: rain")
    watch = await watched(api, url)
    path = f"/api/watches/{watch['jobId']}"
    await checked(api, watch["jobId"])
    await api.call("PATCH", path, json={"selection": {"keep": ["#aside"]}})
    run = await checked(api, watch["jobId"])
    assert (run["status"], run["changesDetected"]) == ("completed", 0)
    page = await page_of(api, watch["jobId"], url)
    assert (page["text"], page["version"]) == ("Weather: rain", 2)
    assert (await got(api, "/changes", jobId=watch["jobId"]))["data"] == []
    site.pages["/story"] = article("As ever.", aside="Weather: sun")
    run = await checked(api, watch["jobId"])
    assert run["changesDetected"] == 1
    site.pages["/story"] = article("News, but not where we look.", aside="Weather: sun")
    run = await checked(api, watch["jobId"])
    assert run["changesDetected"] == 0
    await api.call("PATCH", path, json={"selection": {"keep": ["#nowhere"]}})
    run = await checked(api, watch["jobId"])
    assert (run["status"], run["changesDetected"]) == ("failed", 0)
    assert "#nowhere" in run["failures"][0]["reason"]
