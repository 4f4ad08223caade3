"""The overview and the queues: the API alone, everything in one process, unreachable servers."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from e2e.api_client import Api, calling
from e2e.feed_site import FeedSite, item, rss
from e2e.running import Webloom, running, running_for_module, until_some
from e2e.shop_site import ShopSite, article
from e2e.watched_site import ALLOWED
from servers.mongod import MongoServer
from servers.private import free_port
from servers.rabbitmq import RabbitServer
from webloom.application.overview import build_overview, caching, sampler
from webloom.bootstrap.connections import open_services
from webloom.bootstrap.services import Services
from webloom.domain.import_run import IMPORT_QUEUE
from webloom.domain.inventory import METADATA_QUEUE, Status
from webloom.domain.page import CHECK_QUEUE, STORAGE_QUEUE
from webloom.entrypoints import heartbeat
from webloom.entrypoints.api.activity import Activity
from webloom.entrypoints.api.admin_schemas import Overview
from webloom.entrypoints.scheduler import run_scheduler
from webloom.entrypoints.worker import run_worker
from webloom.ports.broker import Message
from webloom.settings import load_settings

QUEUES = [METADATA_QUEUE, IMPORT_QUEUE, CHECK_QUEUE, "storage-agent"]


# The API alone, without a worker and a scheduler.


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webloom]:
    folder = tmp_path_factory.mktemp("alone")
    with running_for_module("api", data_dir=folder / "data", queue_limit=2) as it:
        yield it


@pytest.fixture
async def api(alone: Webloom) -> AsyncIterator[Api]:
    async with calling(alone) as api:
        yield api


async def overview(
    api: Api, ready: Callable[[dict[str, Any]], bool] = lambda overview: True
) -> dict[str, Any]:
    async def look() -> dict[str, Any] | None:
        answer = await api.call("GET", "/api/overview")
        assert answer.status == 200, answer.text
        return answer.body if ready(answer.body) else None

    return await until_some(look, what="the overview to be so")


def trouble(overview: dict[str, Any], part: str) -> dict[str, Any] | None:
    found = [each for each in overview["troubles"] if part in each["what"]]
    return found[0] if found else None


async def test_the_overview_of_an_installation_without_anything(api: Api) -> None:
    seen = await overview(api)
    assert seen.keys() == {
        "at", "countedSince", "inventory", "imports", "watch",
        "feeds", "watches", "running", "changes", "troubles",
    }  # fmt: skip
    assert datetime.fromisoformat(seen["countedSince"]) <= datetime.now(UTC)
    for name in ("inventory", "imports", "watch"):
        minutes = seen[name].pop("minutes")
        assert 1 <= len(minutes) <= 60
        assert minutes[-1] == {"at": minutes[-1]["at"], "done": 0, "failed": 0}
        assert minutes[-1]["at"].endswith(":00Z")
        stored = seen[name].pop("stored")
        assert isinstance(stored, int)
    assert len(seen["troubles"]) >= 2
    for part in ("No worker", "No scheduler"):
        found = trouble(seen, part)
        assert found is not None
        assert (found["level"], found["where"]) == ("error", "/system")
        assert "webloom up" in found["advice"]


async def test_queues_report_their_depth_and_that_they_are_full(api: Api) -> None:
    for number in range(2):
        answer = await api.submit(f"http://example.test/{number}")
        assert answer.status == 202, answer.text
    seen = await overview(api, lambda each: each["inventory"]["queued"] == 2)
    full = trouble(seen, "metadata_queue is full")
    assert full is not None
    assert (full["level"], full["where"]) == ("warning", "/queues/metadata_queue")
    listed = (await api.call("GET", "/api/queues")).body["data"]
    assert [queue["name"] for queue in listed] == QUEUES
    assert listed[0] | {"handled": []} == {
        "name": METADATA_QUEUE,
        "limit": 2,
        "ready": 2,
        "delayed": 0,
        "inFlight": 0,
        "dead": 0,
        "handled": [],
        "handledPerMinute": 0.0,
    }
    assert set(listed[0]["handled"]) == {0}


async def test_dead_letters_are_a_trouble(api: Api, alone: Webloom) -> None:
    settings = load_settings({"WEBLOOM_DATA_DIR": str(alone.data_dir)})
    async with open_services(settings) as services:
        await services.broker.publish(IMPORT_QUEUE, Message(id=uuid.uuid4().hex, body=b"{}"))
        async with services.broker.deliveries(IMPORT_QUEUE, 1) as deliveries:
            await (await anext(deliveries)).dead_letter("it is nonsense")
    seen = await overview(api, lambda each: trouble(each, "dead letter") is not None)
    found = trouble(seen, "The queue import-feed has 1 dead letter.")
    assert found is not None
    assert found["where"] == "/queues/import-feed"


# Everything, in this process, with quick hearts.


@asynccontextmanager
async def whole(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Services, Activity]]:
    monkeypatch.setattr(heartbeat, "BEAT_SECONDS", 0.05)
    monkeypatch.setattr(sampler, "SAMPLE_SECONDS", 0.05)
    monkeypatch.setattr(caching, "SHORTEST_PAUSE", 0.05)
    monkeypatch.setattr(build_overview, "SHARED_SECONDS", 0.05)
    settings = load_settings(
        {
            "WEBLOOM_DATA_DIR": str(folder),
            "WEBLOOM_ALLOW_ADDRESSES": ALLOWED,
            "WEBLOOM_RETRY_DELAY": "0.02",
        }
    )
    async with open_services(settings) as services:
        stop = asyncio.Event()
        activity = Activity(services, heartbeat.first_beat(services, "api"), stop)
        async with asyncio.TaskGroup() as group, activity.sampler.sampling():
            group.create_task(run_worker(services, stop))
            group.create_task(run_scheduler(services, stop))
            try:
                yield services, activity
            finally:
                stop.set()


async def seen_by(activity: Activity, ready: Callable[[Overview], bool]) -> Overview:
    async def look() -> Overview | None:
        found = await activity.overview()
        return found if ready(found) else None

    return await until_some(look, what="the overview to be so")


async def test_what_is_done_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with (
        whole(tmp_path, monkeypatch) as (services, activity),
        ShopSite() as shop,
        FeedSite() as feeds,
    ):
        calm = await seen_by(activity, lambda each: not each.troubles)
        assert (calm.inventory.stored, calm.inventory.done_last_hour, calm.feeds) == (0, 0, 0)

        # Two URLs, one of which is not there.
        await services.submit_url.one(shop.url("/ok"))
        await services.submit_url.one(shop.url("/status?code=404"))
        # A feed of three postings, one without a title; and one that can't be fetched.
        feeds.feed = rss(item(1), item(2), item(3, title=""))
        feed, _ = await services.manage_feeds.add(feeds.url("/feed"), "Jobs")
        await services.start_import(feed.feed_id, "manual")
        broken, _ = await services.manage_feeds.add(feeds.url("/status?code=410"), "Gone")
        await services.start_import(broken.feed_id, "manual")
        # A page that is there and one that is not.
        shop.pages["/story"] = article("once")
        watch, _ = await services.manage_watches.add(
            [shop.url("/story"), shop.url("/status?code=404")], name="Stories", enabled=False
        )
        await services.start_watch(watch.watch_id, "manual")

        def is_done(each: Overview) -> bool:
            return (
                each.inventory.done_last_hour == 1
                and each.inventory.failed_last_hour == 1
                and each.imports.done_last_hour + each.imports.failed_last_hour == 3
                and each.watch.done_last_hour == each.watch.failed_last_hour == 1
                and len(each.troubles) == 2
                and (each.imports.stored, each.watch.stored) == (2, 2)
            )

        done = await seen_by(activity, is_done)
        assert (done.imports.done_last_hour, done.imports.failed_last_hour) == (2, 1)
        assert (done.inventory.stored, done.feeds, done.watches) == (2, 2, 1)
        assert sum(minute.done for minute in done.inventory.minutes) == 1
        [gone, pages] = done.troubles
        assert gone.what.startswith("The last import of Gone failed: ")
        assert "410" in gone.what
        assert gone.where.startswith("/import-history/")
        assert pages.what.startswith("1 watched page could not be checked")
        assert pages.where == "/watch?show=pages&outcome=failed"

        async def rates() -> dict[str, float] | None:
            queues = (await activity.queues()).data
            handled = {queue.name: sum(queue.handled) for queue in queues}
            is_all = handled == {
                METADATA_QUEUE: 2,
                IMPORT_QUEUE: 1,
                CHECK_QUEUE: 2,
                STORAGE_QUEUE: 1,
            }
            return {queue.name: queue.handled_per_minute for queue in queues} if is_all else None

        rate = (await until_some(rates, what="all that was handled"))[METADATA_QUEUE]
        assert 0 < rate <= 2  # in a minute, or in so many as the machine took for it


# Servers.


async def test_an_unreachable_store_and_broker_are_reported(tmp_path: Path) -> None:
    store, broker = free_port(), free_port()
    async with running(
        "api",
        data_dir=tmp_path / "data",
        store=f"mongodb://me:hunter2@127.0.0.1:{store}/",
        broker=f"amqp://me:hunter2@127.0.0.1:{broker}/",
    ) as it:
        api = Api(it.client, it.base)
        seen = await overview(api)
        assert seen["inventory"]["queued"] is seen["inventory"]["inFlight"] is None
        assert [each["level"] for each in seen["troubles"]] == ["error", "error"]
        for name, port in (("store (mongodb", store), ("storage-agent", broker)):
            found = trouble(seen, name)
            assert found is not None
            assert f"127.0.0.1:{port}" in found["what"]
            assert found["where"] == "/system"
        assert "hunter2" not in str(seen)
        queues = (await api.call("GET", "/api/queues")).body["data"]
        assert [queue["ready"] for queue in queues] == [None] * 4
        assert await it.stop() == 0


async def test_the_overview_over_servers(
    tmp_path: Path, mongod: MongoServer, rabbitmq: RabbitServer
) -> None:
    """RabbitMQ does not tell what is in flight: workers do."""
    async with (
        ShopSite() as shop,
        running(
            "up",
            data_dir=tmp_path / "data",
            store=mongod.url,
            mongodb_database=f"overview-{uuid.uuid4().hex[:8]}",
            broker=rabbitmq.url,
            allow_addresses=ALLOWED,
        ) as it,
    ):
        api = Api(it.client, it.base)
        await api.submitted(shop.url("/gated"))
        await shop.started.wait()

        def is_calm(each: dict[str, Any]) -> bool:
            """What other tests have left on the shared servers is trouble of queues."""
            return all(found["where"].startswith("/queues") for found in each["troubles"])

        seen = await overview(
            api, lambda each: each["inventory"]["inFlight"] == 1 and is_calm(each)
        )
        assert seen["watch"]["inFlight"] is None
        assert seen["inventory"]["stored"] == 1


async def test_records_are_counted_by_state(tmp_path: Path) -> None:
    async with running("api", data_dir=tmp_path / "data") as it:
        api = Api(it.client, it.base)
        before = (await api.call("GET", "/metadata/counts")).body["counts"]
        assert before == {status.value: 0 for status in Status}
        await api.submitted("http://counted.test/")

        async def look() -> bool | None:
            counts = (await api.call("GET", "/metadata/counts")).body["counts"]
            return counts["PENDING"] == 1 or None

        await until_some(look, what="one that waits")
