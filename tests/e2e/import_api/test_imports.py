"""Whole imports, and the postings that they store."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from e2e.api_client import Api
from e2e.feed_site import FeedSite, finished_run, item, listening, rss
from e2e.import_api.calls import added, imported, jobs, logs, new_word, started
from e2e.running import running
from e2e.watched_site import ALLOWED
from servers.mongod import MongoServer
from servers.redis import RedisServer


@pytest.mark.parametrize(
    ("query", "part"),
    [
        ("limit=0", "limit"),
        ("open=perhaps", "open"),
        ("from=once", "from"),
        ("cursor=x", "cursor"),
        ("source=x", "http://"),
        ("company=a%00b", "NUL"),
        ("title=red", "title"),
    ],
)
async def test_a_bad_question_for_postings_is_refused(front: Api, query: str, part: str) -> None:
    assert (await front.raw(f"/api/jobs?{query}")).is_problem(422, part)


async def test_any_api_process_shows_an_import_over_servers(
    mongod: MongoServer, redis_server: RedisServer, site: FeedSite, tmp_path: Path
) -> None:
    backends = {
        "store": mongod.url,
        "mongodb_database": f"imports-{uuid.uuid4().hex[:8]}",
        "broker": redis_server.url,
    }
    url = site.url("/feed")
    site.feed = rss(*(item(number) for number in range(1, 451)))
    async with (
        running("api", data_dir=tmp_path / "one" / "data", **backends) as one,
        running(
            "up", data_dir=tmp_path / "other" / "data", allow_addresses=ALLOWED, **backends
        ) as other,
    ):
        here, there = Api(one.client, one.base), Api(other.client, other.base)
        await added(there, url)
        async with listening(here) as stream:
            run_id = (await started(there, url))["runId"]
            begun = await stream.until(run_id)
            end = await stream.until(run_id, status="completed")
        assert (end.data["newJobs"], end.data["meta"]["processedBatches"]) == (450, 3)
        async with listening(there, headers={"Last-Event-ID": begun.id}) as stream:
            assert (await stream.until(run_id, status="completed")).data == end.data
        [job] = (await jobs(here, q="job 449", source=url)).body["data"]
        assert job["externalId"] == "job-449"
        assert (await jobs(here, cursor="x")).is_problem(422, "cursor")


async def test_after_a_feed_has_moved_nothing_in_it_is_new(api: Api, site: FeedSite) -> None:
    old, new = site.url("/feed?old"), site.url("/feed?new")
    without_id = "<item><title>No id</title><link>https://jobs.test/9</link></item>"
    site.feed = rss(item(1), item(2), without_id)
    feed = await added(api, old, name=new_word("Moving"))
    assert (await imported(api, old))["newJobs"] == 3
    before = (await jobs(api, source=old)).body["data"]
    assert (
        await api.call("PATCH", f"/api/feeds/{feed['feedId']}", json={"url": new})
    ).status == 200

    run = await imported(api, new)
    counts = ("totalFetched", "newJobs", "updatedJobs", "unchangedJobs", "failedJobs")
    assert [run[name] for name in counts] == [3, 0, 0, 3, 0]
    assert (run["sourceUrl"], run["feedId"]) == (old, feed["feedId"])
    assert site.requests[-1].target == "/feed?new"
    assert (await jobs(api, source=old)).body["data"] == before
    site.feed = rss(item(1), item(2), item(3), without_id)
    later = await imported(api, old)  # it is known by both
    assert (later["newJobs"], later["unchangedJobs"]) == (1, 3)
    assert site.requests[-1].target == "/feed?new"
    keys = {job["dedupeKey"] for job in (await jobs(api, source=old)).body["data"]}
    assert keys > {job["dedupeKey"] for job in before}


async def test_an_import_is_counted_shown_and_searchable(api: Api, site: FeedSite) -> None:
    url = site.url("/feed")
    company = new_word("Company")
    site.feed = rss(
        item(1, "Gardener", author=company, description="<p>Roses</p>"),
        item(2, "Cook & <b>Baker</b>", author=company),
        item(2, "Cook again"),
        item(3, title=""),
    )
    await added(api, url, name="Whole", mapping={"company": "author"})
    async with listening(api) as stream:
        run_id = (await started(api, url))["runId"]
        end = await stream.until(run_id, status="partial")
    run = await finished_run(api, run_id)
    counts = ("totalFetched", "newJobs", "updatedJobs", "unchangedJobs", "duplicateJobs")
    assert [run[name] for name in counts] == [4, 2, 0, 0, 1]
    assert (run["failedJobs"], run["totalImported"], run["trigger"]) == (1, 2, "manual")
    [failure] = run.pop("failures")
    assert failure["index"] == 3
    assert "title" in failure["reason"]
    assert run["failureReasons"] == {failure["reason"]: 1}
    assert run["fileName"] == run["sourceUrl"] == url
    assert (run["meta"]["totalBatches"], run["meta"]["processedBatches"]) == (1, 1)
    assert run["meta"]["phase"] == "finished"
    assert end.data == run
    [row] = (await logs(api, sourceUrl=url)).body["data"]
    assert row == run

    page = (await jobs(api, company=company)).body
    assert page["nextCursor"] is None
    assert {job["title"] for job in page["data"]} == {"Gardener", "Cook & Baker"}
    [gardener] = (await jobs(api, q="garden*", source=url)).body["data"]
    assert gardener["externalId"] == "job-1"
    assert gardener["publishedAt"] == "2026-11-02T10:00:00Z"
    assert (gardener["open"], gardener["firstRunId"]) == (True, run_id)
    assert (await api.call("GET", f"/api/jobs/{gardener['dedupeKey']}")).body == gardener

    feed = (await api.call("GET", "/api/feeds")).body["data"]
    [last] = [each for each in feed if each["url"] == url]
    assert (last["lastStatus"], last["lastRunId"], last["activeRunId"]) == ("partial", run_id, None)


async def test_a_retry_writes_what_failed_and_leaves_the_rest(api: Api, site: FeedSite) -> None:
    url = site.url("/feed")
    site.feed = rss(item(1), item(2, title=""))
    await added(api, url)
    first = await imported(api, url)
    assert (first["status"], first["newJobs"], first["failedJobs"]) == ("partial", 1, 1)
    site.feed = rss(item(1), item(2))
    answer = await api.call("POST", f"/api/import-logs/{first['runId']}/retry")
    assert answer.status == 202, answer.text
    [run] = answer.body["runs"]
    assert answer.headers["location"] == f"/api/import-logs/{run['runId']}"
    second = await finished_run(api, run["runId"])
    assert (second["status"], second["trigger"]) == ("completed", "retry")
    assert second["retryOf"] == first["runId"]
    assert (second["newJobs"], second["unchangedJobs"], second["updatedJobs"]) == (1, 1, 0)
    # It is forced: the server would say that nothing has changed.
    answer = await api.call("POST", f"/api/import-logs/{second['runId']}/retry")
    third = await finished_run(api, answer.body["runs"][0]["runId"])
    assert (third["totalFetched"], third["unchangedJobs"]) == (2, 2)
    runs = [first["runId"], second["runId"], third["runId"]]
    turned = (await logs(api, sourceUrl=url, sort="startedAt")).body["data"]
    assert [run["runId"] for run in turned] == runs
    assert [run["runId"] for run in (await logs(api, sourceUrl=url)).body["data"]] == runs[::-1]
    unforced = await imported(api, url)
    assert (unforced["totalFetched"], unforced["meta"]["notModified"]) == (0, True)


async def test_a_running_import_is_not_retried_and_can_be_cancelled(
    api: Api, site: FeedSite
) -> None:
    url = site.url("/gated-feed")
    feed = await added(api, url)
    run = await started(api, url)
    await site.started.wait()
    retry = await api.call("POST", f"/api/import-logs/{run['runId']}/retry")
    assert retry.is_problem(409, "being imported already")
    assert [each["runId"] for each in retry.body["runs"]] == [run["runId"]]
    cancel = await api.call("POST", f"/api/import-logs/{run['runId']}/cancel")
    assert (cancel.status, cancel.body["cancelRequested"]) == (202, True)
    ended = await finished_run(api, run["runId"])
    assert (ended["status"], ended["error"]) == ("failed", "cancelled")
    again = await api.call("POST", f"/api/import-logs/{run['runId']}/cancel")
    assert again.is_problem(409, "has ended already: it is failed")

    assert (await api.call("DELETE", f"/api/feeds/{feed['feedId']}")).status == 204
    gone = await api.call("POST", f"/api/import-logs/{run['runId']}/retry")
    assert gone.is_problem(404, url, "POST /api/feeds")
    assert (await api.call("GET", f"/api/import-logs/{run['runId']}")).status == 200


async def test_postings_are_listed_page_by_page_and_as_open_or_closed(
    api: Api, site: FeedSite
) -> None:
    url = site.url("/feed")
    site.feed = rss(*(item(number) for number in range(1, 8)))
    await added(api, url, closeMissing=True)
    await imported(api, url)
    site.feed = rss(*(item(number) for number in range(1, 6)))
    second = await imported(api, url)
    assert (second["closedJobs"], second["unchangedJobs"]) == (2, 5)
    seen: list[str] = []
    more: dict[str, str] = {}
    while True:
        page = (await jobs(api, source=url, limit=3, **more)).body
        assert len(page["data"]) <= 3
        seen += [job["externalId"] for job in page["data"]]
        if page["nextCursor"] is None:
            break
        more = {"cursor": page["nextCursor"]}
    assert sorted(seen) == [f"job-{number}" for number in range(1, 8)]
    turned = (await jobs(api, source=url, sort="publishedAt")).body["data"]
    assert [job["externalId"] for job in turned] == seen[::-1]
    closed = (await jobs(api, source=url, open="false")).body["data"]
    assert {job["externalId"] for job in closed} == {"job-6", "job-7"}
    assert all(job["closedAt"] and not job["open"] for job in closed)
    empty = {"q": "", "company": "", "location": "", "open": "", "from": "", "to": ""}
    assert len((await jobs(api, source=url, **empty)).body["data"]) == 7
    still = (await jobs(api, source=url, open="true")).body["data"]
    assert len(still) == 5
    assert len((await jobs(api, source=url, to="2026-11-01")).body["data"]) == 0
    days = {"from": "2026-11-02", "to": "2026-11-02"}
    assert len((await jobs(api, source=url, **days)).body["data"]) == 7


async def test_a_feed_that_can_not_be_had_ends_its_run_with_the_reason(
    api: Api, site: FeedSite
) -> None:
    url = site.url("/feed")
    site.broken = True
    feed = await added(api, url)
    run = await imported(api, url)
    assert (run["status"], run["totalFetched"]) == ("failed", 0)
    assert "500" in run["error"]
    shown = (await api.call("GET", f"/api/feeds/{feed['feedId']}")).body
    assert (shown["lastStatus"], shown["consecutiveFailures"]) == ("failed", 1)
    assert shown["lastError"] == run["error"]


async def test_of_failed_runs_only_those_of_feeds_that_still_fail_are_retried(
    api: Api, site: FeedSite
) -> None:
    site.broken = True
    word = new_word("retried")
    failing, fixed = site.url("/feed?failing"), site.url("/feed?fixed")
    for url in (failing, failing, fixed):
        if url not in [each["url"] for each in (await api.call("GET", "/api/feeds")).body["data"]]:
            await added(api, url, name=f"{word} {url[-5:]}")
        assert (await imported(api, url))["status"] == "failed"
    site.broken = False
    assert (await imported(api, fixed))["status"] == "completed"
    site.broken = True

    body = {"action": "retry", "filter": {"q": word, "status": "failed"}, "atMost": 2}
    grown = await api.call("POST", "/api/import-logs/bulk", json=body)
    assert grown.is_problem(409, "more than 2 match now")
    result = (await bulk(api, **body | {"atMost": 3}))[-1]
    assert (result["total"], result["succeeded"], result["skipped"], result["failed"]) == (
        2, 1, 1, 0,
    )  # fmt: skip
    [skipped] = result["failures"]
    assert (skipped["name"], skipped["skipped"]) == (f"{word} fixed", True)
    assert "since" in skipped["reason"]
    retried = (await logs(api, q=word)).body["data"][0]
    assert (retried["sourceUrl"], retried["trigger"]) == (failing, "retry")
    await finished_run(api, retried["runId"])

    for chosen, total in (
        ({"sourceUrl": failing}, 1),
        ({"q": word, "from": "2000-01-01T00:00:00Z", "to": "2001-01-01T00:00:00Z"}, 0),
        ({"q": word, "from": "2000-01-01T00:00:00Z", "status": "completed"}, 1),
    ):
        lines = await bulk(api, action="retry", filter=chosen)
        assert lines[-1]["total"] == total
        for run in (await logs(api, q=word)).body["data"]:
            await finished_run(api, run["runId"])
    wrong = {"action": "retry", "filter": {"sourceUrl": "ftp://a.test/"}}
    assert (await api.call("POST", "/api/import-logs/bulk", json=wrong)).is_problem(422, "URL")


async def bulk(api: Api, **body: Any) -> list[dict[str, Any]]:
    """The lines of the response."""
    answer = await api.call("POST", "/api/import-logs/bulk", json=body)
    assert answer.status == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]
