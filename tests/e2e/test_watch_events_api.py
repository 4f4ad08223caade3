"""POST /api/watch/events: what programs without a broker's client send to the storage agent."""

from __future__ import annotations

import json
import random
import re
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.api_client import Api, calling
from e2e.running import (
    Webloom,
    environment,
    finished,
    running,
    running_for_module,
    until,
    until_some,
)
from e2e.shop_site import page_of
from webloom.bootstrap.connections import open_services
from webloom.settings import load_settings

SEED = """{
  "jobId": "abc123",
  "url": "https://example.com/product/5",
  "parsed": {
    "title": "iPhone 13",
    "text": "...",
    "images": ["https://example.com/1.png"],
    "links": ["https://example.com/"],
    "metadata": {"language": "en"}
  },
  "classification": {
    "type": "product",
    "confidence": 0.92
  },
  "diff": {
    "textChanged": true,
    "images": {"added": ["https://example.com/1.png"], "removed": []}
  },
  "price": {
    "current": 79999,
    "previous": 82000,
    "changePercent": -2.56,
    "currency": "INR"
  },
  "snapshotHash": "1be6fa09",
  "version": 3,
  "ts": 1712345678910
}"""


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webloom]:
    """The API and the storage agent, each alone."""
    data_dir = tmp_path_factory.mktemp("events") / "data"
    with (
        running_for_module("api", data_dir=data_dir) as front,
        running_for_module("storage-agent", data_dir=data_dir),
    ):
        yield front


@pytest.fixture
async def api(parts: Webloom) -> AsyncIterator[Api]:
    async with calling(parts) as api:
        yield api


def event(**fields: Any) -> dict[str, Any]:
    """Of a job of its own."""
    watch_id = f"job-{uuid.uuid4().hex[:8]}"
    return {"jobId": watch_id, "url": "https://shop.test/1", "parsed": {"title": "Loom"}, **fields}


async def sent(api: Api, *events: dict[str, Any]) -> None:
    answer = await api.call("POST", "/api/watch/events", json=list(events))
    assert (answer.status, answer.body) == (202, {"accepted": len(events)}), answer.text


async def stored(api: Api, event: dict[str, Any], **wanted: Any) -> dict[str, Any]:
    """The page of the event, once it is so."""

    async def look() -> dict[str, Any] | None:
        params = {"jobId": str(event["jobId"]), "url": event["url"]}
        found = (await api.call("GET", "/api/watch/pages", params=params)).body["data"]
        return found[0] if found and wanted.items() <= found[0].items() else None

    return await until_some(look, what=f"the page of {event['jobId']} with {wanted}")


async def queued(api: Api) -> dict[str, int]:
    """Of the agent's queue, once it is reported: a busy machine may leave it out."""

    async def look() -> dict[str, int] | None:
        health = (await api.call("GET", "/health")).body
        for queue in health["queues"]:
            if queue["name"] == "storage-agent":
                return {state: queue[state] for state in ("ready", "delayed", "in_flight", "dead")}
        return None

    return await until_some(look, what="the depth of the queue")


async def settled(api: Api) -> None:
    async def look() -> bool | None:
        depth = await queued(api)
        return None if depth["ready"] or depth["delayed"] or depth["in_flight"] else True

    await until_some(look, what="the agent to have nothing to do")


