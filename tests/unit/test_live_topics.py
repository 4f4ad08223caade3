"""Topics as events, with sources that a test controls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

import pytest

from webloom.domain.errors import StoreUnavailable
from webloom.entrypoints.api import live
from webloom.entrypoints.api.live_topics import LiveTopics, Said, Source

TIMEOUT_SECONDS = 60.0


class Topic:
    def __init__(self) -> None:
        self.says = 0
        self.looks = 0
        self.looked = asyncio.Event()
        self.is_down = False

    async def look(self) -> Said:
        self.looks += 1
        self.looked.set()
        if self.is_down:
            raise StoreUnavailable("away")
        return Said(mark=self.says, data=b"%d" % self.says)

    def source(self) -> Source:
        return Source(look=self.look, pause=0.001, event_pause=0.001)

    async def looked_again(self) -> None:
        for _ in range(2):
            self.looked.clear()
            await self.looked.wait()


@pytest.fixture
async def stopping() -> AsyncIterator[asyncio.Event]:
    event = asyncio.Event()
    yield event
    event.set()


def event(name: str, says: int) -> bytes:
    return b"event: %b\ndata: %d\n\n" % (name.encode(), says)


async def until_said(events: AsyncGenerator[bytes, None], wanted: bytes) -> bytes:
    """All that was sent, up to and with that."""
    sent = b""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while wanted not in sent:
            sent += await anext(events)
    return sent


async def test_a_listener_gets_each_of_its_topics_at_once_and_at_changes(
    stopping: asyncio.Event,
) -> None:
    a, b, c = Topic(), Topic(), Topic()
    topics = LiveTopics({"a": a.source(), "b": b.source(), "c": c.source()}, stopping)
    async with aclosing(topics.events(["a", "b"])) as events:
        assert await anext(events) == b"retry: 2000\n\n"
        assert set((await anext(events)).split(b"\n\n")) >= {b"event: a\ndata: 0"}
        a.says = 1
        sent = await until_said(events, event("a", 1))
        b.says = 7
        sent += await until_said(events, event("b", 7))
        assert sent.count(b"data: 1\n") == 1
        assert b"event: c" not in sent
    assert c.looks == 0


async def test_an_unchanged_topic_is_not_sent_again(
    stopping: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "HEARTBEAT_SECONDS", 0.005)
    topic = Topic()
    async with aclosing(LiveTopics({"a": topic.source()}, stopping).events(["a"])) as events:
        await until_said(events, event("a", 0))
        await topic.looked_again()
        assert [await anext(events) for _ in range(3)] == [b": heartbeat\n\n"] * 3


async def test_all_listeners_share_one_poller_that_ends_with_the_last(
    stopping: asyncio.Event,
) -> None:
    topic = Topic()
    topics = LiveTopics({"a": topic.source()}, stopping)
    listeners = [topics.events(["a"]) for _ in range(50)]
    for each in listeners:
        await until_said(each, event("a", 0))
    [poller] = asyncio.all_tasks() - {asyncio.current_task()}
    topic.says = 5
    for each in listeners:
        await until_said(each, event("a", 5))
    topic.says = 6
    await topic.looked_again()
    reported = [await anext(each) for each in listeners]
    assert all(each is reported[0] for each in reported)  # the very same bytes
    for each in listeners:
        await each.aclose()
    await poller
    looks = topic.looks
    async with aclosing(topics.events(["a"])) as again:
        await until_said(again, event("a", 6))
    assert topic.looks > looks


async def test_one_who_comes_later_hears_the_latest_at_once(stopping: asyncio.Event) -> None:
    topic = Topic()
    slow = Source(look=topic.look, pause=3600, event_pause=3600)
    topics = LiveTopics({"a": slow}, stopping)
    async with aclosing(topics.events(["a"])) as first, aclosing(topics.events(["a"])) as second:
        await until_said(first, event("a", 0))
        await until_said(second, event("a", 0))
    assert topic.looks == 1


async def test_a_slow_listener_gets_the_latest_only(stopping: asyncio.Event) -> None:
    topic = Topic()
    async with aclosing(LiveTopics({"a": topic.source()}, stopping).events(["a"])) as events:
        await until_said(events, event("a", 0))
        for says in range(1, 20):
            topic.says = says
            await topic.looked_again()
        assert await anext(events) == event("a", 19)


async def test_a_store_that_is_away_for_a_while_loses_no_change(stopping: asyncio.Event) -> None:
    topic = Topic()
    topic.is_down = True
    async with aclosing(LiveTopics({"a": topic.source()}, stopping).events(["a"])) as events:
        await anext(events)
        asking = asyncio.ensure_future(anext(events))
        await topic.looked_again()
        topic.is_down = False
        assert await asking == event("a", 0)
        topic.is_down = True
        await topic.looked_again()
        topic.says = 1
        topic.is_down = False
        await until_said(events, event("a", 1))


async def test_everything_ends_when_the_process_stops(
    stopping: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "HEARTBEAT_SECONDS", 3600)
    topics = LiveTopics({"a": Topic().source(), "b": Topic().source()}, stopping)
    listeners = [topics.events(["a", "b"]) for _ in range(3)]
    for each in listeners:
        await until_said(each, event("a", 0))

    async def rest(events: AsyncGenerator[bytes, None]) -> None:
        async for _ in events:
            pass

    waiting = asyncio.gather(*(rest(each) for each in listeners))
    stopping.set()
    async with asyncio.timeout(TIMEOUT_SECONDS):
        await waiting


async def test_listeners_that_leave_make_room(
    stopping: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webloom.entrypoints.api.live.MOST_LISTENERS", 2)
    topics = LiveTopics({"a": Topic().source()}, stopping)
    one, two = topics.events(["a"]), topics.events(["a"])
    fullness = []
    for step in (anext(one), anext(two), one.aclose(), two.aclose()):
        await step
        fullness.append(topics.is_full)
    assert fullness == [False, True, False, False]


async def test_simultaneous_listeners_beyond_the_limit_are_refused(
    stopping: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webloom.entrypoints.api.live.MOST_LISTENERS", 2)
    topics = LiveTopics({"a": Topic().source()}, stopping)
    streams = [topics.events(["a"]) for _ in range(5)]
    assert not topics.is_full
    greetings = [await anext(each, None) for each in streams]
    assert greetings == [b"retry: 2000\n\n"] * 2 + [None] * 3
    for each in streams:
        await each.aclose()
    assert topics._listeners == 0
