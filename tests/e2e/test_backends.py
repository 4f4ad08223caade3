"""Which server is used for what, and how its state is shown: real servers, the real program."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import uuid
from pathlib import Path
from typing import Any

import pymongo
import pytest
from redis.asyncio import Redis

from e2e.running import Webloom, environment, finished, running, until, until_some
from forks import run_command
from servers.mongod import MongoServer
from servers.private import free_port
from servers.rabbitmq import RabbitServer
from servers.redis import RedisServer
from timeouts import TIMEOUT_SECONDS
from webloom.bootstrap.connections import open_services
from webloom.domain.inventory import METADATA_QUEUE, FetchRequest
from webloom.domain.request_state import NotedRequest
from webloom.ports.broker import Message
from webloom.settings import load_settings

PASSWORD = "hunter2"


@pytest.fixture
def stack(
    mongod: MongoServer, rabbitmq: RabbitServer, redis_server: RedisServer, tmp_path: Path
) -> dict[str, str]:
    """The layout of production: each queue on the broker that suits it."""
    return {
        "WEBLOOM_STORE": mongod.url,
        "WEBLOOM_MONGODB_DATABASE": f"backends-{uuid.uuid4().hex[:8]}",
        "WEBLOOM_BROKER": rabbitmq.url,
        "WEBLOOM_BROKER_IMPORT_FEED": redis_server.url,
        "WEBLOOM_DATA_DIR": str(tmp_path),
    }


def webloom(*arguments: str, env: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("WEBLOOM_")}
    return run_command(*arguments, env=plain | env | {"HOME": str(cwd)})


def settings_of(env: dict[str, str]) -> dict[str, str]:
    """As keyword arguments of `running`."""
    return {
        name.removeprefix("WEBLOOM_").lower(): value
        for name, value in env.items()
        if name != "WEBLOOM_DATA_DIR"
    }


async def test_each_queue_is_on_the_broker_that_the_settings_give_it(
    stack: dict[str, str], rabbitmq: RabbitServer, redis_server: RedisServer
) -> None:
    sent = f"message-{uuid.uuid4().hex}"
    async with open_services(load_settings(stack)) as services:
        for queue in (METADATA_QUEUE, "import-feed", "storage-agent", "watch-pages"):
            await services.broker.publish(queue, Message(id=f"{sent}-{queue}", body=b"{}"))
        assert [each.queues for each in services.broker_connections] == [
            [METADATA_QUEUE, "storage-agent", "watch-pages"],
            ["import-feed"],
        ]
    on_rabbitmq = rabbitmq.ctl("list_queues", "name", "messages", "--no-table-headers").split("\n")
    names = {line.split()[0] for line in on_rabbitmq if line}
    assert {METADATA_QUEUE, "storage-agent", "watch-pages"} <= names
    assert "import-feed" not in names
    client = Redis.from_url(redis_server.url)
    try:
        assert await client.exists(f"bull:import-feed:{sent}-import-feed")
        assert not await client.exists(f"bull:{METADATA_QUEUE}:{sent}-{METADATA_QUEUE}")
    finally:
        await client.aclose()


async def healthy(it: Webloom) -> dict[str, Any]:
    """After the first heartbeat of the worker."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while True:
            async with it.client.get("/health") as answer:
                health: dict[str, Any] = await answer.json()
            if health["status"] == "ok":
                return health
            await asyncio.sleep(0.05)


async def test_health_and_doctor_show_each_connection(
    stack: dict[str, str],
    tmp_path: Path,
    mongod: MongoServer,
    rabbitmq: RabbitServer,
    redis_server: RedisServer,
) -> None:
    expected = [
        ("store", "mongodb", mongod.port),
        ("broker", "rabbitmq", rabbitmq.port),
        ("broker of import-feed", "bullmq", redis_server.port),
    ]
    async with running("up", data_dir=tmp_path, **settings_of(stack)) as it:
        health = await healthy(it)
        shown = [(each["name"], each["kind"]) for each in health["dependencies"]]
        assert shown == [(name, kind) for name, kind, _ in expected]
        for dependency, (_, _, port) in zip(health["dependencies"], expected, strict=True):
            assert (dependency["state"], dependency["connection"]) == ("up", "READY")
            assert str(port) in dependency["address"]
        doctor = webloom("doctor", "--json", env=stack, cwd=tmp_path)
    findings = {each["check"]: each for each in map(json.loads, doctor.stdout.splitlines())}
    assert findings["store"]["state"] == "ok"
    assert findings[f"broker of {METADATA_QUEUE}, storage-agent, watch-pages"]["state"] == "ok"
    assert findings["broker of import-feed"]["state"] == "ok"