async def test_the_message_of_the_documents_is_stored_as_they_say(api: Api) -> None:
    for _ in range(3):  # the more often, the same
        answer = await api.call("POST", "/api/watch/events", data=SEED.encode())
        assert (answer.status, answer.body) == (202, {"accepted": 1})
    await settled(api)
    message = json.loads(SEED)
    named = {"jobId": "abc123", "url": message["url"]}
    page = await page_of(api, "abc123", message["url"])
    assert page["lastUpdated"] == message["ts"]
    for name in ("jobId", "url", "version", "classification", "snapshotHash"):
        assert page[name] == message[name]
    for name in ("title", "text", "images", "links", "metadata"):
        assert page[name] == message["parsed"][name]
    assert (page["price"], page["currency"]) == (79999, "INR")
    job = (await api.call("GET", "/api/watches/abc123")).body
    counted = ("pagesProcessed", "changesDetected", "priceChangesDetected")
    assert [job[name] for name in counted] == [1, 1, 1]
    assert (job["external"], job["enabled"], job["nextRunAt"]) == (True, False, None)
    assert (job["lastStatus"], job["lastRunAt"]) == ("completed", "2024-04-05T19:34:38.910000Z")

    versions = (await api.call("GET", "/api/watch/pages/versions", params=named)).body["data"]
    [version] = versions
    assert version.pop("bytes") > 0
    assert version == named | {
        "snapshotHash": "1be6fa09", "version": 3, "createdAt": message["ts"], "expireAt": None,
    }  # fmt: skip
    whole = await api.call("GET", "/api/watch/pages/versions/3", params=named)
    assert whole.body["parsed"] == message["parsed"]
    [change] = (await api.call("GET", "/api/watch/pages/changes", params=named)).body["data"]
    assert change == named | {
        "changes": message["diff"], "version": {"previous": 2, "current": 3},
        "timestamp": message["ts"], "runId": None, "reasons": [], "alerts": [],
    }  # fmt: skip
    prices = (await api.call("GET", "/api/watch/pages/prices", params=named)).body
    assert prices["summary"]["lowest90Days"] == prices["data"][0]
    curve = await api.call(
        "GET", "/api/watch/pages/prices/curve", params=named | {"since": message["ts"] + 1}
    )
    assert curve.body == {
        "currency": "INR", "records": 0, "isThinned": False,
        "points": [{"timestamp": message["ts"], "price": 79999, "version": 3}],
    }  # fmt: skip
    assert prices["data"] == [
        named | {
            "price": 79999, "currency": "INR", "changePercent": -2.56, "timestamp": message["ts"],
            "version": 3,
        }
    ]  # fmt: skip
    runs = (await api.call("GET", "/api/watch/runs", params={"jobId": "abc123"})).body["data"]
    [run] = runs
    assert (run["trigger"], run["pagesProcessed"], run["pagesTotal"]) == ("events", 1, None)
    assert (run["changesDetected"], run["priceChangesDetected"]) == (1, 1)


async def test_fields_may_be_missing_null_or_unknown(api: Api) -> None:
    bare = event()
    optional = ("classification", "diff", "price", "snapshotHash", "version", "ts", "runId")
    nulls = event() | dict.fromkeys(optional)
    extra = event(price={"current": "call us"}, color="red", availability="maybe", version="2")
    contentless = {"jobId": 7, "url": "https://shop.test/7", "price": 12.5, "parsed": None}
    await sent(api, bare, nulls, extra, contentless)
    page = await stored(api, bare)
    assert (page["title"], page["version"], page["price"]) == ("Loom", 1, None)
    assert page["lastUpdated"] is not None
    assert (await stored(api, nulls))["version"] == 1
    page = await stored(api, extra)
    assert (page["version"], page["price"], page["availability"]) == (2, None, None)
    page = await stored(api, contentless)
    assert (page["jobId"], page["version"], page["price"]) == ("7", None, 12.5)
    assert (await queued(api))["dead"] == 0


async def test_reasons_of_another_program_are_data_and_sentences(api: Api) -> None:
    moved = {"kind": "price", "previous": 20, "current": "15.5", "currency": "EUR"}
    found = {"kind": "text", "phrases": ["sale"]}
    told = event(version=2, diff={"textChanged": True}, reasons=[moved, found], alerts=["cheaper"])
    text = event(version=2, diff={"textChanged": True}, reasons=["cheap"], alerts=["cheaper"])
    await sent(api, told, text)
    for each in (told, text):
        await stored(api, each)
    path = "/api/watch/pages/changes"
    [change] = (await api.call("GET", path, params={"jobId": told["jobId"]})).body["data"]
    assert change["reasons"] == [
        moved | {"current": 15.5, "changePercent": -22.5, "below": None},
        found,
    ]
    assert change["alerts"] == [
        "the price fell by 22.5 % to 15.50 EUR",
        'text was added that contains "sale"',
    ]
    [change] = (await api.call("GET", path, params={"jobId": text["jobId"]})).body["data"]
    assert (change["reasons"], change["alerts"]) == ([], ["cheaper"])


