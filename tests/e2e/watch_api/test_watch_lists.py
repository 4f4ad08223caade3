"""Lists of watches, and actions on many of them."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from e2e.api_client import Api
from e2e.running import until_some
from e2e.shop_site import ShopSite, checked, product, watched
from e2e.watch_api.calls import added
from webloom.domain.names import LONGEST_NAME
from webloom.entrypoints.api.requests import LONGEST_CURSOR
from webloom.parsing.storage_event import LONGEST_ID
from webloom.stores.cursors import cursor_of


async def bulk(api: Api, **body: Any) -> dict[str, Any]:
    answer = await api.call("POST", "/api/watches/bulk", json=body)
    assert answer.status == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    last: dict[str, Any] = json.loads(answer.text.splitlines()[-1])
    assert last["done"] == last["total"] == last["succeeded"] + last["failed"] + last["skipped"]
    return last


async def listed(api: Api, **query: str) -> list[dict[str, Any]]:
    answer = await api.call("GET", "/api/watches", params=query)
    assert answer.status == 200, answer.text
    assert (answer.body["total"], answer.body["totalIsExact"]) == (len(answer.body["data"]), True)
    return list(answer.body["data"])


@pytest.mark.parametrize("letter", ["\u540d", "\U0001f600"])
async def test_a_list_with_the_longest_names_is_read_page_by_page(api: Api, letter: str) -> None:
    name = letter * LONGEST_NAME
    for page in "ab":
        await added(api, url=f"https://shop.test/{page}", name=name, tags=[f"long {letter}"])
    query = {"tag": f"long {letter}", "sort": "name", "limit": "1"}
    first = (await api.call("GET", "/api/watches", params=query)).body
    query["cursor"] = first["nextCursor"]
    rest = await api.call("GET", "/api/watches", params=query)
    assert rest.status == 200, rest.text
    assert rest.body["nextCursor"] is None
    urls = [each["urls"] for page in (first, rest.body) for each in page["data"]]
    assert sorted(urls) == [["https://shop.test/a"], ["https://shop.test/b"]]


def test_a_cursor_may_be_as_long_as_the_longest_name_and_id_make_it() -> None:
    """The ids of other programs' watches are theirs."""
    letter = "\U0001f600"
    assert len(cursor_of(letter * LONGEST_NAME, letter * LONGEST_ID)) <= LONGEST_CURSOR


async def test_watches_are_searched_sorted_and_changed_together(api: Api) -> None:
    made = [
        await added(api, url=f"https://shop.test/bulk-{name}", name=f"Bulk {name}", tags=[tag])
        for name, tag in (("a", "Bulky"), ("b", "bulky"), ("c", " other\u0301 "))
    ]
    ids = [watch["jobId"] for watch in made]
    assert made[2]["tags"] == ["othe\u0155"]
    assert await listed(api, q="bul a") == made[:1]
    assert await listed(api, tag="BULKY", sort="-name") == [made[1], made[0]]
    tags = (await api.call("GET", "/api/watches/tags")).body
    assert {"tag": "Bulky", "count": 2} in tags["data"]

    done = await bulk(api, action="tag", ids=[*ids, "never-there"], tags=["BULKY", "new"])
    assert (done["succeeded"], done["failed"]) == (3, 1)
    [failure] = done["failures"]
    assert (failure["id"], failure["name"]) == ("never-there", None)
    assert [each["tags"] for each in await listed(api, tag="new")] == [
        ["Bulky", "new"],
        ["bulky", "new"],
        [made[2]["tags"][0], "BULKY", "new"],
    ]
    undone = await bulk(api, action="restore", items=done["before"])
    assert (undone["succeeded"], len(undone["before"])) == (3, 3)
    assert await listed(api, tag="new") == []

    hourly = {"cron": "0 * * * *", "timeZone": "Europe/Berlin"}
    chosen = {"q": "bulk", "tag": "bulky", "state": "paused"}
    done = await bulk(api, action="schedule", filter=chosen, schedule=hourly)
    assert (done["total"], done["failed"]) == (2, 0)
    assert [each["schedule"]["cron"] for each in await listed(api, q="bulk")] == [
        "0 * * * *",
        "0 * * * *",
        None,
    ]
    assert (await bulk(api, action="restore", items=done["before"]))["succeeded"] == 2
    assert [each["schedule"] for each in await listed(api, q="bulk")] == [
        each["schedule"] for each in made
    ]

    done = await bulk(api, action="resume", ids=ids)
    assert done["before"] == [{"id": each, "enabled": False} for each in ids]
    assert (await bulk(api, action="pause", ids=ids))["succeeded"] == 3
    assert (await bulk(api, action="pause", ids=ids))["before"] == []
    done = await bulk(api, action="remove", filter={"q": "bulk"}, pages=True)
    assert done == {
        "done": 3, "total": 3, "succeeded": 3, "failed": 0, "skipped": 0, "failures": [],
        "before": [],
    }  # fmt: skip
    assert await listed(api, q="bulk") == []


