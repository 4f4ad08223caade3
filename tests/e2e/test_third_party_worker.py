"""Imports that a worker of another program stores: Node, BullMQ's own package, MongoDB's driver."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pymongo
import pytest

from e2e.api_client import Api
from e2e.feed_site import FeedSite, item, listening, rss
from e2e.import_api.calls import added, jobs, started
from e2e.node_worker import NodeWorker, node_program, node_worker
from e2e.running import Webloom, running, until, until_some
from e2e.watched_site import ALLOWED
from servers.mongod import MongoServer
from servers.redis import RedisServer

BATCH = 20
LEASE = 4  # seconds for which a scheduler that was killed keeps its run
QUICK = {"lockDuration": 4000, "stalledInterval": 1000}  # a dead worker's batch is soon another's
COUNTED = ("newJobs", "updatedJobs", "unchangedJobs", "duplicateJobs", "failedJobs")


@dataclass(kw_only=True)
class Room:
    folder: Path
    mongodb: str
    redis: str
    site: FeedSite
    database: str = field(default_factory=lambda: f"third-party-{uuid.uuid4().hex[:8]}")

    @property
    def url(self) -> str:
        return self.site.url("/feed")

    def webloom(self, role: str, **settings: object) -> AbstractAsyncContextManager[Webloom]:
        return running(
            role,
            data_dir=self.folder / "data",
            store=self.mongodb,
            mongodb_database=self.database,
            broker_import_feed=self.redis,
            allow_addresses=ALLOWED,
            **{"batch_size": BATCH, "lease": LEASE, "complete_batches": "true"} | settings,
        )

    @asynccontextmanager
    async def api(self) -> AsyncIterator[Api]:
        async with self.webloom("api") as it:
            yield Api(it.client, it.base)

    def node(self, **options: Any) -> AbstractAsyncContextManager[NodeWorker]:
        return node_worker(self.redis, self.mongodb, self.database, **options)

    def documents(self) -> list[dict[str, Any]]:
        with pymongo.MongoClient[dict[str, Any]](self.mongodb) as client:
            return list(client[self.database].jobs.find())

    def run(self, run_id: str) -> dict[str, Any]:
        with pymongo.MongoClient[dict[str, Any]](self.mongodb) as client:
            found = client[self.database].import_logs.find_one({"runId": run_id})
        assert found is not None
        return found


@pytest.fixture
async def room(
    mongod: MongoServer, redis_server: RedisServer, tmp_path: Path
) -> AsyncIterator[Room]:
    node_program()
    redis = RedisServer(tmp_path / "redis")
    with redis.running():
        async with FeedSite() as site:
            yield Room(folder=tmp_path, mongodb=mongod.url, redis=redis.url, site=site)


async def closed(api: Api, run_id: str) -> dict[str, Any]:
    """The run, once its feed is free: the scheduler has accepted its end."""

    async def look() -> dict[str, Any] | None:
        [feed] = (await api.call("GET", "/api/feeds")).body["data"]
        if feed["activeRunId"] is not None or feed["lastRunId"] != run_id:
            return None
        assert feed["nextRunAt"] is None or datetime.fromisoformat(feed["nextRunAt"]) > now()
        run = (await api.call("GET", f"/api/import-logs/{run_id}")).body
        assert feed["lastStatus"] == run["status"]
        return dict(run)

    return await until_some(look, what=f"run {run_id} to be closed")


def now() -> datetime:
    return datetime.now(UTC)


def counts(run: dict[str, Any]) -> tuple[int, ...]:
    assert run["totalImported"] == run["newJobs"] + run["updatedJobs"]
    return tuple(run[name] for name in COUNTED)


async def listed(api: Api, **chosen: str | int) -> list[dict[str, Any]]:
    """All pages of it."""
    found: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        page = (await jobs(api, limit=100, **chosen, **cursor)).body
        found += page["data"]
        if page["nextCursor"] is None:
            return found
        cursor = {"cursor": page["nextCursor"]}


async def test_a_worker_of_node_imports_a_feed_and_webloom_takes_it_from_there(room: Room) -> None:
    good = [item(number, company="Loom Ltd") for number in range(200)]
    bad = [item(300, title=""), item(301, title="")]  # which the producer finds
    odd = [item(400, link=""), item(401, link="")]  # which the worker does not take
    room.site.feed = rss(*good, *bad, *odd, good[7], good[7])
    async with room.api() as api:
        async with room.webloom("scheduler"), room.node() as node, listening(api) as events:
            await added(api, room.url, name="Theirs")
            first = (await started(api, room.url))["runId"]
            run = await closed(api, first)
            assert (run["status"], run["error"]) == ("partial", None)
            assert counts(run) == (200, 0, 0, 2, 4)
            assert (run["totalFetched"], run["totalImported"]) == (206, 200)
            assert run["finishedAt"] is not None
            assert run["meta"]["durationMs"] >= 0
            total = run["meta"]["totalBatches"]
            assert (total, run["meta"]["processedBatches"]) == (11, 11)
            assert run["failureReasons"] == {"it has no title": 2, "jobUrl is missing": 2}
            assert sorted(each["batchIndex"] for each in node.batches) == list(range(total))
            for each in node.batches:
                assert set(each["fields"]) == {
                    "runId", "sourceUrl", "batchIndex", "totalBatches", "jobs",
                }  # fmt: skip
                assert (each["runId"], each["totalBatches"]) == (first, total)
            seen = await events.until(first, status="partial", failedJobs=4)
            assert seen.data["newJobs"] == 200

            postings = await listed(api)
            assert len(postings) == len({each["dedupeKey"] for each in postings}) == 200
            assert postings[0]["publishedAt"] == "2026-11-02T10:00:00Z"
            assert {each["firstRunId"] for each in postings} == {first}
            assert len(await listed(api, source=room.url)) == 200
            assert [each["externalId"] for each in await listed(api, q='"Job 17"')] == ["job-17"]
            assert len(await listed(api, company="loom")) == 200
            key = postings[0]["dedupeKey"]
            assert (await api.call("GET", f"/api/jobs/{key}")).body == postings[0]

            changed = item(7, title="Dyer of wool", company="Loom Ltd")
            room.site.feed = rss(*good[:7], changed, *good[8:], item(500))
            second = (await started(api, room.url))["runId"]
            run = await closed(api, second)
            assert (run["status"], counts(run)) == ("completed", (1, 200, 0, 0, 0))
            [dyer] = await listed(api, q="dyer")
            assert (dyer["firstRunId"], dyer["lastRunId"]) == (first, second)
            assert len(await listed(api, source=room.url)) == 201
            assert node.failures == []

        async with (
            room.webloom("scheduler", complete_batches="false"),
            room.webloom("worker", complete_batches="false"),
        ):
            answer = await api.call("POST", f"/api/import-logs/{second}/retry")
            run = await closed(api, answer.body["runs"][0]["runId"])
            assert (run["status"], counts(run)) == ("completed", (0, 0, 201, 0, 0))
    documents = room.documents()
    assert len(documents) == 201
    assert all("place" in each and isinstance(each["_id"], str) for each in documents)


async def test_a_worker_that_keeps_some_fields_only_costs_one_update(room: Room) -> None:
    """It takes over postings of ours, leaves out their hash, and changes one. One has left the
    feed, and is closed though the worker has ended the run."""
    room.site.feed = rss(*(item(number, description="We weave.") for number in range(60)))
    async with room.api() as api, room.webloom("scheduler"):
        await added(api, room.url, enabled=False, closeMissing=True)
        async with room.webloom("worker"):
            run = await closed(api, (await started(api, room.url))["runId"])
            assert (run["status"], counts(run)) == ("completed", (60, 0, 0, 0, 0))
            assert run["meta"]["totalBatches"] == 3
        room.site.feed = rss(
            *(item(number, description="We weave.") for number in range(1, 59)),
            item(59, title="Spinner", description="We spin."),
            item(60, description="We weave."),
        )
        async with room.node(schema=True):
            run = await closed(api, (await started(api, room.url))["runId"])
            assert (run["status"], counts(run)) == ("completed", (1, 59, 0, 0, 0))
            assert run["closedJobs"] == 1
            assert [each["title"] for each in await listed(api, q="spinner")] == ["Spinner"]
            assert len(await listed(api, source=room.url, open="true")) == 60
            [gone] = await listed(api, source=room.url, open="false")
            assert gone["externalId"] == "job-0"
        async with room.webloom("worker"):
            for expected in ((0, 2, 58, 0, 0), (0, 0, 60, 0, 0)):
                answer = await api.call("POST", f"/api/import-logs/{run['runId']}/retry")
                run = await closed(api, answer.body["runs"][0]["runId"])
                assert (run["status"], counts(run)) == ("completed", expected)
            [spinner] = await listed(api, q="spinner")
            assert spinner["description"] == "We spin."


async def test_a_run_ends_though_the_worker_of_node_was_killed_in_a_batch(room: Room) -> None:
    """The batch comes again, and its postings are there: for that worker they are old ones."""
    room.site.feed = rss(*(item(number) for number in range(100)))
    async with room.api() as api, room.webloom("scheduler"):
        await added(api, room.url)
        run_id = (await started(api, room.url))["runId"]
        async with room.node(dieInBatch=2, concurrency=1, **QUICK) as node:
            assert await node.ended() == -9
        async with room.node(**QUICK):
            run = await closed(api, run_id)
    assert run["status"] == "completed"
    assert len(room.documents()) == 100
    # On a slow machine BullMQ takes a batch from a worker that is alive, and it counts twice.
    assert (sum(counts(run)) > 100) == (run["error"] is not None)
    assert run["updatedJobs"] >= 20
    assert sum(counts(run)) >= 100


async def test_a_run_that_ended_while_no_scheduler_ran_is_accepted_by_the_next(room: Room) -> None:
    room.site.feed = rss(*(item(number) for number in range(100)))
    async with room.api() as api:
        await added(api, room.url, enabled=False)
        async with room.webloom("scheduler") as scheduler:
            run_id = (await started(api, room.url))["runId"]
            await until(
                lambda: room.run(run_id)["reading"]["allPublished"], what="all to be published"
            )
            await scheduler.kill()
        async with room.node():
            await until(lambda: room.run(run_id)["status"] == "completed", what="its end")
        [feed] = (await api.call("GET", "/api/feeds")).body["data"]
        assert feed["activeRunId"] == run_id
        async with room.webloom("scheduler"):
            run = await closed(api, run_id)
            assert (run["status"], counts(run)) == ("completed", (100, 0, 0, 0, 0))
            assert run["meta"]["totalBatches"] == run["meta"]["processedBatches"] == 5
            assert len(await listed(api)) == 100


async def test_a_killed_scheduler_goes_on_and_the_worker_of_node_counts_no_batch_twice(
    room: Room,
) -> None:
    """It had published some batches when it was killed."""
    room.site.feed = rss(*(item(number) for number in range(200)))
    async with room.api() as api:
        await added(api, room.url, enabled=False)
        async with room.webloom("scheduler", import_queue_limit=3) as scheduler:
            run_id = (await started(api, room.url))["runId"]
            await until(lambda: room.run(run_id)["reading"]["published"] == 3, what="a full queue")
            assert room.run(run_id)["meta"]["totalBatches"] == 10
            assert room.run(run_id)["totalFetched"] == 200
            await scheduler.kill()
        async with room.node() as node, room.webloom("scheduler", import_queue_limit=3):
            run = await closed(api, run_id)
            assert {each["totalBatches"] for each in node.batches} == {10}
    assert (run["status"], counts(run)) == ("completed", (200, 0, 0, 0, 0))
    assert len(room.documents()) == 200