async def test_an_event_without_a_time_has_that_of_its_arrival_for_good(api: Api) -> None:
    wrong = event(ts="yesterday")
    await sent(api, wrong)
    page = await stored(api, wrong)
    again = event(jobId=wrong["jobId"], parsed={"title": "Loom 2"})
    await sent(api, again)
    later = await stored(api, again, title="Loom 2")
    assert later["version"] == 2
    assert later["lastUpdated"] >= page["lastUpdated"] > 1_700_000_000_000


REFUSED = [
    ({"url": "https://shop.test/1"}, "jobId is missing", "no job"),
    ({"jobId": "a"}, "url is missing", "no page"),
    ({"jobId": "a", "url": "no url"}, "url", "not a URL"),
    ({"jobId": "a", "url": 5}, "url is not a text", "a number for a URL"),
    ({"jobId": ["a"], "url": "https://shop.test/1"}, "jobId is not a text", "a list for an id"),
    ({"jobId": "a" * 201, "url": "https://shop.test/1"}, "jobId is longer", "an id without end"),
    ({"jobId": "a\nb", "url": "https://shop.test/1"}, "control character", "an id of two lines"),
]


@pytest.mark.parametrize(
    ("wrong", "reason"), [pytest.param(wrong, reason, id=why) for wrong, reason, why in REFUSED]
)
async def test_what_can_not_be_stored_is_refused_with_its_place_and_nothing_is_published(
    api: Api, wrong: dict[str, Any], reason: str
) -> None:
    fine = event()
    many = await api.call("POST", "/api/watch/events", json=[fine, wrong])
    assert many.is_problem(422, "Event 1: ", reason)
    one = await api.call("POST", "/api/watch/events", json=wrong)
    assert one.is_problem(422, reason)
    assert "Event" not in one.body["detail"]
    await settled(api)
    params = {"jobId": fine["jobId"]}
    assert (await api.call("GET", "/api/watch/pages", params=params)).body["data"] == []


async def test_bodies_that_are_no_events_are_refused(api: Api) -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    for body, status, part in (
        (b"", 400, "empty"),
        (b"{", 400, "JSON"),
        (b'"text"', 422, "body"),
        (b"[1]", 422, "Event 0: not a message"),
        (b"[]", 422, "0 events"),
        (b"[" + b",".join([b"{}"] * 1001) + b"]", 422, "more than 1,000 events"),
        (b'{"jobId": "a", "url": "https://a.test/", "parsed": ' + deep + b"}", 422, "levels deep"),
    ):  # fmt: skip
        answer = await api.call("POST", "/api/watch/events", data=body)
        assert answer.is_problem(status, part), body[:50]
    large = b'{"jobId":"a","url":"https://a.test/","parsed":{"text":"' + b"x" * (17 << 20) + b'"}}'
    assert (await api.call("POST", "/api/watch/events", data=large)).is_problem(413)
    long = event(parsed={"text": "x" * 9_000_000})
    assert (await api.call("POST", "/api/watch/events", json=long)).is_problem(422, "8,000,000")