async def test_nothing_is_done_if_more_match_than_a_person_saw(api: Api) -> None:
    for name in ("a", "b"):
        await added(api, url=f"https://shop.test/grown-{name}", name=name, tags=["grown"])
    body: dict[str, Any] = {"action": "remove", "filter": {"tag": "grown"}}
    answer = await api.call("POST", "/api/watches/bulk", json={**body, "atMost": 1})
    assert answer.is_problem(409, "Nothing was done: more than 1 match now.")
    assert len(await listed(api, tag="grown")) == 2
    assert (await bulk(api, **body, atMost=2))["succeeded"] == 2


async def test_what_is_created_after_a_list_was_read_is_left_alone(api: Api) -> None:
    await added(api, url="https://shop.test/early", tags=["seen"])
    at = (await api.call("GET", "/api/watches", params={"tag": "seen"})).body["at"]
    late = await added(api, url="https://shop.test/late", tags=["seen"])
    done = await bulk(api, action="remove", filter={"tag": "seen", "before": at})
    assert (done["total"], done["succeeded"]) == (1, 1)
    [left] = await listed(api, tag="seen")
    assert left["jobId"] == late["jobId"]
    at = (await api.call("GET", "/api/watches", params={"tag": "seen"})).body["at"]
    done = await bulk(api, action="remove", filter={"tag": "seen", "before": at})
    assert done["total"] == 1


async def test_the_watches_of_all_pages_that_match_are_acted_on(api: Api, site: ShopSite) -> None:
    site.pages["/basket"] = product("10")
    gone = [site.url(f"/status?code=404&basket={number}") for number in range(2)]
    well = await watched(api, site.url("/basket"))
    failing = await watched(api, *gone)
    for watch in (well, failing):
        await checked(api, watch["jobId"])
    failed = {"q": "basket", "outcome": "failed"}
    shown = await api.call("GET", "/api/watch/pages", params=failed)
    assert (shown.body["total"], shown.body["totalIsExact"]) == (2, True)

    body: dict[str, Any] = {"action": "tag", "tags": ["mended"], "filter": {"pages": failed}}
    grown = await api.call("POST", "/api/watches/bulk", json={**body, "atMost": 1})
    assert grown.is_problem(409, "more than 1 match now")
    done = await bulk(api, **body, atMost=2)
    assert (done["total"], done["before"]) == (1, [{"id": failing["jobId"], "tags": []}])
    assert (await bulk(api, **body | {"filter": {"pages": {"q": "basket"}}}))["total"] == 2
    of_one = {"jobId": well["jobId"], "changedSince": 0, "url": site.url("/basket")}
    assert (await bulk(api, **body | {"filter": {"pages": of_one}}))["total"] == 1
    run = await bulk(api, action="run", filter={"pages": failed})
    assert (run["total"], run["succeeded"]) == (1, 1)
    for other in (
        {"q": "a"},
        {"tag": "a"},
        {"state": "failing"},
        {"before": "2026-01-01T00:00:00Z"},
    ):
        both = {**body, "filter": {"pages": {}, **other}}
        answer = await api.call("POST", "/api/watches/bulk", json=both)
        assert answer.is_problem(422, "pages does not go with"), answer.text


