"""Watches are added, edited, listed, imported and removed."""

from __future__ import annotations

import json
import sqlite3
import uuid
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from e2e.api_client import Api
from e2e.running import Webloom, until_some
from e2e.shop_site import (
    ShopSite,
)
from e2e.watch_api.calls import added, all_ids


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


async def test_the_url_of_a_page_is_https_where_its_scheme_is_missing(api: Api) -> None:
    watch = await added(api, url="shop.test", urls=["Shop.test/2", "http://shop.test/3"])
    urls = ["https://shop.test/", "https://shop.test/2", "http://shop.test/3"]
    assert (watch["urls"], watch["name"]) == (urls, urls[0])
    edited = await api.call(
        "PATCH", f"/api/watches/{watch['jobId']}", json={"urls": ["shop.test/4"]}
    )
    assert edited.body["urls"] == ["https://shop.test/4"]


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
    assert len(names) == len(await all_ids(api))
    bad = await api.call("GET", "/api/watches", params={"cursor": "nonsense"})
    assert bad.is_problem(422, "cursor")


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
    ({"everyMinutes": 5}, ["unknown field `everyMinutes`", "in `schedule`"], "not in schedule"),
    ({"schedule": {"everyMinutes": 0}}, ["schedule", "0.05"], "all the time"),
    ({"schedule": {}}, ["schedule", "interval", "cron"], "no time at all"),
    ({"schedule": {"everyMinutes": 5, "cron": "@daily"}}, ["schedule"], "both"),
    ({"schedule": {"cron": "* * * *"}}, ["schedule", "five"], "four fields"),
    ({"schedule": {"cron": "61 * * * *"}}, ["schedule", "minute"], "no such minute"),
    ({"schedule": {"cron": "0 0 30 2 *"}}, ["schedule", "day of month"], "30 February"),
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
async def test_an_invalid_watch_names_the_wrong_field(
    api: Api, fields: dict[str, Any], parts: list[str]
) -> None:
    has_page = fields.keys() & {"url", "urls", "URL"} or not fields
    body = fields if has_page else {"url": "https://shop.test/", **fields}
    before = await all_ids(api)
    assert (await api.call("POST", "/api/watches", json=body)).is_problem(422, *parts)
    assert await all_ids(api) == before


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


async def test_a_response_can_be_sent_back_and_targets_keep_their_secrets(
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


def _stored_targets(it: Webloom, watch_id: str) -> list[tuple[str, str | None]]:
    with closing(sqlite3.connect(it.data_dir / "webloom.db")) as database:
        [config] = database.execute(
            "SELECT config FROM watches WHERE watch_id = ?", (watch_id,)
        ).fetchone()
    targets = json.loads(config)["targets"]
    return [(each["url"], each.get("secret")) for each in targets]


OPML = """<opml version="2.0"><body>
<outline text="Shop" type="link" url="https://shop.test/a"/>
<outline text="Blog" xmlUrl="https://shop.test/feed" htmlUrl="https://shop.test/b"/>
</body></opml>"""


async def test_lists_of_urls_opml_and_json_are_imported(api: Api) -> None:
    before = await all_ids(api)
    lines = b"# mine\r\nhttps://shop.test/1\r\n\r\nhttps://shop.test/2\nnot a url\n"
    answer = await api.call("POST", "/api/watches/import", data=lines)
    assert (answer.status, answer.body["added"], answer.body["refused"]) == (200, 2, 1)
    [refusal] = answer.body["refusals"]
    assert refusal["entry"] == "not a url"
    assert refusal["reason"].startswith("urls: ")

    answer = await api.call("POST", "/api/watches/import", data=OPML.encode())
    assert answer.body == {"added": 2, "known": 0, "refused": 0, "refusals": []}

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
    assert again.body == {"added": 1, "known": 0, "refused": 0, "refusals": []}, "as GET answers it"
    for body, part in ((b"", "empty"), (b"[", "JSON"), (b"<opml>", "OPML"), (b"[1]", "neither")):
        assert (await api.call("POST", "/api/watches/import", data=body)).is_problem(422, part)
    for watch_id in await all_ids(api) - before:
        assert (await api.call("DELETE", f"/api/watches/{watch_id}")).status == 204
