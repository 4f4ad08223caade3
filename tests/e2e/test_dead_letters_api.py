"""Dead letters through the API: a real process, each broker."""

from __future__ import annotations

import csv
import io
import json
import threading
import uuid
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from e2e.api_client import Answer, Api
from e2e.running import environment, running, until_some
from servers.rabbitmq import RabbitServer
from servers.redis import RedisServer
from webloom.adapters.sqlite.broker import SqliteBroker
from webloom.application import dead_letters
from webloom.application.bulk import AT_ONCE
from webloom.application.dead_letters import PAGE, DeadLetters
from webloom.bootstrap.connections import open_services
from webloom.domain import search
from webloom.ports.broker import Broker, Message
from webloom.settings import load_settings

NO_CHOICES: list[dict[str, Any]] = [
    {}, {"all": False}, {"ids": []}, {"ids": ["m0"], "all": True}
]  # fmt: skip
REASON = "not an event: it is \x1b[31mred"


@dataclass(frozen=True, kw_only=True)
class Room:
    """An API over a broker, and a queue of its own there."""

    api: Api
    broker: Broker
    queue: str

    async def dead_letter(self, *bodies: bytes) -> None:
        """As m0, m1 and so on."""
        for number, body in enumerate(bodies):
            await self.broker.publish(self.queue, Message(id=f"m{number}", body=body))
        async with self.broker.deliveries(self.queue, len(bodies)) as deliveries:
            for _ in bodies:
                await (await anext(deliveries)).dead_letter(REASON)

    async def page(self, **parameters: Any) -> Answer:
        return await self.api.call("GET", f"/api/queues/{self.queue}/dead", params=parameters)

    async def ids(self) -> list[str]:
        return [each["id"] for each in (await self.page()).body["data"]]

    async def act(self, verb: str, **choice: Any) -> Answer:
        return await self.api.call("POST", f"/api/queues/{self.queue}/dead/{verb}", json=choice)

    async def bulk(self, **body: Any) -> list[dict[str, Any]]:
        """The lines of the response."""
        answer = await self.act("bulk", **body)
        assert answer.headers["content-type"] == "application/x-ndjson", answer.text
        return [json.loads(line) for line in answer.text.splitlines()]

    async def next_bodies(self, count: int) -> list[bytes]:
        """What is delivered next; acknowledged."""
        async with self.broker.deliveries(self.queue, count) as deliveries:
            taken = [await anext(deliveries) for _ in range(count)]
            for each in taken:
                await each.ack()
        return [each.body for each in taken]


@asynccontextmanager
async def opened_room(data_dir: Path, queue: str, **settings: str) -> AsyncIterator[Room]:
    async with (
        running("api", data_dir=data_dir, **settings) as it,
        open_services(load_settings(environment(data_dir, **settings))) as services,
    ):
        yield Room(api=Api(it.client, it.base), broker=services.broker, queue=queue)


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> str:
    """The storage agent's, by a name that no other test has."""
    name = f"events-{uuid.uuid4().hex[:8]}"
    monkeypatch.setenv("INPUT_QUEUE", name)
    return name


@pytest.fixture
async def room(tmp_path: Path, queue: str) -> AsyncIterator[Room]:
    async with opened_room(tmp_path / "data", queue) as room:
        yield room


@pytest.fixture(params=["sqlite", "rabbitmq", "bullmq"])
async def any_room(
    request: pytest.FixtureRequest, tmp_path: Path, queue: str
) -> AsyncIterator[Room]:
    settings: dict[str, str] = {}
    if request.param != "sqlite":
        name = {"rabbitmq": "rabbitmq", "bullmq": "redis_server"}[request.param]
        server: RabbitServer | RedisServer = request.getfixturevalue(name)
        settings["broker"] = server.url
    async with opened_room(tmp_path / "data", queue, **settings) as room:
        yield room