async def test_a_full_queue_says_which_events_have_to_be_sent_again(tmp_path: Path) -> None:
    events = [event() for _ in range(5)]
    data_dir = tmp_path / "data"
    async with (
        running("api", data_dir=data_dir, queue_limit=3) as front,
        calling(front) as api,
    ):
        answer = await api.call("POST", "/api/watch/events", json=events)
        assert answer.is_problem(503, "3 of 5", "notAccepted")
        assert answer.headers["retry-after"] == "1"
        assert (answer.body["accepted"], answer.body["notAccepted"]) == (3, [3, 4])
        async with running("storage-agent", data_dir=data_dir, queue_limit=3) as agent:
            await settled(api)
            rest = [events[index] for index in answer.body["notAccepted"]]
            await sent(api, *rest)
            for each in events:
                assert (await stored(api, each))["version"] == 1

            async def is_seen() -> bool:
                others = (await api.call("GET", "/health")).body["others"]
                seen = [(each["role"], each["pid"], each["alive"]) for each in others]
                return ("storage-agent", agent.pid, True) in seen

            await until(is_seen, what="the heartbeat of the agent")
            assert await agent.stop() == 0
            assert "storage agent stopped" in agent.log


async def test_without_room_events_wait_and_health_says_so(tmp_path: Path) -> None:
    events = [event(parsed={"text": random.Random(n).randbytes(600_000).hex()}) for n in range(3)]
    data_dir, budget = tmp_path / "data", 1 << 20
    async with (
        running("api", data_dir=data_dir, storage_budget=budget) as front,
        running("storage-agent", data_dir=data_dir, storage_budget=budget) as agent,
        calling(front) as api,
    ):
        await sent(api, *events)

        async def full() -> dict[str, Any] | None:
            health = (await api.call("GET", "/health")).body
            return health if health["storage"] and health["status"] != "down" else None

        health = await until_some(full, what="no room to be left")
        assert health["status"] == "degraded"
        assert "WEBLOOM_STORAGE_BUDGET" in health["storage"]
        storage = (await api.call("GET", "/api/watch/storage")).body
        assert storage["full"]
        assert storage["bytes"] > storage["budget"] == budget
        await agent.logged("an event waits for room")

        async def waits() -> dict[str, int] | None:
            depth = await queued(api)
            return depth if depth["delayed"] == 1 else None

        assert (await until_some(waits, what="one event to wait"))["dead"] == 0
        doctor = await finished("doctor", env=environment(data_dir, storage_budget=budget))
        assert doctor.returncode == 1
        assert "PROBLEM  storage: full" in doctor.stdout
        for each in events:
            path = f"/api/watches/{each['jobId']}"
            assert (await api.call("DELETE", path, params={"pages": "true"})).status == 204
        assert (await api.call("GET", "/health")).body["storage"] is None


async def test_an_event_opens_its_run_and_another_one_closes_it(api: Api) -> None:
    first = event(runId=f"run-{uuid.uuid4().hex}", ts=1000, diff={"textChanged": True})
    await sent(api, first)
    await stored(api, first)
    await settled(api)
    run = (await api.call("GET", f"/api/watch/runs/{first['runId']}")).body
    assert (run["status"], run["finishedAt"], run["pagesProcessed"]) == ("in_progress", None, 1)
    await sent(api, first | {"url": "https://shop.test/2", "ts": 2000, "runStatus": "partial"})
    await settled(api)
    run = (await api.call("GET", f"/api/watch/runs/{first['runId']}")).body
    assert (run["status"], run["pagesProcessed"], run["changesDetected"]) == ("partial", 2, 2)
    job = (await api.call("GET", f"/api/watches/{first['jobId']}")).body
    assert (job["lastRunId"], job["lastStatus"]) == (first["runId"], "partial")
    assert (job["pagesProcessed"], job["changesDetected"]) == (2, 2)


async def test_an_external_watch_is_not_checked_by_webloom(api: Api) -> None:
    theirs = event()
    await sent(api, theirs)
    await stored(api, theirs)
    await settled(api)
    path = f"/api/watches/{theirs['jobId']}"
    for refused in (
        await api.call("POST", f"{path}/run"),
        await api.call("POST", f"{path}/resume"),
        await api.call("PATCH", path, json={"urls": ["https://shop.test/9"]}),
    ):
        assert refused.status == 422, refused.text
        assert "another program" in refused.body["detail"]
    renamed = await api.call("PATCH", path, json={"name": "Their shop"})
    assert (renamed.status, renamed.body["name"]) == (200, "Their shop")
    assert (await api.call("DELETE", path)).status == 204


