"""Topics as Server-Sent Events: changes of any process reach the listeners of another."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from e2e.api_client import Api, calling
from e2e.feed_site import Event, Stream, listening
from e2e.running import Webloom, running, running_for_module
from servers.mongod import MongoServer
from webloom.bootstrap.connections import open_services
from webloom.settings import load_settings

UNKNOWN = [
    ("", "none"),
    ("topics=", "an empty one"),
    ("topics=,", "two empty ones"),
    ("topics=overview,nonsense", "one of two"),
    ("topics=Overview", "another spelling"),
    ("topic=overview", "another parameter"),
]


@pytest.fixture(scope="module")
def apis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Webloom, Webloom]]:
    data_dir = tmp_path_factory.mktemp("topics") / "data"
    with (
        running_for_module("api", data_dir=data_dir) as one,
        running_for_module("api", data_dir=data_dir) as other,
    ):
        yield one, other


@pytest.fixture
async def here(apis: tuple[Webloom, Webloom]) -> AsyncIterator[Api]:
    async with calling(apis[0]) as api:
        yield api


@pytest.fixture
async def there(apis: tuple[Webloom, Webloom]) -> AsyncIterator[Api]:
    async with calling(apis[1]) as api:
        yield api


def topics(*names: str) -> str:
    return f"/api/live?topics={','.join(names)}"


async def heard(stream: Stream, name: str) -> Event:
    while True:
        event = await stream.next()
        if event.name == name:
            return event


def new_url() -> str:
    return f"http://{uuid.uuid4().hex[:8]}.test/"


async def watched(api: Api) -> None:
    body = {"urls": [new_url()], "enabled": False}
    answer = await api.call("POST", "/api/watches", json=body)
    assert answer.status == 201, answer.text


@pytest.mark.parametrize(("query", "why"), UNKNOWN, ids=[row[1] for row in UNKNOWN])
async def test_topics_that_are_none_are_refused(here: Api, query: str, why: str) -> None:
    answer = await here.raw(f"/api/live?{query}")
    assert answer.is_problem(422, "topic")


async def test_a_listener_begins_with_all_its_topics(here: Api) -> None:
    async with listening(here, topics("watch", "overview", "queues", "inventory")) as stream:
        first = [await stream.next() for _ in range(4)]
        assert stream.retry == "2000"
    said: dict[str | None, Any] = {event.name: event.data for event in first}
    assert said.keys() == {"overview", "queues", "inventory", "watch"}
    assert said["queues"] == (await here.call("GET", "/api/queues")).body
    shown = (await here.call("GET", "/api/overview")).body
    assert said["overview"].keys() == shown.keys()
    for name in ("inventory", "watch"):
        assert said[name].keys() == {"revision"}
        assert isinstance(said[name]["revision"], str)


async def test_changes_made_by_another_process_are_streamed(here: Api, there: Api) -> None:
    async with listening(here, topics("inventory", "watch")) as stream:
        first = {event.name: event.data for event in [await stream.next(), await stream.next()]}
        url = new_url()
        await there.submitted(url)
        event = await stream.next()  # and no other came in between
        assert event.name == "inventory"
        assert event.data != first["inventory"]
        await watched(there)
        event = await heard(stream, "watch")
        assert event.data != first["watch"]


async def test_the_depth_of_a_queue_is_streamed(here: Api, there: Api) -> None:
    async with listening(here, topics("queues", "overview")) as stream:
        await heard(stream, "queues")
        await there.submitted(new_url())
        ready = (await there.queue())["ready"]
        while (await heard(stream, "queues")).data["data"][0]["ready"] != ready:
            pass
        while (await heard(stream, "overview")).data["inventory"]["queued"] != ready:
            pass


async def test_many_listeners_hear_the_same(here: Api, there: Api) -> None:
    async with AsyncExitStack() as stack:
        streams = [
            await stack.enter_async_context(listening(here, topics("inventory"))) for _ in range(40)
        ]
        for stream in streams:
            await stream.next()
        await there.submitted(new_url())
        assert len({(await stream.next()).data["revision"] for stream in streams}) == 1


async def test_a_process_with_listeners_stops_cleanly(tmp_path: Path) -> None:
    async with (
        running("api", data_dir=tmp_path / "data") as it,
        listening(Api(it.client, it.base), topics("overview", "watch")) as stream,
    ):
        await stream.next()
        await stream.next()
        assert await it.stop() == 0
        await stream.end()
    assert "Traceback" not in it.log


async def test_changes_in_mongodb_are_streamed(tmp_path: Path, mongod: MongoServer) -> None:
    database = f"topics-{uuid.uuid4().hex[:8]}"
    settings = load_settings(
        {
            "WEBLOOM_DATA_DIR": str(tmp_path / "data"),
            "WEBLOOM_STORE": mongod.url,
            "WEBLOOM_MONGODB_DATABASE": database,
        }
    )
    async with (
        running(
            "api", data_dir=tmp_path / "data", store=mongod.url, mongodb_database=database
        ) as it,
        open_services(settings) as services,
        listening(Api(it.client, it.base), topics("inventory", "watch")) as stream,
    ):
        first = {event.name: event.data for event in [await stream.next(), await stream.next()]}
        await services.submit_url.one(new_url())
        event = await stream.next()
        assert event.name == "inventory"
        assert event.data != first["inventory"]
        await services.manage_watches.add([new_url()], enabled=False)
        event = await heard(stream, "watch")
        assert event.data != first["watch"]
