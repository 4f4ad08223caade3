"""Watches, runs and pages through the API: real processes, a shop on loopback."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import sqlite3
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from prometheus_client.parser import text_string_to_metric_families

from e2e.api_client import Answer, Api, calling
from e2e.running import Webloom, running, running_for_module, until_some
from e2e.shop_site import (
    CAPTCHA,
    Hook,
    Served,
    ShopSite,
    article,
    checked,
    finished_watch_run,
    page_of,
    product,
    watched,
)
from e2e.watched_site import ALLOWED
from servers.mongod import MongoServer
from servers.redis import RedisServer

UNKNOWN = "0123456789abcdef"
ATOM = {"a": "http://www.w3.org/2005/Atom"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webloom]:
    folder = tmp_path_factory.mktemp("watch")
    with running_for_module(
        "up", data_dir=folder / "data", allow_addresses=ALLOWED, retry_delay=0.02
    ) as it:
        yield it


@pytest.fixture
async def api(whole: Webloom) -> AsyncIterator[Api]:
    async with calling(whole) as api:
        yield api


@pytest.fixture
async def site() -> AsyncIterator[ShopSite]:
    async with ShopSite() as site:
        yield site


async def added(api: Api, **fields: Any) -> dict[str, Any]:
    answer = await api.call("POST", "/api/watches", json={"enabled": False, **fields})
    assert answer.status == 201, answer.text
    return dict(answer.body)


async def pages(api: Api, path: str = "", **parameters: str | int) -> Answer:
    return await api.call("GET", f"/api/watch/pages{path}", params=parameters)


async def got(api: Api, path: str, **parameters: str | int) -> Any:
    answer = await pages(api, path, **parameters)
    assert answer.status == 200, answer.text
    return answer.body


# Watches.


async def test_a_watch_is_added_shown_edited_and_removed(api: Api) -> None:
    answer = await api.call(
        "POST",
        "/api/watches",
        json={
            "urls": ["HTTPS://shop.test/1", "https://shop.test/2", "https://SHOP.test/1"],
            "name": " Chairs ",
            "schedule": {"cron": "*/10 8-18 * * mon-fri", "timeZone": "Europe/Paris"},
            "enabled": False,
            "selection": {"keep": ["main"], "ignorePattern": ["^Updated"], "sortLines": True},
            "thresholds": {"priceBelow": 79.90, "textContains": ["sale"]},
        },
    )
    assert answer.status == 201, answer.text
    watch = answer.body
    assert answer.headers["location"] == f"/api/watches/{watch['jobId']}"
    created = datetime.fromisoformat(watch["createdAt"])
    assert abs(datetime.now(UTC) - created) < timedelta(minutes=5)
    expected = {
        "name": "Chairs",
        "urls": ["https://shop.test/1", "https://shop.test/2"],
        "schedule": {
            "everyMinutes": None, "cron": "*/10 8-18 * * mon-fri", "timeZone": "Europe/Paris",
        },
        "enabled": False,
        "selection": {
            "keep": ["main"], "drop": [], "ignoreText": [], "ignorePattern": ["^Updated"],
            "sortLines": True, "uniqueLines": False,
        },
        "thresholds": {"textContains": ["sale"], "priceBelow": 79.9, "priceChangePercent": None},
        "targets": [],
        "nextRunAt": None,
        "activeRunId": None,
        "lastRunId": None,
        "lastRunAt": None,
        "lastStatus": None,
        "consecutiveFailures": 0,
    }  # fmt: skip
    assert {name: watch[name] for name in expected} == expected
    path = f"/api/watches/{watch['jobId']}"
    assert (await api.call("GET", path)).body == watch

    edited = await api.call("PATCH", path, json={"name": "Tables", "thresholds": {}})
    assert edited.status == 200, edited.text
    assert edited.body["name"] == "Tables"
    assert edited.body["thresholds"]["priceBelow"] is None
    assert edited.body["selection"] == expected["selection"]

    resumed = await api.call("POST", f"{path}/resume")
    assert resumed.body["enabled"]
    assert datetime.fromisoformat(resumed.body["nextRunAt"]) > created
    paused = await api.call("POST", f"{path}/pause")
    assert (paused.body["enabled"], paused.body["nextRunAt"]) == (False, None)

    assert (await api.call("DELETE", path)).status == 204
    for method, rest in (
        ("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/pause"), ("POST", "/resume"),
        ("POST", "/run"), ("GET", "/feed.atom"), ("GET", "/notices"),
    ):  # fmt: skip
        gone = await api.call(
            method, path + rest, json={"name": "x"} if method == "PATCH" else None
        )
        assert gone.is_problem(404, "/api/watches"), (method, rest)


async def test_a_new_watch_is_due_at_once(api: Api, site: ShopSite) -> None:
    answer = await api.call("POST", "/api/watches", json={"url": site.url("/page")})
    assert answer.status == 201, answer.text
    assert answer.body["name"] == site.url("/page")
    path = f"/api/watches/{answer.body['jobId']}"

    async def look() -> dict[str, Any] | None:
        watch = (await api.call("GET", path)).body
        return dict(watch) if watch["lastStatus"] else None

    watch = await until_some(look, what="the first check")
    assert watch["lastStatus"] == "completed"
    assert datetime.fromisoformat(watch["nextRunAt"]) > datetime.fromisoformat(watch["lastRunAt"])
    assert (await api.call("DELETE", path)).status == 204


async def test_watches_are_listed_by_name_in_small_chunks(api: Api) -> None:
    prefix = f"list-{uuid.uuid4().hex[:6]}"
    for number in (3, 1, 2):
        await added(api, url="https://shop.test/", name=f"{prefix}-{number}")
    names: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        answer = await api.call("GET", "/api/watches", params={"limit": "2", **cursor})
        assert len(answer.body["data"]) <= 2
        names += [watch["name"] for watch in answer.body["data"]]
        if answer.body["nextCursor"] is None:
            break
        cursor = {"cursor": answer.body["nextCursor"]}
    assert [name for name in names if name.startswith(prefix)] == [
        f"{prefix}-1", f"{prefix}-2", f"{prefix}-3"
    ]  # fmt: skip
    assert len(names) == len(await _all_ids(api))
    bad = await api.call("GET", "/api/watches", params={"cursor": "nonsense"})
    assert bad.is_problem(422, "cursor")


async def _all_ids(api: Api) -> set[str]:
    answer = await api.call("GET", "/api/watches", params={"limit": "200"})
    return {watch["jobId"] for watch in answer.body["data"]}


REFUSED: list[tuple[dict[str, Any], list[str], str]] = [
    ({}, ["urls", "one URL or more"], "no page"),
    ({"urls": []}, ["urls"], "no page"),
    ({"url": "ftp://shop.test/"}, ["urls", "ftp://shop.test/"], "a scheme that is not fetched"),
    ({"url": "http://127.0.0.1/"}, ["urls", "WEBLOOM_ALLOW_ADDRESSES"], "what the gate refuses"),
    ({"url": "http://localhost:99/"}, ["urls", "WEBLOOM_ALLOW_ADDRESSES"], "its name"),
    ({"urls": "https://shop.test/"}, ["urls", "array"], "a text for a list"),
    ({"URL": "https://shop.test/"}, ["unknown field", "URL"], "a misspelt name"),
    ({"name": "x" * 201}, ["name", "200"], "a name without end"),
    ({"name": "a\x07b"}, ["name", "control"], "a bell"),
    ({"schedule": {"everyMinutes": 0}}, ["schedule", "0.05"], "all the time"),
    ({"schedule": {}}, ["schedule", "interval", "cron"], "no time at all"),
    ({"schedule": {"everyMinutes": 5, "cron": "@daily"}}, ["schedule"], "both"),
    ({"schedule": {"cron": "* * * *"}}, ["schedule", "five"], "four fields"),
    ({"schedule": {"cron": "61 * * * *"}}, ["schedule", "minute"], "no such minute"),
    ({"schedule": {"cron": "0 0 30 2 *"}}, ["schedule", "never"], "30 February"),
    ({"schedule": {"cron": "@daily", "timeZone": "Mars/Base"}}, ["schedule", "Mars"], "a zone"),
    ({"selection": {"keep": ["div["]}}, ["selection", "div["], "no selector"),
    ({"selection": {"drop": ["//a["]}}, ["selection"], "no XPath"),
    ({"selection": {"keep": [""]}}, ["selection.keep"], "an empty one"),
    ({"selection": {"ignorePattern": ["(?=x)"]}}, ["selection"], "what RE2 does not know"),
    ({"thresholds": {"priceBelow": -1}}, ["thresholds.priceBelow"], "less than nothing"),
    ({"thresholds": {"priceChangePercent": 0}}, ["thresholds.priceChangePercent"], "nothing"),
    ({"thresholds": {"textContains": [" "]}}, ["thresholds.textContains"], "blank"),
    ({"targets": [{"url": "file:///etc/passwd"}]}, ["targets"], "a file"),
    ({"targets": [{"url": "https://hook.test/…"}]}, ["targets", "whole"], "hidden"),
    ({"targets": [{"url": "https://h.test/", "secret": ""}]}, ["targets", "secret"], "no secret"),
    ({"targets": [{"url": "https://h.test/", "digestMinutes": 0}]}, ["targets", "digest"], "0 min"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "parts"),
    [pytest.param(fields, parts, id=reason) for fields, parts, reason in REFUSED],
)
async def test_what_is_wrong_with_a_watch_is_told_by_the_name_of_the_setting(
    api: Api, fields: dict[str, Any], parts: list[str]
) -> None:
    has_page = fields.keys() & {"url", "urls", "URL"} or not fields
    body = fields if has_page else {"url": "https://shop.test/", **fields}
    before = await _all_ids(api)
    assert (await api.call("POST", "/api/watches", json=body)).is_problem(422, *parts)
    assert await _all_ids(api) == before


async def test_an_edit_that_is_refused_changes_nothing(api: Api) -> None:
    watch = await added(api, url="https://shop.test/", name="As it was")
    path = f"/api/watches/{watch['jobId']}"
    for body, part in (
        ({"name": " "}, "name"),
        ({"urls": []}, "urls"),
        ({"schedule": None}, "schedule"),
        ({"selection": {"keep": ["::"]}}, "selection"),
        ({"jobID": "x"}, "jobID"),
    ):
        assert (await api.call("PATCH", path, json=body)).is_problem(422, part)
    assert (await api.call("PATCH", path, data=b"{")).is_problem(400, "JSON")
    assert (await api.call("GET", path)).body == watch


async def test_what_was_answered_can_be_sent_back_and_targets_keep_their_secrets(
    api: Api, whole: Webloom
) -> None:
    targets = [
        {"url": "https://hook.test/token-1", "secret": "s3cret-1"},
        {"url": "mailto://user:passw0rd@mail.test", "digestMinutes": 60},
    ]
    watch = await added(api, url="https://shop.test/", targets=targets)
    path = f"/api/watches/{watch['jobId']}"
    assert watch["targets"] == [
        {"url": "https://hook.test/…", "signed": True, "digestMinutes": None},
        {"url": "mailto://…", "signed": False, "digestMinutes": 60},
    ]
    sent_back = await api.call("PATCH", path, json=watch | {"name": "Renamed", "createdAt": "x"})
    assert sent_back.status == 200, sent_back.text
    assert sent_back.body["name"] == "Renamed"
    assert sent_back.body["createdAt"] == watch["createdAt"]
    assert _stored_targets(whole, watch["jobId"]) == [
        ("https://hook.test/token-1", "s3cret-1"),
        ("mailto://user:passw0rd@mail.test", None),
    ]
    one = await api.call("PATCH", path, json={"targets": watch["targets"][:1]})
    assert one.status == 200, one.text
    assert _stored_targets(whole, watch["jobId"]) == [("https://hook.test/token-1", "s3cret-1")]
    for wrong in (
        [{"url": "https://other.test/…"}],
        [{"url": "https://hook.test/…"}, {"url": "https://hook.test/…"}],
    ):
        refused = await api.call("PATCH", path, json={"targets": wrong})
        assert refused.is_problem(422, "targets", "whole URL")
    everything = (await api.call("GET", "/api/watches", params={"limit": "200"})).text
    assert not [word for word in ("token-1", "s3cret-1", "passw0rd") if word in everything]
    assert "token-1" not in whole.log
    assert "passw0rd" not in whole.log


def _stored_targets(it: Webloom, job_id: str) -> list[tuple[str, str | None]]:
    with closing(sqlite3.connect(it.data_dir / "webloom.db")) as database:
        [config] = database.execute(
            "SELECT config FROM watches WHERE watch_id = ?", (job_id,)
        ).fetchone()
    targets = json.loads(config)["targets"]
    return [(each["url"], each.get("secret")) for each in targets]


OPML = """<opml version="2.0"><body>
<outline text="Shop" type="link" url="https://shop.test/a"/>
<outline text="Blog" xmlUrl="https://shop.test/feed" htmlUrl="https://shop.test/b"/>
</body></opml>"""


async def test_lists_of_urls_opml_and_json_are_imported(api: Api) -> None:
    before = await _all_ids(api)
    lines = b"# mine\r\nhttps://shop.test/1\r\n\r\nhttps://shop.test/2\nnot a url\n"
    answer = await api.call("POST", "/api/watches/import", data=lines)
    assert (answer.status, answer.body["added"], answer.body["refused"]) == (200, 2, 1)
    [refusal] = answer.body["refusals"]
    assert refusal["entry"] == "not a url"
    assert refusal["reason"].startswith("urls: ")

    answer = await api.call("POST", "/api/watches/import", data=OPML.encode())
    assert answer.body == {"added": 2, "refused": 0, "refusals": []}

    entries: list[Any] = [
        "https://shop.test/3",
        {"urls": ["https://shop.test/4"], "name": "Four", "thresholds": {"priceBelow": 79.9}},
        {"url": "https://shop.test/5", "nmae": "Five"},
    ]
    answer = await api.call("POST", "/api/watches/import", json=entries)
    assert (answer.body["added"], answer.body["refused"]) == (2, 1)
    assert "nmae" in answer.body["refusals"][0]["reason"]

    listing = (await api.call("GET", "/api/watches", params={"limit": "200"})).body
    new = [watch for watch in listing["data"] if watch["jobId"] not in before]
    assert {watch["name"] for watch in new} == {
        "https://shop.test/1", "https://shop.test/2", "Shop", "Blog", "https://shop.test/3", "Four",
    }  # fmt: skip
    assert {watch["urls"][0] for watch in new if watch["name"] == "Blog"} == {"https://shop.test/b"}
    [four] = [watch for watch in new if watch["name"] == "Four"]
    assert four["thresholds"]["priceBelow"] == 79.9

    again = await api.call("POST", "/api/watches/import", json={"data": [four]})
    assert again.body == {"added": 1, "refused": 0, "refusals": []}, "as GET answers it"
    for body, part in ((b"", "empty"), (b"[", "JSON"), (b"<opml>", "OPML"), (b"[1]", "neither")):
        assert (await api.call("POST", "/api/watches/import", data=body)).is_problem(422, part)
    for watch in new:
        assert (await api.call("DELETE", f"/api/watches/{watch['jobId']}")).status == 204


# Runs.


async def test_a_run_is_started_once_and_counts_each_page_once(api: Api, site: ShopSite) -> None:
    site.pages["/loom"] = product("99.50")
    watch = await watched(api, site.url("/loom"), site.url("/gated"), site.url("/status?code=404"))
    path = f"/api/watches/{watch['jobId']}/run"
    answer = await api.call("POST", path)
    assert answer.status == 202
    run_id = answer.body["runId"]
    assert answer.headers["location"] == f"/api/watch/runs/{run_id}"
    assert (answer.body["status"], answer.body["pagesTotal"]) == ("in_progress", 3)
    busy = await api.call("POST", path)
    assert busy.is_problem(409, "already")
    assert busy.body["run"]["runId"] == run_id
    site.opened.set()
    run = await finished_watch_run(api, run_id)
    counters = ("pagesTotal", "pagesProcessed", "pagesFailed", "changesDetected")
    assert [run[name] for name in counters] == [3, 3, 1, 0]
    assert (run["status"], run["trigger"], run["priceChangesDetected"]) == ("partial", "manual", 0)
    assert run["runDuration"] >= 0
    assert run["lastRunAt"] == run["finishedAt"]
    [failure] = run["failures"]
    assert failure == {"url": site.url("/status?code=404"), "reason": "the server answered 404"}

    site.pages["/loom"] = product("95")
    second = await checked(api, watch["jobId"])
    assert (second["changesDetected"], second["priceChangesDetected"]) == (1, 1)

    listed = await api.call("GET", "/api/watch/runs", params={"jobId": watch["jobId"]})
    assert [each["runId"] for each in listed.body["data"]] == [second["runId"], run_id]
    first_page = await api.call(
        "GET", "/api/watch/runs", params={"jobId": watch["jobId"], "limit": "1"}
    )
    assert first_page.body["data"] == [second]
    rest = await api.call(
        "GET",
        "/api/watch/runs",
        params={"jobId": watch["jobId"], "limit": "1", "cursor": first_page.body["nextCursor"]},
    )
    assert rest.body == {"data": [run], "nextCursor": None}
    none = await api.call(
        "GET", "/api/watch/runs", params={"jobId": watch["jobId"], "status": "completed"}
    )
    assert none.body["data"] == []
    shown = (await api.call("GET", f"/api/watches/{watch['jobId']}")).body
    assert (shown["lastRunId"], shown["lastStatus"]) == (second["runId"], "partial")
    assert (await api.call("GET", f"/api/watch/runs/{UNKNOWN}")).is_problem(404, "/api/watch/runs")
    bad = await api.call("GET", "/api/watch/runs", params={"status": "done"})
    assert bad.is_problem(422, "status")


async def test_a_watch_that_is_removed_while_it_runs_leaves_nothing_open(
    api: Api, site: ShopSite
) -> None:
    watch = await watched(api, site.url("/gated"), site.url("/page"))
    answer = await api.call("POST", f"/api/watches/{watch['jobId']}/run")
    await asyncio.wait_for(site.started.wait(), 60)
    removed = await api.call("DELETE", f"/api/watches/{watch['jobId']}", params={"pages": "true"})
    assert removed.status == 204
    run = await finished_watch_run(api, answer.body["runId"])
    assert run["status"] in ("partial", "failed")
    assert run["pagesProcessed"] == 2
    site.opened.set()

    async def idle() -> bool | None:
        health = (await api.call("GET", "/health")).body
        queues = {each["name"]: each for each in health["queues"]}
        waiting = [queues["watch-pages"][state] for state in ("ready", "delayed", "in_flight")]
        return True if waiting == [0, 0, 0] else None

    await until_some(idle, what="no check to wait")
    assert (await api.call("GET", f"/api/watch/runs/{run['runId']}")).body == run


# Pages.


async def test_a_page_is_answered_with_the_names_of_its_messages(api: Api, site: ShopSite) -> None:
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
    job_id = watch["jobId"]
    await checked(api, job_id)

    async def found(**parameters: str | int) -> set[str]:
        answer = await got(api, "", jobId=job_id, **parameters)
        assert "text" not in answer["data"][0] if answer["data"] else True
        return {page["url"].removeprefix(site.url("")) for page in answer["data"]}

    assert await found() == set(site.pages)
    assert await found(type="product") == {"/loom-0", "/loom-1", "/loom-2"}
    assert await found(outcome="failed") == {"/gone"}
    assert await found(q="LOOM 1") == {"/loom-1"}
    assert await found(q="/story") == {"/story"}
    assert await found(changedSince=4_000_000_000_000) == set()
    assert await found(outcome="") == set(site.pages), "a form that leaves a field empty"
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        answer = await got(api, "", jobId=job_id, limit=2, **cursor)
        seen += [page["url"] for page in answer["data"]]
        if answer["nextCursor"] is None:
            break
        cursor = {"cursor": answer["nextCursor"]}
    assert sorted(seen) == sorted(urls)
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
    assert part["nextBefore"] == 2
    rest = await got(api, "/versions", **named, limit=2, before=2)
    assert [each["version"] for each in rest["data"]] == [1]
    assert rest["nextBefore"] is None

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
    assert latest["alerts"] == ["the page changed"]
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
    asked = [each.headers.get("if-none-match") for each in site.requests if each.path == "/tagged"]
    assert asked == [None, '"1"']


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


# Telling.


async def test_a_webhook_is_told_once_per_run_and_what_it_gets_is_signed(
    api: Api, site: ShopSite
) -> None:
    async with Hook(site.host) as hook:
        for path in ("/a", "/b"):
            site.pages[path] = product("100")
        watch = await watched(
            api,
            site.url("/a"),
            site.url("/b"),
            name="Looms",
            targets=[{"url": hook.url, "secret": "the secret"}],
            thresholds={"priceBelow": 96},
        )
        await checked(api, watch["jobId"])
        for path in ("/a", "/b"):
            site.pages[path] = product("98")
        await checked(api, watch["jobId"])
        site.pages["/a"] = product("95.50")
        site.pages["/b"] = product("95")
        run = await checked(api, watch["jobId"])

        async def sent() -> dict[str, Any] | None:
            path = f"/api/watches/{watch['jobId']}/notices"
            notices = (await api.call("GET", path)).body["data"]
            return dict(notices[0]) if notices and notices[0]["sentAt"] else None

        notice = await until_some(sent, what="the webhook to be told")
    [(headers, body)] = hook.got
    signed = f"{headers['webloom-id']}.{headers['webloom-timestamp']}.".encode() + body
    digest = hmac.new(b"the secret", signed, hashlib.sha256).hexdigest()
    assert headers["webloom-signature"] == f"v1={digest}"
    told = json.loads(body)
    assert (told["watchName"], told["runId"]) == ("Looms", run["runId"])
    assert {change["url"]: change["alerts"] for change in told["changes"]} == {
        site.url("/a"): ["the price fell by 2.55 % to 95.50 EUR, below 96 EUR"],
        site.url("/b"): ["the price fell by 3.06 % to 95 EUR, below 96 EUR"],
    }
    assert (notice["runId"], notice["error"], notice["givenUp"]) == (run["runId"], None, False)
    assert notice["target"] == f"http://{hook.url.split('/')[2]}/…"
    assert len(notice["lines"]) == 2


async def test_changes_are_atom_feeds_in_which_pages_are_only_text(
    api: Api, site: ShopSite
) -> None:
    hostile = "&lt;script>alert(1)&lt;/script> \u202egnp"
    url = site.url("/odd/%3Cb%3E?q=%22'&x=1")
    site.pages["/odd/%3Cb%3E"] = article("One.", title=hostile)
    watch = await watched(api, url, name="<i>Odd</i>")
    await checked(api, watch["jobId"])
    site.pages["/odd/%3Cb%3E"] = article("&lt;img src=x onerror=alert(2)>", title=hostile)
    await checked(api, watch["jobId"])
    page = await page_of(api, watch["jobId"], url)
    assert page["title"] == "<script>alert(1)</script> \u202egnp"

    for path in (f"/api/watches/{watch['jobId']}/feed.atom", "/api/watch/feed.atom"):
        answer = await api.call("GET", path)
        assert answer.headers["content-type"].startswith("application/atom+xml")
        assert "<script" not in answer.text
        assert "<img" not in answer.text
        feed = ElementTree.fromstring(answer.text)
        entries = [
            entry
            for entry in feed.findall("a:entry", ATOM)
            if entry.findtext("a:title", "", ATOM).startswith("<i>Odd</i>")
        ]
        [entry] = entries
        content = entry.find("a:content", ATOM)
        assert content is not None
        assert content.get("type") == "text"
        assert "+<img src=x onerror=alert(2)>" in (content.text or "").splitlines()
    listed = await api.call("GET", "/api/watch/pages", params={"jobId": watch["jobId"]})
    assert listed.headers["content-type"] == "application/json"
    named = {"jobId": watch["jobId"], "url": url}
    diff = await pages(api, "/diff", **named, form="unified", **{"from": 1, "to": 2})
    assert "+<img src=x onerror=alert(2)>" in diff.text.splitlines()
    assert diff.headers["content-type"] == "text/plain; charset=utf-8"
    assert diff.headers["x-content-type-options"] == "nosniff"


# The whole.


async def test_storage_health_and_metrics_tell_of_watches(api: Api, site: ShopSite) -> None:
    site.pages["/story"] = article("One.")
    watch = await watched(api, site.url("/story"))
    await checked(api, watch["jobId"])
    storage = (await api.call("GET", "/api/watch/storage")).body
    assert storage["budget"] == 512 << 20
    assert storage["full"] is False
    kept = {each["collection"]: each for each in storage["collections"]}
    assert kept["pages"]["items"] >= 1
    assert 0 < storage["bytes"] == sum(each["bytes"] for each in kept.values())
    health = (await api.call("GET", "/health")).body
    assert {"storage-agent", "watch-pages"} <= {each["name"] for each in health["queues"]}
    samples = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families((await api.call("GET", "/metrics")).text)
        for sample in family.samples
    }
    assert samples["webloom_watches", "all"] == len(await _all_ids(api))
    assert samples["webloom_watches", "enabled"] <= samples["webloom_watches", "all"]
    assert samples["webloom_watches", "checking"] == 0
    assert samples["webloom_storage_items", "pages"] == kept["pages"]["items"]
    assert samples["webloom_storage_bytes", "pages"] == kept["pages"]["bytes"]
    assert samples[("webloom_storage_budget_bytes",)] == 512 << 20


async def test_the_same_on_mongodb_and_bullmq(
    mongod: MongoServer, redis_server: RedisServer, site: ShopSite, tmp_path: Path
) -> None:
    settings = {
        "store": mongod.url,
        "broker": redis_server.url,
        "mongodb_database": f"watch-{uuid.uuid4().hex[:8]}",
        "allow_addresses": ALLOWED,
        "retry_delay": 0.02,
    }
    url = site.url("/loom")
    site.pages["/loom"] = product("99.50", etag='"1"')
    async with running("up", data_dir=tmp_path / "data", **settings) as it, calling(it) as api:
        shaky = site.url("/in-turn?codes=503,503,200")
        watch = await watched(api, url, shaky, targets=[{"url": "https://hook.test/token"}])
        run = await checked(api, watch["jobId"])
        assert (run["status"], run["pagesProcessed"]) == ("completed", 2), run["failures"]
        run = await checked(api, watch["jobId"])
        assert (run["status"], run["changesDetected"]) == ("completed", 0)
        site.pages["/loom"] = product("80")
        run = await checked(api, watch["jobId"])
        assert (run["changesDetected"], run["priceChangesDetected"]) == (1, 1)
        page = await page_of(api, watch["jobId"], url)
        assert (page["price"], page["version"]) == (80, 2)
        answer = await got(api, "/prices", jobId=watch["jobId"], url=url)
        assert (answer["summary"]["minimum"], answer["summary"]["maximum"]) == (80, 99.5)
        diff = await pages(
            api, "/diff", jobId=watch["jobId"], url=url, form="unified", **{"from": 1, "to": 2}
        )
        assert {"-99.50 EUR", "+80 EUR"} <= set(diff.text.splitlines())
        edited = await api.call("PATCH", f"/api/watches/{watch['jobId']}", json=watch)
        assert edited.status == 200, edited.text
        storage = (await api.call("GET", "/api/watch/storage")).body
        assert storage["bytes"] > 0
        event = {"jobId": watch["jobId"], "url": url, "parsed": {"title": "By hand"}, "version": 9}
        assert (await api.call("POST", "/api/watch/events", json=event)).status == 202

        async def stored() -> bool | None:
            page = await page_of(api, watch["jobId"], url)
            return True if page["title"] == "By hand" else None

        await until_some(stored, what="the event")
        removed = await api.call("DELETE", f"/api/watches/{watch['jobId']}?pages=true")
        assert removed.status == 204
        assert (await got(api, "", jobId=watch["jobId"]))["data"] == []
