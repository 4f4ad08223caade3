"""Feeds, runs and postings through the API: real processes, feeds on loopback."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from e2e.api_client import Answer, Api, calling
from e2e.feed_site import FeedSite, finished_run, item, listening, rss
from e2e.running import Webloom, running, running_for_module
from e2e.watched_site import ALLOWED
from servers.mongod import MongoServer
from servers.redis import RedisServer
from webloom.parsing.opml import Outline, read_opml, write_opml

UNKNOWN = "0123456789abcdef"


@pytest.fixture(scope="module")
def apis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Webloom, Webloom]]:
    """Two API processes and nobody who imports: a run that is started here stays as it is."""
    data_dir = tmp_path_factory.mktemp("apis") / "data"
    with (
        running_for_module("api", data_dir=data_dir) as one,
        running_for_module("api", data_dir=data_dir) as other,
    ):
        yield one, other


@pytest.fixture
async def front(apis: tuple[Webloom, Webloom]) -> AsyncIterator[Api]:
    async with calling(apis[0]) as api:
        yield api


@pytest.fixture
async def other(apis: tuple[Webloom, Webloom]) -> AsyncIterator[Api]:
    async with calling(apis[1]) as api:
        yield api


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webloom]:
    folder = tmp_path_factory.mktemp("whole")
    with running_for_module(
        "up", data_dir=folder / "data", allow_addresses=ALLOWED, retry_delay=0.05
    ) as it:
        yield it


@pytest.fixture
async def api(whole: Webloom) -> AsyncIterator[Api]:
    async with calling(whole) as api:
        yield api


@pytest.fixture
async def site() -> AsyncIterator[FeedSite]:
    async with FeedSite() as site:
        yield site


_numbers = itertools.count(1)


def new_url() -> str:
    return f"https://feeds-{next(_numbers)}.test/jobs.xml"


async def added(api: Api, url: str, **fields: Any) -> dict[str, Any]:
    answer = await api.call("POST", "/api/feeds", json={"url": url, **fields})
    assert answer.status == 201, answer.text
    return dict(answer.body)


async def started(api: Api, source_url: str) -> dict[str, Any]:
    answer = await api.call("POST", "/api/import/run", json={"sourceUrl": source_url})
    assert answer.status == 202, answer.text
    [run] = answer.body["runs"]
    return dict(run)


async def imported(api: Api, source_url: str) -> dict[str, Any]:
    return await finished_run(api, (await started(api, source_url))["runId"])


async def logs(api: Api, **parameters: str | int) -> Answer:
    return await api.call("GET", "/api/import-logs", params=parameters)


async def jobs(api: Api, **parameters: str | int) -> Answer:
    return await api.call("GET", "/api/jobs", params=parameters)


# Feeds.


async def test_a_feed_is_added_shown_and_listed(front: Api) -> None:
    url = new_url()
    before = datetime.now(UTC)
    answer = await front.call(
        "POST", "/api/feeds", json={"url": url.replace("https://", "HTTPS://"), "name": "Jobs"}
    )
    assert answer.status == 201
    feed = answer.body
    assert answer.headers["location"] == f"/api/feeds/{feed['feedId']}"
    created, next_run = (datetime.fromisoformat(feed.pop(k)) for k in ("createdAt", "nextRunAt"))
    assert created - timedelta(minutes=1) < before < next_run
    assert feed.pop("updatedAt")
    feed_id = feed.pop("feedId")
    assert feed == {
        "url": url,
        "name": "Jobs",
        "format": "auto",
        "intervalMinutes": None,
        "enabled": True,
        "mapping": {},
        "closeMissing": False,
        "activeRunId": None,
        "lastRunId": None,
        "lastRunAt": None,
        "lastStatus": None,
        "lastError": None,
        "consecutiveFailures": 0,
    }
    shown = await front.call("GET", f"/api/feeds/{feed_id}")
    assert shown.body.items() >= feed.items()
    listed = (await front.call("GET", "/api/feeds")).body
    assert shown.body in listed["data"]
    assert listed["total"] == len(listed["data"])


async def test_a_feed_that_is_there_is_answered_with_its_id(front: Api) -> None:
    url = new_url()
    feed = await added(front, url, name="First")
    again = await front.call("POST", "/api/feeds", json={"url": url, "name": "Second"})
    assert again.is_problem(409, "'First'", feed["feedId"])
    assert again.body["feedId"] == feed["feedId"]
    assert again.body["feed"] == feed


async def test_a_feed_is_edited_paused_resumed_and_removed(front: Api) -> None:
    path = f"/api/feeds/{(await added(front, new_url(), name='Old'))['feedId']}"
    changes = {
        "name": " New\n name ",
        "intervalMinutes": 5,
        "format": "rss",
        "mapping": {"company": "author"},
        "closeMissing": True,
    }
    edited = await front.call("PATCH", path, json=changes)
    assert edited.status == 200, edited.text
    assert edited.body.items() >= (changes | {"name": "New name"}).items()
    usual = await front.call("PATCH", path, json={"intervalMinutes": None})
    assert usual.body["intervalMinutes"] is None
    assert usual.body["format"] == "rss"

    paused = await front.call("POST", f"{path}/pause")
    assert (paused.body["enabled"], paused.body["nextRunAt"]) == (False, None)
    resumed = await front.call("POST", f"{path}/resume")
    assert resumed.body["enabled"]
    assert resumed.body["nextRunAt"]

    assert (await front.call("DELETE", path)).status == 204
    gone = [
        await front.call("GET", path),
        await front.call("DELETE", path),
        await front.call("PATCH", path, json={"name": "x"}),
        await front.call("POST", f"{path}/pause"),
        await front.call("POST", f"{path}/resume"),
    ]
    for answer in gone:
        assert answer.is_problem(404, "GET /api/feeds")


BAD_FEEDS: list[tuple[object, int, str]] = [
    ({}, 422, "url"),
    ([], 422, "object"),
    ({"url": 1}, 422, "url"),
    ({"url": "ftp://a.test/"}, 422, "http:// or https://"),
    ({"url": "http://10.0.0.1/feed"}, 422, "private"),
    ({"url": "http://localhost:8081/"}, 422, "127.0.0.1"),
    ({"url": "https://a.test/", "name": " "}, 422, "name: it is empty"),
    ({"url": "https://a.test/", "name": "a\0b"}, 422, "name: it contains a control character"),
    ({"url": "https://a.test/", "name": "x" * 201}, 422, "name: longer than 200"),
    ({"url": "https://a.test/", "format": "pdf"}, 422, "format: 'pdf'"),
    ({"url": "https://a.test/", "intervalMinutes": 0}, 422, "interval: 0 minutes"),
    ({"url": "https://a.test/", "intervalMinutes": "1"}, 422, "intervalMinutes"),
    ({"url": "https://a.test/", "mapping": {"nothing": "a"}}, 422, "nothing"),
    ({"url": "https://a.test/", "mapping": {"title": "a b//"}}, 422, "mapping"),
    ({"url": "https://a.test/", "colour": "red"}, 422, "colour"),
]


@pytest.mark.parametrize(
    ("body", "status", "part"), BAD_FEEDS, ids=[str(row[0])[:60] for row in BAD_FEEDS]
)
async def test_a_bad_feed_is_refused_with_its_reason(
    front: Api, body: object, status: int, part: str
) -> None:
    answer = await front.call("POST", "/api/feeds", json=body)
    assert answer.is_problem(status, part)


async def test_a_bad_change_is_refused_and_changes_nothing(front: Api) -> None:
    feed = await added(front, new_url(), name="Kept")
    path = f"/api/feeds/{feed['feedId']}"
    for change, part in (
        ({"url": new_url()}, "url"),
        ({"format": "pdf"}, "pdf"),
        ({"name": None}, "name"),
        ({"name": ""}, "name: it is empty"),
        ({"enabled": "no"}, "enabled"),
        ({"intervalMinutes": -1}, "-1 minutes"),
    ):
        assert (await front.call("PATCH", path, json=change)).is_problem(422, part)
    assert (await front.call("PATCH", path, data=b"{")).is_problem(400, "not JSON")
    assert (await front.call("GET", path)).body == feed


async def test_how_a_feed_is_read_does_not_change_while_it_is(front: Api) -> None:
    feed = await added(front, new_url(), name="Busy")
    path = f"/api/feeds/{feed['feedId']}"
    run = await started(front, feed["url"])
    for change in ({"format": "rss"}, {"mapping": {"company": "author"}}):
        assert (await front.call("PATCH", path, json=change)).is_problem(409, "being imported")
    renamed = await front.call("PATCH", path, json={"name": "Renamed"})
    assert (renamed.body["name"], renamed.body["activeRunId"]) == ("Renamed", run["runId"])


HOSTILE_NAMES = [
    "<script>alert(document.domain)</script>",
    "\"quotes\" & 'more'",
    "'; DROP TABLE feeds; --",
    '{"$gt": ""}',
    "\u202egnp.exe",
    "Jobs & Café ☕ 漢字 👩‍👩‍👧",
    "x" * 200,
    "../../etc/passwd",
    "%00%0a",
]


async def test_a_hostile_name_is_a_name_like_any_other(front: Api, tmp_path: Path) -> None:
    feeds = {new_url(): name for name in HOSTILE_NAMES}
    for url, name in feeds.items():
        feed = await added(front, url, name=name)
        assert feed["name"] == name
        assert (await started(front, url))["sourceName"] == name
        found = await logs(front, q=name)
        assert [run["sourceName"] for run in found.body["data"]] == [name]
    opml = await front.call("GET", "/api/feeds/opml")
    assert feeds.items() <= dict(read_opml(opml.text.encode())).items()


# OPML.


async def test_feeds_go_out_as_opml_and_come_back(tmp_path: Path) -> None:
    async with running("api", data_dir=tmp_path / "data") as it:
        api = Api(it.client, it.base)
        feeds = {f"https://{number}.test/?a=1&b=2": f"R&D <{number}>" for number in range(250)}
        outlines = [Outline(url, name) for url, name in feeds.items()]
        refused = [Outline("http://10.0.0.1/", "inside"), Outline("mailto:a@b.test", "no feed")]
        opml = write_opml(outlines + refused, title="Mine", created=datetime.now(UTC))

        first = (await api.call("POST", "/api/feeds/opml", data=opml)).body
        assert (first["added"], first["known"], first["refused"]) == (250, 0, 2)
        assert [(each["url"], each["name"]) for each in first["refusals"]] == refused
        assert "private" in first["refusals"][0]["reason"]
        assert "http:// or https://" in first["refusals"][1]["reason"]

        exported = await api.call("GET", "/api/feeds/opml")
        assert exported.headers["content-type"].startswith("text/x-opml")
        assert dict(read_opml(exported.text.encode())) == feeds
        again = (await api.call("POST", "/api/feeds/opml", data=exported.text.encode())).body
        assert (again["added"], again["known"], again["refused"]) == (0, 250, 0)
        assert (await api.call("GET", "/api/feeds")).body["total"] == 250


async def test_a_large_opml_is_taken_and_a_huge_one_is_not(front: Api) -> None:
    opml = write_opml([Outline(new_url(), "Large")], title="Mine", created=datetime.now(UTC))
    large = opml + b"<!--" + b"x" * (2 << 20) + b"-->"
    answer = await front.call("POST", "/api/feeds/opml", data=large)
    assert (answer.status, answer.body["added"]) == (200, 1)
    assert (await front.call("POST", "/api/feeds/opml", data=bytes(17 << 20))).is_problem(413)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "no OPML"),
        (b"<html></html>", "begins with <html>"),
        (b'<!DOCTYPE opml [<!ENTITY a "a">]><opml>&a;</opml>', "DTD"),
        (b"<opml><body><outline", "broken in line 1"),
    ],
)
async def test_what_is_no_opml_is_refused(front: Api, content: bytes, part: str) -> None:
    assert (await front.call("POST", "/api/feeds/opml", data=content)).is_problem(422, part)


# Starting runs.


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


async def test_a_feed_that_is_being_imported_is_answered_with_its_run(
    front: Api, other: Api
) -> None:
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
    word = f"word{next(_numbers)}"
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
    day = moment[:10]
    for parameters, expected in (
        ({"sourceUrl": run["sourceUrl"]}, [run]),
        ({"q": word, "status": "running"}, page["data"]),
        ({"q": word, "status": "completed"}, []),
        ({"q": word, "from": moment, "to": moment}, [run]),
        ({"q": word, "from": day, "to": day}, page["data"]),
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


# Live.


@pytest.mark.parametrize("path", ["/api/import-logs/stream", "/api/import-logs/sse"])
async def test_a_change_is_told_whoever_made_it(front: Api, other: Api, path: str) -> None:
    feed = await added(front, new_url(), name="Before")
    run = await started(front, feed["url"])
    async with listening(other, path) as stream:
        event = await stream.until(run["runId"])
        assert stream.retry == "2000"
        assert event.name == "import_log"
        assert event.data["status"] == "running"
        [row] = (await logs(front, sourceUrl=feed["url"])).body["data"]
        assert event.data == row

        second = await started(front, (await added(front, new_url()))["url"])
        await stream.until(second["runId"], cancelRequested=False)
        await front.call("POST", f"/api/import-logs/{second['runId']}/cancel")
        await stream.until(second["runId"], cancelRequested=True)


async def test_a_listener_resumes_anywhere_with_all_that_it_missed(front: Api, other: Api) -> None:
    seen = await started(front, (await added(front, new_url()))["url"])
    missed = await added(front, new_url())
    async with listening(front) as stream:
        last = await stream.until(seen["runId"])
    assert last.id is not None
    assert last.id.isdigit()
    run = await started(front, missed["url"])
    await front.call("POST", f"/api/import-logs/{run['runId']}/cancel")
    ways: tuple[dict[str, Any], ...] = (
        {"headers": {"Last-Event-ID": last.id}},
        {"params": {"lastEventId": last.id}},
        {"headers": {"Last-Event-ID": last.id}, "params": {"lastEventId": "9" * 16}},
    )
    for options in ways:
        async with listening(other, **options) as stream:
            event = await stream.until(run["runId"], cancelRequested=True)
            assert int(event.id or 0) >= int(last.id)


@pytest.mark.parametrize("position", ["x", "-1", "1" * 17, "1.5", "\u0661"])
async def test_a_position_that_is_none_is_refused(front: Api, position: str) -> None:
    answer = await front.raw(f"/api/import-logs/stream?lastEventId={quote(position)}")
    assert answer.is_problem(422, "Last-Event-ID")


async def test_a_process_with_listeners_stops_at_once(tmp_path: Path) -> None:
    async with running("api", data_dir=tmp_path / "data") as it:
        api = Api(it.client, it.base)
        run = await started(api, (await added(api, new_url()))["url"])
        async with listening(api) as stream:
            await stream.until(run["runId"])
            assert await it.stop(within=8) == 0
            await stream.end()


# Whole imports.


async def test_an_import_over_servers_is_told_by_a_process_that_has_no_part_in_it(
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


async def test_an_import_is_counted_told_and_found(api: Api, site: FeedSite) -> None:
    url = site.url("/feed")
    company = f"Company{next(_numbers)}"
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