async def test_dead_letters_are_listed_put_back_and_discarded(any_room: Room) -> None:
    room = any_room
    before = datetime.now(UTC)
    # Only where other programs can send messages, one may be other than UTF-8.
    odd = b"{" if isinstance(room.broker, SqliteBroker) else b"\xff\0{"
    await room.dead_letter(b'{"n": 0}', odd, b'{"n": 2}', b'{"n": 3}')
    first = (await room.page(limit=2)).body
    assert [(each["id"], each["body"]) for each in first["data"]] == [
        ("m0", '{"n": 0}'),
        ("m1", odd.decode(errors="replace")),
    ]
    assert first["nextCursor"] == "m1"
    second = (await room.page(limit=2, cursor="m1")).body
    letter = second["data"][1]
    buried_at = datetime.fromisoformat(letter.pop("buriedAt"))
    assert abs(buried_at - before) < timedelta(minutes=1)
    assert letter.pop("reason").startswith("not an event")
    assert letter == {"id": "m3", "body": '{"n": 3}', "isCut": False}
    assert (await room.page(limit=3, cursor="m1")).body["nextCursor"] is None

    put_back = await room.act("put-back", ids=["m2", "m9", "m2"])
    assert (put_back.status, put_back.body) == (200, {"done": 1, "missing": ["m9"]})
    assert await room.next_bodies(1) == [b'{"n": 2}']
    discarded = await room.act("discard", ids=["m1"])
    assert discarded.body == {"done": 1, "missing": []}
    assert await room.ids() == ["m0", "m3"]
    assert (await room.act("put-back", all=True)).body == {"done": 2, "missing": []}
    assert sorted(await room.next_bodies(2)) == [b'{"n": 0}', b'{"n": 3}']
    assert (await room.act("discard", all=True)).body == {"done": 0, "missing": []}
    assert await room.ids() == []


async def test_words_find_letters_by_body_and_reason_beyond_the_first_page(room: Room) -> None:
    await room.dead_letter(*(b'{"n": %d}' % number for number in range(PAGE + 1)))
    [found] = (await room.page(q="evENT 100")).body["data"]
    assert found["body"] == '{"n": 100}'
    first = (await room.page(q="10", limit=1)).body
    assert [each["body"] for each in first["data"]] == ['{"n": 10}']
    rest = (await room.page(q="10", limit=2, cursor=first["nextCursor"])).body
    assert ([each["body"] for each in rest["data"]], rest["nextCursor"]) == (['{"n": 100}'], None)
    assert (await room.page(q="nothing")).body["data"] == []


