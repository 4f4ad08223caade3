"""Workers that serve some of the queues: the real program, on one SQLite file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from e2e.api_client import Api
from e2e.feed_site import FeedSite, item, rss
from e2e.running import environment, finished, running, until, until_some
from e2e.watched_site import ALLOWED
from webloom.bootstrap.connections import open_services
from webloom.bootstrap.services import Services
from webloom.ports.broker import Message
from webloom.settings import load_settings

QUEUES = ("metadata_queue", "import-feed", "storage-agent", "watch-pages")


class SilentServer:
    """Counts connections and never answers, so it is of no use as a broker."""

    def __init__(self) -> None:
        self.connections = 0
        self._writers: list[asyncio.StreamWriter] = []

    async def __aenter__(self) -> SilentServer:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in self._writers:
            writer.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.append(writer)

    @property
    def amqp(self) -> str:
        return f"amqp://guest:guest@127.0.0.1:{self.port}/"


@pytest.fixture
async def silent() -> AsyncIterator[SilentServer]:
    async with SilentServer() as server:
        yield server


async def put_garbage_on_every_queue(services: Services) -> None:
    for queue in QUEUES:
        await services.broker.publish(queue, Message(id=f"garbage-{queue}", body=b"garbage"))


async def buried(services: Services) -> set[str]:
    return {queue for queue in QUEUES if (await services.broker.depth(queue)).dead}


@pytest.mark.parametrize(
    "served",
    [["metadata_queue"], ["import-feed"], ["watch-pages", "storage-agent"], list(QUEUES)],
    ids=" ".join,
)
async def test_a_worker_takes_messages_of_its_queues_only(
    tmp_path: Path, served: list[str]
) -> None:
    data = tmp_path / "data"
    options = " ".join(f"--queue {queue}" for queue in served)
    async with open_services(load_settings(environment(data))) as services:
        await put_garbage_on_every_queue(services)

        async def all_taken() -> bool:
            return await buried(services) >= set(served)

        async with running(f"worker {options}", data_dir=data) as worker:
            await until(all_taken)
            assert await worker.stop() == 0
        assert await buried(services) == set(served)


async def test_a_worker_without_the_option_serves_every_queue(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with open_services(load_settings(environment(data))) as services:
        await put_garbage_on_every_queue(services)

        async def all_taken() -> bool:
            return await buried(services) == set(QUEUES)

        async with running("worker", data_dir=data):
            await until(all_taken)
            [seen] = await services.heartbeats.seen(60)
            assert set(seen.heartbeat.queues) == set(QUEUES)


async def test_imports_need_no_broker_but_their_own(tmp_path: Path, silent: SilentServer) -> None:
    data = tmp_path / "data"
    others = {"broker_metadata_queue": silent.amqp, "broker_storage_agent": silent.amqp}
    async with FeedSite() as site:
        site.feed = rss(item(1), item(2))
        env = environment(data, allow_addresses=ALLOWED)
        async with (
            running("scheduler", data_dir=data, allow_addresses=ALLOWED),
            running("worker --queue import-feed", data_dir=data, **others) as worker,
            open_services(load_settings(env)) as services,
        ):
            added = await finished("feeds", "add", site.url("/feed"), "--every", "0.05", env=env)
            assert added.returncode == 0, added.stderr

            async def is_imported() -> bool:
                return await services.imports.postings.count() == (2, 0)

            await until(is_imported)
            alive = await finished("alive", "worker", env=environment(data, **others))
            assert alive.returncode == 0, alive.stderr
            assert await worker.stop() == 0
    assert silent.connections == 0
    async with running("worker", data_dir=data, **others):  # the same settings, all queues
        await until(lambda: silent.connections > 0)


async def test_the_storage_agent_needs_no_broker_but_its_own(
    tmp_path: Path, silent: SilentServer
) -> None:
    data = tmp_path / "data"
    async with (
        open_services(load_settings(environment(data))) as services,
        running("storage-agent", data_dir=data, broker_metadata_queue=silent.amqp),
    ):
        await services.broker.publish("storage-agent", Message(id="one", body=b"garbage"))

        async def is_taken() -> bool:
            return await buried(services) == {"storage-agent"}

        await until(is_taken)
    assert silent.connections == 0


@pytest.mark.parametrize("name", ["imports", "METADATA_QUEUE", ""])
async def test_an_unknown_queue_is_refused_with_the_names_that_there_are(
    tmp_path: Path, name: str
) -> None:
    env = environment(tmp_path / "data") | {"INPUT_QUEUE": "events"}
    done = await finished("worker", "--queue", "import-feed", "--queue", name, env=env)
    assert done.returncode == 2
    assert f"--queue: queue {name} not found" in done.stderr
    assert "metadata_queue, import-feed, events, watch-pages" in done.stderr
    assert not (tmp_path / "data").exists()


async def test_health_and_doctor_report_unserved_queues(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with (
        running("api", data_dir=data) as api,
        running("scheduler", data_dir=data),
        running("worker --queue import-feed", data_dir=data) as worker,
    ):

        async def shown(status: str) -> dict[str, Any] | None:
            async with api.client.get("/health") as answer:
                health: dict[str, Any] = await answer.json()
            return health if health["status"] == status else None

        health = await until_some(lambda: shown("ok"))  # nothing waits elsewhere
        [reported] = health["workers"]
        assert (reported["pid"], reported["queues"], reported["slots"]) == (
            worker.pid,
            ["import-feed"],
            0,
        )

        await Api(api.client, api.base).submit("https://example.com/")
        await until_some(lambda: shown("degraded"))
        async with api.client.get("/api/overview") as answer:
            [trouble] = (await answer.json())["troubles"]
        assert "No worker serves the queue metadata_queue" in trouble["what"]
        assert "`webloom worker --queue metadata_queue`" in trouble["advice"]

        doctor = await finished("doctor", env=environment(data, port=api.port))
        assert "1 alive, and none serves metadata_queue, storage-agent" in doctor.stdout
