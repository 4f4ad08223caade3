"""Changes of runs as events, with a store whose reads a test can block."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, cast

import msgspec
import pytest

from fakes.clock import NOON, FakeClock
from timeouts import TIMEOUT_SECONDS
from webloom.adapters.sqlite.database import Database
from webloom.adapters.sqlite.imports import sqlite_imports
from webloom.domain.errors import StoreUnavailable
from webloom.domain.feed import FeedConfig
from webloom.domain.import_run import Counts, ImportRun, Phase, Reading, RunStatus
from webloom.domain.import_transitions import Ending, NewRun
from webloom.entrypoints.api import live, live_runs
from webloom.entrypoints.api.live import EventStream
from webloom.entrypoints.api.live_runs import LiveRuns, moment_of
from webloom.ports.import_runs import Claim, ListedRuns, RunFilter, RunPage


class Runs:
    """Counts the looks at what has changed. They can be held up, or find it away."""

    def __init__(self, database: Database) -> None:
        self._imports = sqlite_imports(database, durable_batches=False)
        self.looks = 0
        self.is_down = False
        self._looked = asyncio.Event()
        self._allowed = math.inf  # looks
        self._may_look = asyncio.Event()
        self._claims: dict[str, Claim] = {}

    async def changed(self, since: datetime | None, *, limit: int) -> list[ImportRun]:
        if since is None:
            self._refuse_if_down()
            return await self._imports.listed_runs.changed(None, limit=limit)
        while self._allowed <= 0:
            self._may_look.clear()
            await self._may_look.wait()
        self._allowed -= 1
        try:
            self._refuse_if_down()
            return await self._imports.listed_runs.changed(since, limit=limit)
        finally:
            self.looks += 1
            self._looked.set()

    async def page(self, chosen: RunFilter, *, offset: int, limit: int) -> RunPage:
        self._refuse_if_down()
        return await self._imports.listed_runs.page(chosen, offset=offset, limit=limit)

    def _refuse_if_down(self) -> None:
        if self.is_down:
            raise StoreUnavailable("away")

    def hold_up(self) -> None:
        self._allowed = 0

    def go_on(self) -> None:
        self._allowed = math.inf
        self._may_look.set()

    async def look(self) -> None:
        """One, while they are held up."""
        self._looked.clear()
        self._allowed += 1
        self._may_look.set()
        await self._looked.wait()

    async def looked_again(self) -> None:
        """A look began and ended."""
        for _ in range(2):
            self._looked.clear()
            await self._looked.wait()

    async def start(self, *run_ids: str) -> None:
        for run_id in run_ids:
            config = FeedConfig(url=f"https://{run_id}.test/", name="A\nfeed")
            await self._imports.feeds.add(run_id, config, next_run_at=None)
            new = NewRun(run_id=run_id, trigger="manual", batch_size=200, concurrency=4)
            await self._imports.runs.start(run_id, new)
            claim = await self._imports.runs.claim("producer", lease=1e6, run_id=run_id)
            assert claim is not None
            self._claims[run_id] = claim

    async def note(self, run_id: str, fetched: int) -> None:
        assert (
            await self._imports.runs.note_reading(self._claims[run_id], _reading(fetched))
            is not None
        )

    async def finish(self, run_id: str) -> None:
        assert (
            await self._imports.runs.finish(self._claims[run_id], _reading(0), Ending()) is not None
        )


def _reading(fetched: int) -> Reading:
    return Reading(phase=Phase.READING, fetched=fetched)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_runs, "POLL_SECONDS", 0.001)


@pytest.fixture
async def stopping() -> AsyncIterator[asyncio.Event]:
    event = asyncio.Event()
    yield event
    event.set()


@pytest.fixture
def store(database: Database) -> Runs:
    return Runs(database)


@pytest.fixture
def runs(store: Runs, stopping: asyncio.Event) -> LiveRuns:
    return LiveRuns(cast(ListedRuns, store), stopping)


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
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while (await next_runs(events))[-1]["totalFetched"] != fetched:
            pass


async def test_a_listener_gets_running_runs_and_then_changes(
    store: Runs, runs: LiveRuns, clock: FakeClock
) -> None:
    await store.start("over", "a")
    await store.finish("over")
    async with aclosing(runs.events(None)) as events:
        assert await anext(events) == b"retry: 2000\n\n"
        assert (await next_run(events))["runId"] == "a"
        clock.advance(1)
        await store.note("a", 7)
        await until_fetched(events, 7)
        await store.note("a", 8)  # in the same instant
        await until_fetched(events, 8)


async def test_all_listeners_share_one_poller_that_ends_with_the_last(
    store: Runs, runs: LiveRuns
) -> None:
    listeners = [runs.events(None) for _ in range(50)]
    for each in listeners:
        await anext(each)
    [poller] = asyncio.all_tasks() - {asyncio.current_task()}
    await store.start("a")
    await store.note("a", 3)
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
    store: Runs, runs: LiveRuns, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_runs, "PAGE", 2)
    monkeypatch.setattr(live_runs, "POLL_SECONDS", 60)
    monkeypatch.setattr(live_runs, "LOOK_BACK", timedelta(seconds=2))
    for number in range(10):
        await store.start(str(number))
        clock.advance(1)
    async with aclosing(runs.events(NOON + timedelta(seconds=5))) as events:
        await anext(events)
        seen: list[str] = []
        while seen[-1:] != ["9"]:
            seen += [each["runId"] for each in await next_runs(events)]
        assert set(seen) == {*"3456789"}  # two seconds further back


async def test_a_slow_listener_gets_the_latest_of_each_run_and_nothing_else(
    store: Runs, runs: LiveRuns, clock: FakeClock
) -> None:
    async with aclosing(runs.events(None)) as events:
        await anext(events)
        asking = asyncio.ensure_future(anext(events))
        await store.start("first")
        await asking
        await store.start("b", "a")
        for fetched in range(1, 20):
            for name in ("b", "a"):
                clock.advance(0.01)
                await store.note(name, fetched)
                await store.looked_again()
        clock.advance(1)
        await store.note("b", 20)
        await store.looked_again()
        await store.looked_again()
        reported = [(each["runId"], each["totalFetched"]) for each in await next_runs(events)]
        assert reported[-2:] == [("a", 19), ("b", 20)]
        assert len(reported) <= 3


async def test_progress_is_sent_at_every_other_poll_but_the_end_at_once(
    store: Runs, runs: LiveRuns, clock: FakeClock
) -> None:
    heard: list[tuple[int, str, str]] = []  # at which look

    async def listen(events: AsyncGenerator[bytes, None]) -> None:
        while True:
            reported = await next_runs(events)
            heard.extend((store.looks, each["runId"], each["status"]) for each in reported)

    store.hold_up()
    async with aclosing(runs.events(None)) as events:
        await anext(events)
        listening = asyncio.create_task(listen(events))
        await store.look()
        await store.start("a")
        for fetched in range(10):
            clock.advance(0.01)
            await store.note("a", fetched)
            await store.look()
        await store.start("b", "c")
        await store.look()
        ends = store.looks + 1
        for name in ("b", "c"):
            clock.advance(0.01)
            await store.finish(name)
            await store.look()
        await store.look()
        listening.cancel()
        await asyncio.wait({listening})
    store.go_on()
    _, *progress = [look for look, run_id, _ in heard if run_id == "a"]
    assert {later - earlier for earlier, later in pairwise(progress)} == {2}
    completed = [(look, run_id) for look, run_id, status in heard if status == "completed"]
    assert completed == [(ends, "b"), (ends + 1, "c")]


async def test_a_listener_that_is_too_far_behind_is_dropped(
    store: Runs, runs: LiveRuns, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "MOST_PENDING", 3)
    async with aclosing(runs.events(None)) as events:
        await anext(events)
        asking = asyncio.ensure_future(anext(events))
        await store.start("first")
        await asking
        clock.advance(1)
        await store.start(*"12345")
        await store.looked_again()
        with pytest.raises(StopAsyncIteration):
            await anext(events)


async def test_silence_is_filled_with_heartbeats(
    store: Runs, runs: LiveRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "HEARTBEAT_SECONDS", 0.005)
    await store.start("a")
    async with aclosing(runs.events(None)) as events:
        await anext(events)
        await store.looked_again()
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while (await anext(events)) != b": heartbeat\n\n":
                pass
        await store.looked_again()  # and finds what was reported already
        assert [await anext(events) for _ in range(2)] == [b": heartbeat\n\n"] * 2


async def test_a_store_that_is_away_for_a_while_loses_no_change(
    store: Runs, runs: LiveRuns, clock: FakeClock
) -> None:
    await store.start("a")
    async with aclosing(runs.events(None)) as events:
        await anext(events)
        await next_run(events)
        await store.looked_again()
        store.is_down = True
        await store.looked_again()
        clock.advance(1)
        await store.note("a", 5)
        store.is_down = False
        await until_fetched(events, 5)


@pytest.mark.parametrize("looks", [1, 2])
async def test_skipped_progress_is_sent_although_others_changed_long_after_it(
    store: Runs, runs: LiveRuns, clock: FakeClock, looks: int
) -> None:
    """As after a long pause of this process: whichever look is the first, none is forgotten."""
    await store.start("a")
    store.hold_up()
    async with aclosing(runs.events(None)) as events:
        await anext(events)
        await next_run(events)
        for _ in range(looks):
            await store.look()
        clock.advance(1)
        await store.note("a", 5)
        clock.advance(99)
        await store.start("b")
        store.go_on()
        known = dict.fromkeys("ab", 0)
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while known != {"a": 5, "b": 0}:
                for reported in await next_runs(events):
                    known[reported["runId"]] = reported["totalFetched"]


async def test_a_listener_who_comes_while_the_store_is_away_is_sent_away(
    store: Runs, runs: LiveRuns
) -> None:
    store.is_down = True
    async with aclosing(runs.events(None)) as events:
        await anext(events)
        with pytest.raises(StopAsyncIteration):
            await anext(events)


async def test_everything_ends_when_the_process_stops(store: Runs, stopping: asyncio.Event) -> None:
    listeners = [LiveRuns(cast(ListedRuns, store), stopping).events(None) for _ in range(3)]
    for each in listeners:
        await anext(each)
    waiting = [asyncio.ensure_future(anext(each)) for each in listeners]
    await asyncio.sleep(0)
    stopping.set()
    ends = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(end) for end in ends] == [StopAsyncIteration] * 3


async def test_a_client_that_takes_nothing_is_dropped(
    runs: LiveRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "SEND_SECONDS", 0.01)

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    async def receive() -> Any:
        return await asyncio.Event().wait()

    stream = EventStream(runs.events(None))
    await stream({"type": "http", "asgi": {"spec_version": "2.3"}}, receive, send)
    assert not runs.is_full
    assert not runs._listeners


async def test_simultaneous_listeners_beyond_the_limit_are_refused(
    runs: LiveRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "MOST_LISTENERS", 2)
    streams = [runs.events(None) for _ in range(5)]
    assert not runs.is_full
    greetings = [await anext(each, None) for each in streams]
    assert greetings == [live.GREETING] * 2 + [None] * 3
    for each in streams:
        await each.aclose()
    assert not runs._listeners


def test_the_position_of_an_event_is_its_time() -> None:
    changed = ImportRun(
        run_id="a",
        feed_id="feed",
        source_url="https://a.test/",
        source_name="A\nfeed",
        status=RunStatus.RUNNING,
        trigger="manual",
        started_at=NOON,
        updated_at=datetime(2026, 1, 1, microsecond=123_456, tzinfo=UTC),
        batch_size=200,
        concurrency=4,
        reading=_reading(0),
        counts=Counts(),
    )
    position = live_runs.event_of(changed).partition(b"\n")[0].removeprefix(b"id: ").decode()
    assert moment_of(position) == changed.updated_at
    assert moment_of("") is moment_of("-1") is moment_of("x") is moment_of("1" * 17) is None
