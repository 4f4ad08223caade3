"""/health: how an installation is doing."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from e2e.api_client import Api
from e2e.installation.calls import QUEUE, healthy
from e2e.running import (
    Webloom,
    running,
    until,
    until_some,
)
from e2e.watched_site import ALLOWED, WatchedSite
from webloom.ports.heartbeats import ALIVE_SECONDS


async def degraded(api: Api) -> dict[str, Any]:
    """Of a busy machine it may be said for a moment that it is down."""

    async def look() -> dict[str, Any] | None:
        answer = await api.call("GET", "/health")
        if answer.body["status"] == "down" or not answer.body["queues"]:
            return None
        assert (answer.status, answer.body["status"]) == (200, "degraded")
        return dict(answer.body)

    return await until_some(look, what="an answer of store and broker")


async def test_a_whole_installation_is_ok(api: Api, whole: Webloom) -> None:
    health = await healthy(api)
    assert [each["name"] for each in health["dependencies"]] == ["store", "broker"]
    for dependency in health["dependencies"]:
        assert (dependency["state"], dependency["detail"]) == ("up", None)
        assert dependency["milliseconds"] >= 0
    queue, *_ = health["queues"]
    assert queue == {
        "name": QUEUE,
        "limit": 50,
        **dict.fromkeys(("ready", "delayed", "in_flight", "dead"), 0),
    }
    [worker] = health["workers"]
    assert (worker["pid"], worker["slots"], worker["alive"]) == (whole.pid, 7, True)
    assert worker["last_beat_seconds_ago"] <= ALIVE_SECONDS
    started = datetime.fromisoformat(worker["started_at"])
    assert timedelta(0) <= datetime.now(UTC) - started < timedelta(minutes=10)

    async def others() -> bool:
        return {each["role"] for each in (await healthy(api))["others"]} == {"api", "scheduler"}

    await until(others, what="the heartbeats of the others")


async def test_a_process_that_answers_is_live_and_one_that_can_accept_is_ready(api: Api) -> None:
    live = await api.call("GET", "/health/live")
    assert (live.status, live.body) == (200, {"status": "ok"})
    await api.ready()
    ready = await api.call("GET", "/health/ready")
    assert ready.body.keys() == (await healthy(api)).keys()
    for path in ("/health", "/health/live", "/health/ready"):

        async def is_well(path: str = path) -> bool:
            answer = await api.call("HEAD", path)  # as load balancers ask
            assert answer.text == ""
            return answer.status == 200

        await until(is_well, what=f"{path} to be well")


async def test_without_a_worker_it_is_degraded_until_one_comes(
    tmp_path: Path, site: WatchedSite
) -> None:
    data_dir = tmp_path / "data"
    async with running("api", data_dir=data_dir, allow_addresses=ALLOWED) as it:
        api = Api(it.client, it.base)
        await api.submitted(site.url("/gated?1"), site.url("/gated?2"))
        alone = await degraded(api)  # it still accepts
        assert alone["workers"] == []
        assert alone["queues"][0]["ready"] == 2
        await api.ready()

        async with running("worker", data_dir=data_dir, allow_addresses=ALLOWED) as worker:
            [seen] = (await healthy(api))["workers"]
            assert (seen["pid"], seen["alive"]) == (worker.pid, True)
            await until(lambda: len(site.requests) == 2)
            queue = await api.queue()
            assert (queue["ready"], queue["in_flight"]) == (0, 2)
            site.opened.set()
            assert await worker.stop() == 0
        gone = await degraded(api)
        assert gone["workers"] == []  # it said goodbye
        assert gone["queues"][0]["in_flight"] == 0


async def test_it_is_degraded_and_ready_while_feeds_wait_for_a_scheduler(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    async with running("api", data_dir=data_dir) as it, running("worker", data_dir=data_dir):
        api = Api(it.client, it.base)
        assert (await healthy(api))["scheduler"] is None  # nothing waits for one
        feed = {"url": "http://feeds.test/jobs.xml", "intervalMinutes": 60}
        assert (await api.call("POST", "/api/feeds", json=feed)).status == 201
        assert (await degraded(api))["scheduler"] == (
            "No scheduler is running, and 1 feed waits for one: "
            "imports and checks neither start nor finish."
        )
        await api.ready()

        async def reported() -> bool:
            troubles = (await api.call("GET", "/api/overview")).body["troubles"]
            return any("1 feed waits" in each["what"] for each in troubles)

        await until(reported, what="the overview to say so")
        async with running("scheduler", data_dir=data_dir):
            assert (await healthy(api))["scheduler"] is None


async def test_a_worker_reports_what_it_has_done(tmp_path: Path, site: WatchedSite) -> None:
    async with running("up", data_dir=tmp_path / "data", allow_addresses=ALLOWED) as it:
        api = Api(it.client, it.base)
        urls = [site.url(path) for path in ("/page", "/page?2", "/in-turn?codes=404")]
        await api.submitted(*urls)
        for url in urls:
            await api.record(url)

        async def reported() -> bool:
            [worker] = (await healthy(api))["workers"]
            return (worker["completed"], worker["failed"], worker["in_flight"]) == (2, 1, 0)

        await until(reported, what="a heartbeat after the last fetch")


async def test_a_database_that_is_locked_is_down_and_comes_back(tmp_path: Path) -> None:
    async with running("api", data_dir=tmp_path / "data") as it:
        api = Api(it.client, it.base)
        with closing(sqlite3.connect(it.data_dir / "webloom.db", isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            down, ready = await asyncio.gather(
                api.call("GET", "/health"), api.call("GET", "/health/ready")
            )
            assert (down.status, down.body["status"]) == (503, "down")
            states = {each["name"]: each["state"] for each in down.body["dependencies"]}
            assert states["store"] == "down"
            assert ready.status == 503
            assert (await api.call("GET", "/health/live")).status == 200
            other.execute("ROLLBACK")

        async def up_again() -> bool:
            return (await api.call("GET", "/health/ready")).status == 200

        await until(up_again)
        assert (await api.submit("http://example.test/")).status == 202