async def test_a_broker_that_is_away_is_named_and_its_password_is_not(
    stack: dict[str, str], tmp_path: Path
) -> None:
    away = stack | {"WEBLOOM_BROKER_IMPORT_FEED": f"redis://:{PASSWORD}@127.0.0.1:{free_port()}/0"}
    async with running("up", data_dir=tmp_path, **settings_of(away)) as it:

        async def only_one_is_down() -> dict[str, Any] | None:
            """Of the others, a busy machine may not tell in time that they are there."""
            async with it.client.get("/health") as answer:
                health: dict[str, Any] = await answer.json()
            down = [each["name"] for each in health["dependencies"] if each["state"] == "down"]
            if down != ["broker of import-feed"]:
                return None
            assert (answer.status, health["status"]) == (200, "degraded")
            return health

        health = await until_some(only_one_is_down, what="one broker to be away")
        [broker] = [each for each in health["dependencies"] if each["state"] == "down"]
        assert broker["detail"]
        assert PASSWORD not in json.dumps(health) + it.log
    doctor = webloom("doctor", env=away, cwd=tmp_path)
    assert doctor.returncode == 1
    assert "PROBLEM  broker of import-feed" in doctor.stdout
    assert PASSWORD not in doctor.stdout + doctor.stderr


async def test_database_and_collections_are_called_as_the_settings_say(
    mongod: MongoServer, tmp_path: Path
) -> None:
    name = f"named-{uuid.uuid4().hex[:8]}"
    settings = load_settings(
        {
            "MONGODB_URI": mongod.url,
            "WEBLOOM_MONGODB_DATABASE": name,
            "METADATA_COLLECTION": "pages_seen",
            "LOCKS_COLLECTION": "who_acts",
            "HEARTBEATS_COLLECTION": "who_lives",
            "WEBLOOM_DATA_DIR": str(tmp_path),
        }
    )
    request = FetchRequest(url="http://site.example/", request_id="r")
    async with open_services(settings) as services:
        await services.store.note_requests([NotedRequest(request=request, token=0)])
        await services.lock.acquire("name", "owner", 10)
    with pymongo.MongoClient[dict[str, Any]](mongod.url) as client:
        there = set(client[name].list_collection_names())
        assert {"pages_seen", "who_acts", "who_lives"} <= there
        assert not {"metadata", "locks", "heartbeats"} & there
        document = client[name]["pages_seen"].find_one({"url": request.url})
        assert document is not None
        assert document["status"] == "PENDING"
        client.drop_database(name)


async def is_heard_of(role: str, env: dict[str, str], cwd: Path) -> None:
    """Its first heartbeat comes a moment after it says that it has started."""
    await until(
        lambda: webloom("alive", role, env=env, cwd=cwd).returncode == 0, what=f"a {role} alive"
    )


async def test_alive_says_whether_such_a_process_runs_here(tmp_path: Path) -> None:
    env = {"WEBLOOM_DATA_DIR": str(tmp_path)}
    async with running("worker", data_dir=tmp_path):
        await is_heard_of("worker", env, tmp_path)
        scheduler = webloom("alive", "scheduler", env=env, cwd=tmp_path)
    assert scheduler.returncode == 1
    assert "no scheduler on" in scheduler.stderr
    unheard_of = webloom("alive", "workers", env=env, cwd=tmp_path)
    assert (unheard_of.returncode, "'storage-agent'" in unheard_of.stderr) == (2, True)


async def test_a_store_that_is_in_use_is_not_copied(tmp_path: Path) -> None:
    env = {"WEBLOOM_DATA_DIR": str(tmp_path)}
    addresses = ("--from", f"sqlite:///{tmp_path}/webloom.db", "--to", f"sqlite:///{tmp_path}/b.db")
    async with running("worker", data_dir=tmp_path) as worker:
        await is_heard_of("worker", env, tmp_path)
        refused = webloom("copy", *addresses, env=env, cwd=tmp_path)
        assert refused.returncode == 1
        assert f"is in use: worker {worker.pid}" in refused.stderr
        assert await worker.stop() == 0
    assert webloom("copy", *addresses, env=env, cwd=tmp_path).returncode == 0


async def test_a_storage_agent_runs_beside_another_programs_jobs(
    mongod: MongoServer, tmp_path: Path
) -> None:
    """It makes and checks the collections of its pipeline only."""
    database = f"beside-{uuid.uuid4().hex[:8]}"
    with pymongo.MongoClient[dict[str, Any]](mongod.url) as client:
        theirs = client[database]["jobs"]
        theirs.insert_many([{"name": "crawl", "status": "active"}, {"name": "crawl"}])
        before = list(theirs.find())
        settings = {"store": mongod.url, "mongodb_database": database}
        async with running("storage-agent", data_dir=tmp_path / "data", **settings) as agent:
            assert await agent.stop() == 0
        assert list(theirs.find()) == before
        assert list(theirs.index_information()) == ["_id_"]
        made = set(client[database].list_collection_names())
        assert {"pages", "snapshots", "change_logs", "price_history", "job_runs"} <= made
        assert made.isdisjoint({"metadata", "feeds", "import_logs"})
        whole = await finished("worker", env=environment(tmp_path / "whole", **settings))
        assert whole.returncode == 1
        assert "jobs" in whole.stderr, "a worker for all queues says what is in its way"
        client.drop_database(database)