async def test_letters_are_not_searched_on_the_event_loop(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred long ones would take seconds."""
    threads: set[threading.Thread] = set()

    def searchable(texts: Iterable[str]) -> str:
        threads.add(threading.current_thread())
        return search.searchable(texts)

    monkeypatch.setattr(dead_letters, "searchable", searchable)
    await room.dead_letter(b"long", b"short")
    found, _ = await DeadLetters(broker=room.broker).page(room.queue, "long", limit=5, after=None)
    assert [each.body for each in found] == [b"long"]
    assert threads
    assert threading.current_thread() not in threads


async def test_a_long_body_is_cut(room: Room) -> None:
    await room.dead_letter("ü".encode() * 65_536, b"x" * 65_537)
    whole, cut = (await room.page()).body["data"]
    assert (len(whole["body"]), whole["isCut"]) == (65_536, False)
    assert (len(cut["body"]), cut["isCut"]) == (65_536, True)


async def test_all_letters_can_be_discarded_though_they_fill_several_pages(room: Room) -> None:
    await room.dead_letter(*(b"{}" for _ in range(PAGE + AT_ONCE + 1)))
    assert len(await DeadLetters(broker=room.broker).ids(room.queue)) == PAGE + AT_ONCE + 1
    assert (await room.act("discard", all=True)).body["done"] == PAGE + AT_ONCE + 1
    missing = await room.act("discard", ids=[f"m{number}" for number in range(1000)])
    assert missing.body["done"] == 0
    assert missing.body["missing"] == [f"m{number}" for number in range(100)]


async def test_all_letters_up_to_a_moment_leave_those_that_died_later(any_room: Room) -> None:
    room = any_room
    await room.dead_letter(b"{}", b"{}")
    seen_at = (await room.page(limit=1)).body["at"]

    async def is_later() -> bool | None:
        passed = datetime.now(UTC) - datetime.fromisoformat(seen_at)
        return passed > timedelta(milliseconds=1) or None

    await until_some(is_later, what="the clocks of brokers to tick, which know milliseconds")
    await room.broker.publish(room.queue, Message(id="late", body=b"{}"))
    async with room.broker.deliveries(room.queue, 1) as deliveries:
        await (await anext(deliveries)).dead_letter(REASON)
    assert (await room.act("discard", all=True, before=seen_at)).body["done"] == 2
    assert await room.ids() == ["late"]
    assert (await room.act("put-back", all=True, before=seen_at)).body["done"] == 0
    for choice in ({"ids": ["late"]}, {}):
        assert (await room.act("discard", before=seen_at, **choice)).is_problem(422, '"all"')
    naive = await room.act("discard", all=True, before="2026-11-15T12:00:00")
    assert naive.is_problem(422, "before")
    assert await room.ids() == ["late"]


async def test_what_is_not_one_choice_of_letters_of_a_queue_is_refused(room: Room) -> None:
    await room.dead_letter(b"{}")
    for verb in ("put-back", "discard"):
        for choice in NO_CHOICES:
            assert (await room.act(verb, **choice)).is_problem(422, '"ids"', '"all"')
        many = [f"m{number}" for number in range(1001)]
        assert (await room.act(verb, ids=many)).is_problem(422, "more than 1,000 ids")
        assert (await room.act(verb, ids=[1])).is_problem(422, "ids")
        unknown = await room.api.call(
            "POST", f"/api/queues/nowhere/dead/{verb}", json={"all": True}
        )
        assert unknown.is_problem(404, "metadata_queue, ", room.queue)
    assert (await room.api.call("GET", "/api/queues/nowhere/dead")).is_problem(404, room.queue)
    assert (await room.page(limit=0)).is_problem(422, "limit")
    assert (await room.page(after="m0")).is_problem(422, "after")
    assert await room.ids() == ["m0"]


async def test_many_are_acted_on_with_progress_and_what_fails_is_listed(any_room: Room) -> None:
    room = any_room
    await room.dead_letter(*(b'{"n": %d}' % number for number in range(4)))
    lines = await room.bulk(action="discard", ids=["m1", "m9"])
    gone = {"id": "m9", "name": None, "reason": "It is not there any more", "skipped": False}
    assert lines[-1] == {
        "done": 2, "total": 2, "succeeded": 1, "failed": 1, "skipped": 0, "failures": [gone],
        "before": [],
    }  # fmt: skip
    grown = await room.act("bulk", action="discard", filter={}, atMost=2)
    assert grown.is_problem(409, "more than 2 match now")
    assert await room.ids() == ["m0", "m2", "m3"]
    lines = await room.bulk(action="discard", filter={"q": '"n 3"'}, atMost=1)
    assert (lines[-1]["succeeded"], await room.ids()) == (1, ["m0", "m2"])
    early = {"before": "2026-01-01T00:00:00Z"}
    assert (await room.bulk(action="put-back", filter=early))[-1]["total"] == 0
    assert (await room.bulk(action="put-back", filter={}))[-1]["succeeded"] == 2
    assert sorted(await room.next_bodies(2)) == [b'{"n": 0}', b'{"n": 2}']
    refused = await room.act("bulk", action="discard")
    assert refused.is_problem(422, '"ids"', '"filter"')


async def test_a_part_of_the_letters_is_found_beyond_the_first_page(room: Room) -> None:
    await room.dead_letter(*(b'{"n": %d}' % number for number in range(PAGE + 12)))
    lines = await room.bulk(action="discard", filter={"q": "n 10"})
    assert [(each["done"], each["total"]) for each in lines] == [(11, 11)] * 2  # 10 and 100 to 109
    assert len((await room.page(limit=200)).body["data"]) == PAGE + 1


async def test_letters_go_out_as_csv_without_formulas_and_as_lines_of_json(room: Room) -> None:
    await room.dead_letter(b"=1+1", *(b'{"n": %d}' % number for number in range(PAGE)))
    path = f"/api/queues/{room.queue}/dead/export"
    answer = await room.api.call("GET", path, params={"columns": "id,reason,body"})
    rows = [*csv.reader(io.StringIO(answer.text, newline=""))]
    assert rows[:2] == [["id", "reason", "body"], ["m0", REASON, "'=1+1"]]
    assert len(rows) == PAGE + 2
    lines = await room.api.call("GET", path, params={"format": "ndjson", "q": "n 99"})
    [line] = lines.text.splitlines()
    assert json.loads(line)["body"] == '{"n": 99}'
    unknown = await room.api.call("GET", "/api/queues/nowhere/dead/export")
    assert unknown.is_problem(404, room.queue)
