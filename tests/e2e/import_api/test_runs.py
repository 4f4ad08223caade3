"""Runs are started, listed and cancelled."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.api_client import Api
from e2e.import_api.calls import added, logs, new_url, new_word, started
from e2e.running import running

UNKNOWN = "0123456789abcdef"


async def test_one_feed_is_imported_by_any_spelling_of_its_url(front: Api) -> None:
    feed = await added(front, new_url(), name="One")
    run = await started(front, feed["url"].replace("https://", "HTTPS://") + "#part")
    assert run == {
        "runId": run["runId"],
        "sourceUrl": feed["url"],
        "sourceName": "One",
        "status": "running",
        "alreadyRunning": False,
    }
    shown = (await front.call("GET", f"/api/feeds/{feed['feedId']}")).body
    assert shown["activeRunId"] == run["runId"]


async def test_importing_a_running_feed_is_a_conflict_with_its_run(front: Api, other: Api) -> None:
    feed = await added(front, new_url())
    run = await started(front, feed["url"])
    again = await other.call("POST", "/api/import/run", json={"sourceUrl": feed["url"]})
    assert again.is_problem(409, "being imported already")
    assert again.body["runs"] == [run | {"alreadyRunning": True}]


async def test_all_enabled_feeds_are_imported_and_those_that_run_are_named(tmp_path: Path) -> None:
    async with running("api", data_dir=tmp_path / "data") as it:
        api = Api(it.client, it.base)
        nothing = await api.call("POST", "/api/import/run")
        assert (nothing.status, nothing.body) == (202, {"runs": []})
        urls = [new_url() for _ in range(3)]
        for url in urls:
            await added(api, url)
        await added(api, new_url(), enabled=False)
        first = await started(api, urls[0])
        every = await api.call("POST", "/api/import/run", json={})
        assert every.status == 202
        assert {
            run["sourceUrl"]: run["alreadyRunning"] for run in every.body["runs"]
        } == dict.fromkeys(urls, False) | {urls[0]: True}
        assert first["runId"] in [run["runId"] for run in every.body["runs"]]
        again = await api.call("POST", "/api/import/run")
        assert again.is_problem(409, "being imported already")
        assert {run["sourceUrl"] for run in again.body["runs"]} == {*urls}


async def test_a_run_that_can_not_be_started_says_why(front: Api) -> None:
    run = "/api/import/run"
    unknown = await front.call("POST", run, json={"sourceUrl": new_url()})
    assert unknown.is_problem(404, "POST /api/feeds")
    assert (await front.call("POST", run, json={"sourceUrl": "x"})).is_problem(422, "http://")
    assert (await front.call("POST", run, json={"sourceUrl": 1})).is_problem(422, "sourceUrl")
    assert (await front.call("POST", run, json={"url": new_url()})).is_problem(422, "url")
    assert (await front.call("POST", run, data=b"now")).is_problem(400, "not JSON")


async def test_an_unknown_run_is_unknown_to_every_route(front: Api) -> None:
    path = f"/api/import-logs/{UNKNOWN}"
    for method, tail in (("GET", ""), ("POST", "/retry"), ("POST", "/cancel")):
        answer = await front.call(method, path + tail)
        assert answer.is_problem(404, "GET /api/import-logs")
    assert (await front.call("GET", f"/api/jobs/{UNKNOWN}")).is_problem(404, "GET /api/jobs")


# The history.


async def test_runs_are_found_by_what_they_are(front: Api) -> None:
    word = new_word("word")
    feeds = [await added(front, new_url(), name=f"{word} {number}") for number in range(5)]
    for feed in feeds:
        await started(front, feed["url"])
    everything = await logs(front, q=word.upper())
    page = everything.body
    assert (page["page"], page["limit"], page["total"], page["totalPages"]) == (1, 20, 5, 1)
    assert [run["sourceUrl"] for run in page["data"]] == [feed["url"] for feed in feeds[::-1]]
    second = (await logs(front, q=word, page=2, limit=2)).body
    assert (second["total"], second["totalPages"]) == (5, 3)
    assert second["data"] == page["data"][2:4]
    assert (await logs(front, q=word, page=4, limit=2)).body["data"] == []

    run = page["data"][2]
    moment = run["startedAt"]
    same = [each for each in page["data"] if each["startedAt"] == moment]
    last_day, first_day = (page["data"][place]["startedAt"][:10] for place in (0, -1))
    for parameters, expected in (
        ({"sourceUrl": run["sourceUrl"]}, [run]),
        ({"q": word, "status": "running"}, page["data"]),
        ({"q": word, "status": "completed"}, []),
        ({"q": word, "from": moment, "to": moment}, same),
        ({"q": word, "from": first_day, "to": last_day}, page["data"]),
        ({"q": word, "to": "2020-01-01"}, []),
        ({"q": word, "status": "", "from": "", "to": "", "sourceUrl": ""}, page["data"]),
        ({"q": word, "from": "2999-01-01T00:00:00Z"}, []),
    ):
        found = await logs(front, **parameters)
        assert found.body["data"] == expected, parameters


@pytest.mark.parametrize(
    ("query", "part"),
    [
        ("page=0", "page"),
        ("page=x", "page"),
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("status=done", "status"),
        ("from=yesterday", "from"),
        ("to=2026-13-01", "to"),
        ("q=a%00b", "NUL"),
        ("q=%ff", "UTF-8"),
        (f"q={'x' * 201}", "q"),
        ("sourceUrl=x", "http://"),
        ("colour=red", "colour"),
    ],
)
async def test_a_bad_question_is_refused(front: Api, query: str, part: str) -> None:
    assert (await front.raw(f"/api/import-logs?{query}")).is_problem(422, part)
