"""Processes that may not open another file: what they were asked for is not to blame."""

from __future__ import annotations

import resource
import sys
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from e2e.api_client import Api
from e2e.feed_site import FeedSite, finished_run, item, rss
from e2e.import_api.calls import added, started
from e2e.running import Webloom, environment, finished, running, until
from e2e.shop_site import ShopSite, finished_watch_run, product, watched
from e2e.watched_site import ALLOWED
from servers.mongod import MongoServer
from servers.rabbitmq import RabbitServer
from servers.redis import RedisServer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sets limits of other processes")


@pytest.fixture
async def shop() -> AsyncIterator[ShopSite]:
    async with ShopSite() as site:
        site.pages["/loom"] = product("99.50")
        yield site


@pytest.fixture
async def feeds() -> AsyncIterator[FeedSite]:
    async with FeedSite() as site:
        site.feed = rss(*map(item, range(1, 6)))
        yield site


class Limited:
    """Keeps a process from opening anything."""

    def __init__(self, it: Webloom) -> None:
        self._pid = it.pid
        self._usual = resource.prlimit(it.pid, resource.RLIMIT_NOFILE)

    def begin(self) -> None:
        used = {int(each.name) for each in Path(f"/proc/{self._pid}/fd").iterdir()}
        free = next(number for number in range(len(used) + 1) if number not in used)
        resource.prlimit(self._pid, resource.RLIMIT_NOFILE, (free, self._usual[1]))

    def end(self) -> None:
        resource.prlimit(self._pid, resource.RLIMIT_NOFILE, self._usual)


async def health(api: Api) -> dict[str, Any]:
    return dict((await api.call("GET", "/health")).body)


@pytest.fixture(
    params=["embedded", pytest.param("servers", marks=pytest.mark.thorough)],
)
def backends(request: pytest.FixtureRequest) -> dict[str, Any]:
    if request.param == "embedded":
        return {}
    mongod: MongoServer = request.getfixturevalue("mongod")
    rabbitmq: RabbitServer = request.getfixturevalue("rabbitmq")
    redis: RedisServer = request.getfixturevalue("redis_server")
    return {
        "store": mongod.url,
        "mongodb_database": f"out-{uuid.uuid4().hex[:8]}",
        "broker": rabbitmq.url,
        "broker_import_feed": redis.url,
    }


async def test_what_was_asked_for_waits_until_there_are_descriptors_again(
    tmp_path: Path, shop: ShopSite, feeds: FeedSite, backends: dict[str, Any]
) -> None:
    settings: dict[str, Any] = {
        "data_dir": tmp_path / "data",
        "allow_addresses": ALLOWED,
        "retry_delay": 0.05,
        **backends,
    }
    async with (
        running("api", **settings) as it,
        running("worker", **settings) as worker,
        running("scheduler", **settings) as scheduler,
    ):
        api = Api(it.client, it.base)
        await until_all_are_heard_of(api)
        limits = [Limited(each) for each in (worker, scheduler)]
        for limit in limits:
            limit.begin()
        url = shop.url("/page")
        await api.submit(url)
        feed = await added(api, feeds.url("/feed"))
        run = await started(api, feed["url"])
        watch = await watched(api, shop.url("/loom"))
        check = await api.call("POST", f"/api/watches/{watch['jobId']}/run")
        assert check.status == 202, check.text

        async def both_wait() -> bool:
            seen = await health(api)
            waiting = [each for each in seen["workers"] + seen["others"] if each["exhausted"]]
            return {each["role"] for each in waiting} == {"worker", "scheduler"}

        await until(both_wait, what="what is missing, in /health")
        seen = await health(api)
        assert seen["status"] == "degraded"
        assert "raise its limit of open files" in seen["resources"]
        env = environment(**settings)
        doctor = await finished("doctor", env=env)
        assert doctor.returncode == 1
        assert "resources: " in doctor.stdout
        overview = (await api.call("GET", "/api/overview")).body
        assert any("limit of open files" in each["advice"] for each in overview["troubles"])
        record = await api.listed(url)
        assert (record["status"], record["processing"]["retry_count"]) == ("IN_PROGRESS", 0)
        assert shop.connections == feeds.connections == 0

        for limit in limits:
            limit.end()
        record = await api.listed_as(url, "COMPLETED")
        assert record["processing"]["attempt_number"] == 1
        assert record["processing"]["retry_count"] == 0
        done = await finished_run(api, run["runId"])
        assert (done["status"], done["newJobs"], done["error"]) == ("completed", 5, None)
        checked = await finished_watch_run(api, check.body["runId"])
        assert (checked["status"], checked["pagesProcessed"]) == ("completed", 1), checked
        assert checked["failures"] == []

        async def is_well() -> bool:
            return (await health(api))["resources"] is None

        await until(is_well, what="the end of the shortage, in /health")
        health_now = await health(api)
        [seen_worker] = health_now["workers"]
        assert (seen_worker["retried"], seen_worker["failed"]) == (0, 0)
        for each in (worker, scheduler):
            assert each.log.count("waiting for resources of this machine") == 1
            assert "enough again" in each.log


async def until_all_are_heard_of(api: Api) -> None:
    async def are() -> bool:
        seen = await health(api)
        return bool(seen["workers"]) and "scheduler" in {each["role"] for each in seen["others"]}

    await until(are, what="the first heartbeats")
