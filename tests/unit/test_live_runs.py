"""Changes of runs on their way to listeners, with a store that a test holds in its hands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, cast

import msgspec
import pytest

from webloom.domain.errors import StoreUnavailable
from webloom.domain.import_run import Counts, ImportRun, Phase, Reading, RunStatus
from webloom.entrypoints.api import live
from webloom.entrypoints.api.live import EventStream, LiveRuns, moment_of
from webloom.ports.import_store import ImportStore, RunFilter, RunPage

PATIENCE_SECONDS = 60.0
START = datetime(2026, 1, 1, tzinfo=UTC)


def run(run_id: str, *, after: float = 0.0, fetched: int = 0) -> ImportRun:
    return ImportRun(
        run_id=run_id,
        feed_id="feed",
        source_url="https://a.test/",
        source_name="A\nfeed",
        status=RunStatus.RUNNING,
        trigger="manual",
        started_at=START,
        updated_at=START + timedelta(seconds=after),
        batch_size=200,
        concurrency=4,
        reading=Reading(phase=Phase.READING, fetched=fetched),
        counts=Counts(),
    )


class Runs:
    """The part of a store that is asked for here."""

    def __init__(self, *runs: ImportRun) -> None:
        self.runs = {each.run_id: each for each in runs}
        self.looks = 0
        self.looked = asyncio.Event()
        self.is_down = False

    async def changed_runs(self, since: datetime | None, *, limit: int) -> list[ImportRun]:
        self.looks += since is not None
        self.looked.set()
        if self.is_down:
            raise StoreUnavailable("away")
        found = [r for r in self.runs.values() if since is None or r.updated_at >= since]
        return sorted(found, key=lambda each: each.updated_at)[:limit]

    async def page_of_runs(self, chosen: RunFilter, *, offset: int, limit: int) -> RunPage:
        if self.is_down:
            raise StoreUnavailable("away")
        return RunPage(runs=[*self.runs.values()][:limit], total=len(self.runs))

    def put(self, changed: ImportRun) -> None:
        self.runs[changed.run_id] = changed

    async def looked_again(self, times: int = 2) -> None:
        for _ in range(times):
            self.looked.clear()
            await self.looked.wait()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "POLL_SECONDS", 0.001)


@pytest.fixture
async def stopping() -> AsyncIterator[asyncio.Event]:
    event = asyncio.Event()
    yield event
    event.set()


def live_runs(store: Runs, stopping: asyncio.Event) -> LiveRuns:
    return LiveRuns(cast(ImportStore, store), stopping)


def decoded(event: bytes) -> dict[str, Any]:
    head, name, data = event.split(b"\n")
    assert (head[:4], name) == (b"id: ", b"event: import_log")
    return dict(msgspec.json.decode(data.removeprefix(b"data: ")))


async def next_runs(events: AsyncGenerator[bytes, None]) -> list[dict[str, Any]]:
    return [decoded(event) for event in (await anext(events)).split(b"\n\n")[:-1]]


async def next_run(events: AsyncGenerator[bytes, None]) -> dict[str, Any]:
    [one] = await next_runs(events)
    return one


async def until_fetched(events: AsyncGenerator[bytes, None], fetched: int) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (await next_runs(events))[-1]["totalFetched"] != fetched:
            pass


async def test_a_listener_begins_with_what_runs_and_hears_of_changes(
    stopping: asyncio.Event,
) -> None:
    store = Runs(run("a"))
    async with aclosing(live_runs(store, stopping).events(None)) as events:
        assert await anext(events) == b"retry: 2000\n\n"
        assert (await next_run(events))["runId"] == "a"
        store.put(run("a", after=1, fetched=7))
        await until_fetched(events, 7)
        store.put(run("a", after=1, fetched=8))  # in the same instant
        await until_fetched(events, 8)


async def test_all_listeners_share_one_poller_that_ends_with_the_last(
    stopping: asyncio.Event,
) -> None:
    store = Runs()
    runs = live_runs(store, stopping)
    listeners = [runs.events(None) for _ in range(50)]
    for each in listeners:
        await anext(each)
    [poller] = asyncio.all_tasks() - {asyncio.current_task()}
    store.put(run("a", fetched=3))
    for each in listeners:
        await until_fetched(each, 3)
        await each.aclose()
    await poller
    looks = store.looks
    again = runs.events(None)
    await anext(again)
    await store.looked_again()
    assert store.looks > looks
    await again.aclose()


async def test_a_listener_resumes_with_all_that_changed_since(
    stopping: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "PAGE", 2)
    monkeypatch.setattr(live, "POLL_SECONDS", 60)
    monkeypatch.setattr(live, "LOOK_BACK", timedelta(seconds=2))
    store = Runs(*(run(str(number), after=number) for number in range(10)))
    async with aclosing(live_runs(store, stopping).events(START + timedelta(seconds=5))) as events:
        await anext(events)
        seen: list[str] = []
        while seen[-1:] != ["9"]:
            seen += [each["runId"] for each in await next_runs(events)]
        assert set(seen) == {*"3456789"}  # two seconds further back


async def test_a_slow_listener_gets_the_latest_of_each_run_and_nothing_else(
    stopping: asyncio.Event,
) -> None:
    store = Runs()
    async with aclosing(live_runs(store, stopping).events(None)) as events:
        await anext(events)
        asking = asyncio.ensure_future(anext(events))
        store.put(run("first"))
        await asking
        for fetched in range(1, 20):
            for name in ("b", "a"):
                store.put(run(name, after=fetched / 100, fetched=fetched))
                await store.looked_again()
        store.put(run("b", after=1, fetched=20))
        await store.looked_again()
        told = [(each["runId"], each["totalFetched"]) for each in await next_runs(events)]
        assert told[-2:] == [("a", 19), ("b", 20)]
        assert len(told) <= 3


async def test_that_a_run_goes_on_is_told_at_every_other_look_but_its_end_at_once(
    stopping: asyncio.Event,
) -> None:
    store = Runs()
    heard: list[tuple[int, str, str]] = []  # at which look

    async def listen(events: AsyncGenerator[bytes, None]) -> None:
        while True:
            told = await next_runs(events)
            heard.extend((store.looks, each["runId"], each["status"]) for each in told)

    async with aclosing(live_runs(store, stopping).events(None)) as events:
        await anext(events)
        listening = asyncio.create_task(listen(events))
        await store.looked_again()
        for fetched in range(10):
            store.put(run("a", after=fetched / 100, fetched=fetched))
            await store.looked_again(1)
        ends = store.looks + 2
        store.put(run("b"))
        store.put(run("c"))
        await store.looked_again(1)
        for name in ("b", "c"):
            store.put(replace(run(name, after=1), status=RunStatus.COMPLETED))
            await store.looked_again(1)
        await store.looked_again(1)
        listening.cancel()
        await asyncio.wait({listening})
    _, *progress = [look for look, run_id, _ in heard if run_id == "a"]
    assert {later - earlier for earlier, later in pairwise(progress)} == {2}
    completed = [(look, run_id) for look, run_id, status in heard if status == "completed"]
    assert completed == [(ends, "b"), (ends + 1, "c")]


async def test_a_listener_that_is_too_far_behind_is_dropped(
    stopping: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "MOST_PENDING", 3)
    store = Runs()
    async with aclosing(live_runs(store, stopping).events(None)) as events:
        await anext(events)
        asking = asyncio.ensure_future(anext(events))
        store.put(run("first"))
        await asking
        for number in range(5):
            store.put(run(str(number), after=1 + number / 100))
        await store.looked_again()
        with pytest.raises(StopAsyncIteration):
            await anext(events)


async def test_silence_is_filled_with_heartbeats(
    stopping: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "HEARTBEAT_SECONDS", 0.005)
    store = Runs(run("a"))
    async with aclosing(live_runs(store, stopping).events(None)) as events:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (await anext(events)) != b": heartbeat\n\n":
                pass
        await store.looked_again()  # and finds what was told already
        assert [await anext(events) for _ in range(2)] == [b": heartbeat\n\n"] * 2


async def test_a_store_that_is_away_for_a_while_loses_no_change(stopping: asyncio.Event) -> None:
    store = Runs(run("a"))
    async with aclosing(live_runs(store, stopping).events(None)) as events:
        await anext(events)
        await next_run(events)
        await store.looked_again()
        store.is_down = True
        await store.looked_again()
        store.put(run("a", after=1, fetched=5))
        store.is_down = False
        await until_fetched(events, 5)


async def test_what_was_passed_over_is_told_though_others_changed_long_after_it(
    stopping: asyncio.Event,
) -> None:
    """As after a long pause of this process: whichever look is the first, none is forgotten."""
    for looks in (1, 2):
        store = Runs(run("a"))
        async with aclosing(live_runs(store, stopping).events(None)) as events:
            await anext(events)
            await next_run(events)
            await store.looked_again(looks)
            store.put(run("a", after=1, fetched=5))
            store.put(run("b", after=100))
            known = dict.fromkeys("ab", 0)
            async with asyncio.timeout(PATIENCE_SECONDS):
                while known != {"a": 5, "b": 0}:
                    for told in await next_runs(events):
                        known[told["runId"]] = told["totalFetched"]


async def test_a_listener_who_comes_while_the_store_is_away_is_sent_away(
    stopping: asyncio.Event,
) -> None:
    store = Runs()
    store.is_down = True
    async with aclosing(live_runs(store, stopping).events(None)) as events:
        await anext(events)
        with pytest.raises(StopAsyncIteration):
            await anext(events)


async def test_everything_ends_when_the_process_stops(stopping: asyncio.Event) -> None:
    listeners = [live_runs(Runs(), stopping).events(None) for _ in range(3)]
    for each in listeners:
        await anext(each)
    waiting = [asyncio.ensure_future(anext(each)) for each in listeners]
    await asyncio.sleep(0)
    stopping.set()
    ends = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(end) for end in ends] == [StopAsyncIteration] * 3


async def test_a_client_that_takes_nothing_is_dropped(
    stopping: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "SEND_SECONDS", 0.01)
    runs = live_runs(Runs(), stopping)

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    async def receive() -> Any:
        return await asyncio.Event().wait()

    stream = EventStream(runs.events(None))
    await stream({"type": "http", "asgi": {"spec_version": "2.3"}}, receive, send)
    assert not runs.is_full
    assert not runs._listeners


async def test_of_many_who_ask_at_once_no_more_than_there_is_room_for_are_heard(
    stopping: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "MOST_LISTENERS", 2)
    runs = live_runs(Runs(), stopping)
    asked = [runs.events(None) for _ in range(5)]
    assert not runs.is_full
    greetings = [await anext(each, None) for each in asked]
    assert greetings == [live.GREETING] * 2 + [None] * 3
    for each in asked:
        await each.aclose()
    assert not runs._listeners


def test_the_position_of_an_event_is_its_time() -> None:
    changed = replace(run("a"), updated_at=START + timedelta(microseconds=123_456))
    position = live.event_of(changed).partition(b"\n")[0].removeprefix(b"id: ").decode()
    assert moment_of(position) == changed.updated_at
    assert moment_of("") is moment_of("-1") is moment_of("x") is moment_of("1" * 17) is None