async def test_what_is_paused_by_mistake_is_due_as_before(api: Api) -> None:
    daily = {"everyMinutes": 1440}
    made = await added(api, url="https://shop.test/due", schedule=daily, tags=["due"], enabled=True)

    async def first_run() -> str | None:
        [watch] = await listed(api, tag="due")
        status: str | None = watch["lastStatus"]
        return status

    # It would end while the watch is paused and resumed, and change what is compared.
    await until_some(first_run, what="the end of the first run")
    due = datetime.now(UTC) + timedelta(minutes=5)
    before = {"id": made["jobId"], "enabled": True, "schedule": daily}
    for moment in (due, due + timedelta(days=400)):
        await bulk(api, action="pause", filter={"tag": "due"})
        item = {**before, "nextRunAt": moment.isoformat()}
        await bulk(api, action="restore", items=[item])
        [watch] = await listed(api, tag="due")
        found = datetime.fromisoformat(watch["nextRunAt"])
        if moment is due:
            assert abs(found - due) < timedelta(seconds=1)
        else:  # it is never due later than its schedule allows
            assert found < due + timedelta(days=2)
    for action in ({"action": "pause"}, {"action": "schedule", "schedule": {"everyMinutes": 9}}):
        done = await bulk(api, **action, ids=[made["jobId"]])
        assert done["before"][0]["nextRunAt"] == watch["nextRunAt"]
        await bulk(api, action="restore", items=done["before"])
        [after] = await listed(api, tag="due")
        assert {**after, "updatedAt": None} == {**watch, "updatedAt": None}
    late = {**before, "nextRunAt": "2020-01-01T00:00:00Z"}
    await bulk(api, action="pause", ids=[made["jobId"]])
    await bulk(api, action="restore", items=[late])
    [now] = await listed(api, tag="due")
    has_run = now["lastRunId"] != watch["lastRunId"]  # which puts it off again
    assert has_run or datetime.fromisoformat(now["nextRunAt"]) <= datetime.now(UTC)
    await bulk(api, action="remove", filter={"tag": "due"})


async def test_what_no_watch_can_take_is_refused_before_anything_is_done(api: Api) -> None:
    refused: dict[str, dict[str, Any]] = {
        "ids": {"action": "pause"},
        "filter": {"action": "pause", "ids": [], "filter": {}},
        "tags": {"action": "tag", "ids": []},
        "comma": {"action": "tag", "ids": [], "tags": ["a,b"]},
        "schedule": {"action": "schedule", "ids": []},
        "cron": {"action": "schedule", "ids": [], "schedule": {"cron": "nonsense"}},
        "items": {"action": "restore"},
        "filter.q": {"action": "pause", "filter": {"q": "a " * 101}},
        "10,000": {"action": "pause", "ids": [str(each) for each in range(10_001)]},
    }
    for word, body in refused.items():
        answer = await api.call("POST", "/api/watches/bulk", json=body)
        assert (answer.status, word in answer.body["detail"]) == (422, True), answer.text


async def test_a_list_goes_out_as_csv_without_formulas_and_as_lines_of_json(api: Api) -> None:
    names = ["=HYPERLINK(1)", "plain", '@x, "y"']
    made = [
        await added(api, url="https://shop.test/export", name=name, tags=["out", "b"])
        for name in names
    ]
    query = {"tag": "out", "sort": "createdAt", "columns": "name,tags,enabled,schedule"}
    answer = await api.call("GET", "/api/watches/export", params=query)
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == "attachment; filename=watches.csv"
    assert [*csv.reader(io.StringIO(answer.text, newline=""))] == [
        ["name", "tags", "enabled", "schedule"],
        ["'=HYPERLINK(1)", "out, b", "false", "every 60 min"],
        ["plain", "out, b", "false", "every 60 min"],
        ['\'@x, "y"', "out, b", "false", "every 60 min"],
    ]
    lines = await api.call(
        "GET",
        "/api/watches/export",
        params={"q": "shop export", "sort": "-createdAt", "format": "ndjson"},
    )
    assert lines.headers["content-type"] == "application/x-ndjson"
    assert [json.loads(line) for line in lines.text.splitlines()] == made[::-1]
    wrong = await api.call("GET", "/api/watches/export", params={"columns": "name,secret"})
    assert wrong.is_problem(422, "columns")
    assert (await bulk(api, action="remove", filter={"tag": "out"}))["succeeded"] == 3
    pages = await api.call("GET", "/api/watch/pages/export", params={"columns": "url,title"})
    assert pages.text.splitlines()[0] == "url,title"