def in_days(days: float) -> int:
    return int((time.time() + days * 24 * 3600) * 1000)


async def test_a_time_in_the_far_future_is_refused_with_its_place(api: Api) -> None:
    fine, ahead = event(ts=in_days(0.9)), event(ts=in_days(1.1))
    many = await api.call("POST", "/api/watch/events", json=[fine, ahead])
    assert many.is_problem(422, "Event 1: ts: ", "more than a day in the future")
    await sent(api, fine)
    await stored(api, fine, lastUpdated=fine["ts"])


async def watched(api: Api, url: str, **fields: Any) -> dict[str, Any]:
    """A watch that is only checked on demand, and an event of another program for its page."""
    answer = await api.call("POST", "/api/watches", json={"url": url, "enabled": False, **fields})
    assert answer.status == 201, answer.text
    return event(jobId=answer.body["jobId"], url=url)


async def test_a_page_that_a_watch_checks_is_refused_until_it_accepts_events(api: Api) -> None:
    theirs = await watched(api, "https://shop.test/own")
    job = f"/api/watches/{theirs['jobId']}"
    run = (await api.call("POST", f"{job}/run")).body
    pretended = theirs | {"origin": "checker", "runId": run["runId"]}
    for refused in (theirs, pretended, theirs | {"url": "HTTPS://shop.test:443/own"}):
        answer = await api.call("POST", "/api/watch/events", json=[event(), refused])
        assert answer.is_problem(422, "Event 1: url: ", "acceptsEvents", "another jobId")
    elsewhere = theirs | {"url": "https://shop.test/other"}
    await sent(api, elsewhere, theirs | {"jobId": f"{theirs['jobId']}-theirs"})
    await stored(api, elsewhere)

    edited = await api.call("PATCH", job, json={"acceptsEvents": True})
    assert edited.body["acceptsEvents"] is True
    await sent(api, theirs)
    assert (await stored(api, theirs))["title"] == "Loom"
    again = await api.call("PATCH", job, json=edited.body | {"acceptsEvents": False})
    assert (again.status, again.body["acceptsEvents"]) == (200, False)
    assert (await api.call("POST", "/api/watch/events", json=theirs)).is_problem(422, "url: ")


async def test_a_watch_that_accepts_events_from_the_start(api: Api) -> None:
    theirs = await watched(api, "https://shop.test/shared", acceptsEvents=True)
    await sent(api, theirs)
    assert (await stored(api, theirs))["title"] == "Loom"


async def test_events_over_http_can_not_claim_to_be_checks(tmp_path: Path) -> None:
    """What is put on the queue says that it came over HTTP, whatever it says itself."""
    data_dir = tmp_path / "data"
    ahead = event(origin="checker", jobId="theirs")
    async with running("api", data_dir=data_dir) as front, calling(front) as api:
        await sent(api, ahead, event(origin=None), event())
        settings = load_settings({"WEBLOOM_DATA_DIR": str(data_dir)})
        async with (
            open_services(settings) as services,
            services.broker.deliveries("storage-agent", 3) as deliveries,
        ):
            bodies = [(await anext(deliveries)).body for _ in range(3)]
    assert [json.loads(body)["origin"] for body in bodies] == ["api"] * 3


async def test_changes_of_one_moment_are_entries_of_their_own_in_the_feed(api: Api) -> None:
    back_and_forth = [
        event(jobId="back-and-forth", version=number, ts=1000, parsed={"title": f"{number % 2}"})
        for number in (2, 3, 4)
    ]
    await sent(api, *back_and_forth)
    await stored(api, back_and_forth[0], version=4)
    feed = (await api.call("GET", "/api/watches/back-and-forth/feed.atom")).text
    ids = re.findall("<id>(.*?)</id>", feed)[1:]  # behind that of the feed
    assert len(ids) == len(set(ids)) == 3
