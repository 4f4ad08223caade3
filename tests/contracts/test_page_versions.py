"""The PageStore's contract: the events decide, whatever their order and origin."""

from __future__ import annotations

import asyncio
import random
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest

from contracts.adapters import WatchProcesses
from contracts.page_samples import JOB, URL, event, expected, logs, numbers, page, parsed, state_of
from fakes.clock import FakeClock
from webloom.domain.retention import Retention
from webloom.domain.storage_event import StorageEvent
from webloom.ports.pages import Stored


def some_events(chance: random.Random) -> list[StorageEvent]:
    """Of a few pages: conflicting numbers, equal contents and moments, parts that are missing."""
    events: dict[object, StorageEvent] = {}
    for _ in range(chance.randint(1, 12)):
        text = chance.choice("abcd")
        ts = 1_700_000_000_000 + chance.randint(0, 6) * 1000
        has_content = chance.random() < 0.8
        is_change = chance.random() < 0.6
        made = event(
            text,
            version=chance.choice([0, 0, 1, 2, 3, 3, 7]),
            ts=ts,
            url=f"https://example.com/{chance.randint(1, 2)}",
            price=chance.choice([None, "10", "10.00", "12.5"]),
            previous="11",
            content=parsed(text),
            has_content=has_content,
            is_change=is_change,
            availability=chance.choice([None, "in_stock", "out_of_stock"]),
            classification=chance.choice([None, {"type": "product", "confidence": 0.5}]),
        )
        # What one moment, number and content stand for is the same whenever it is said.
        events.setdefault((made.url, made.place), made)
    return list(events.values())


@pytest.mark.parametrize("seed", range(6))
async def test_the_order_and_repeats_of_events_do_not_change_what_is_kept(
    watchings: WatchProcesses, seed: int
) -> None:
    chance = random.Random(seed)
    events = some_events(chance)
    delivered = [*events, *chance.sample(events, len(events) // 2)]
    chance.shuffle(delivered)
    async with watchings.open() as opened:
        for each in delivered:
            await opened.pages.store_event(each)
        assert await state_of(opened) == expected(events)


@pytest.mark.parametrize("seed", range(100, 106))
async def test_several_agents_storing_events_at_once_keep_the_same(
    watchings: WatchProcesses, seed: int
) -> None:
    chance = random.Random(seed)
    events = some_events(chance)
    delivered = [*events, *events]
    chance.shuffle(delivered)
    async with AsyncExitStack() as stack:
        stores = [await stack.enter_async_context(watchings.open()) for _ in range(3)]
        await asyncio.gather(
            *(stores[place % 3].pages.store_event(each) for place, each in enumerate(delivered))
        )
        assert await state_of(stores[0]) == expected(events)


@pytest.mark.parametrize("seed", range(200, 204))
async def test_the_first_content_of_a_version_is_kept(watchings: WatchProcesses, seed: int) -> None:
    """And others that are deltas against it stay readable, wherever it moves to."""
    events = [
        event("0", version=1, ts=0),
        event("1", version=2, ts=1),
        event("same", version=3, ts=2, content=parsed("once")),
        event("4", version=5, ts=4),
        event("same", version=3, ts=3, content=parsed("again")),
        event("same", version=3, ts=5, content=parsed("late")),
    ]
    delivered = random.Random(seed).sample(events, len(events))
    first = next(each for each in delivered if each.snapshot_hash == "same")
    async with watchings.open() as opened:
        for each in delivered:
            await opened.pages.store_event(each)
        [state] = (await state_of(opened)).values()
        assert state.versions == [(1, "0", 0), (2, "1", 1), (3, "same", 2), (5, "4", 4)]
        assert state.contents == [parsed("0"), parsed("1"), first.parsed, parsed("4")]
        assert (state.shown["version"], state.shown["text"]) == (5, parsed("4")["text"])
        for each in events:
            assert not (await opened.pages.store_event(each)).is_new


async def test_a_long_history_backwards_is_read_back(watchings: WatchProcesses) -> None:
    """More versions than deltas may follow one another."""
    events = [event(f"text {n}", version=n, ts=1000 + n, is_change=n > 60) for n in range(1, 71)]
    late = events[::16]
    async with watchings.open() as opened:
        await asyncio.gather(
            *(opened.pages.store_event(each) for each in events if each not in late)
        )
        for each in reversed(late):
            await opened.pages.store_event(each)
        assert await state_of(opened) == expected(events)
        found = await opened.history.versions(events[0].watch_id, events[0].url, limit=200)
        assert sum(each.is_delta for each in found) > 60


DAY = 24 * 3600.0


async def test_a_version_whose_content_has_expired_is_recognised(
    watchings: WatchProcesses, clock: FakeClock
) -> None:
    """It is not stored, counted or reported again, and its change log keeps its number."""
    events = [
        replace(event(text, ts=n, is_change=text != "x", price="10"), alerts=["x"])
        for n, text in enumerate("abcx")
    ]
    keep = Retention()
    async with watchings.open() as opened:
        for each in events:
            await opened.pages.store_event(each)
        assert await opened.alerts.assign_batch(JOB, None, "batch") == ["batch"]
        await opened.alerts.note_notified("batch")
        for days in (keep.snapshots + 0.01, keep.emptied_versions - 0.02):
            clock.advance(days * DAY)
            await opened.storage.prune()
            stored, watch = await logs(opened), await opened.watches.find_watch(JOB)
            assert await numbers(opened) == [(4, "x")]
            for number, each in enumerate(events[:3], 1):
                again = await opened.pages.store_event(each)
                assert again == Stored(version=number, is_new=False)
            assert await numbers(opened) == [(4, "x")]
            assert await logs(opened) == stored
            assert await opened.watches.find_watch(JOB) == watch
            assert await opened.alerts.assign_batch(JOB, None, f"after {days}") == []
        assert (await page(opened)).version == 4


async def test_a_late_version_finds_its_place_among_those_whose_content_has_expired(
    watchings: WatchProcesses, clock: FakeClock
) -> None:
    events = [event(text, ts=10 * n, is_change=True) for n, text in enumerate("abcx")]
    late = event("late", ts=15)
    async with watchings.open() as opened:
        for each in events:
            await opened.pages.store_event(each)
        clock.advance(Retention().snapshots * DAY + 1)
        await opened.storage.prune()
        assert await opened.pages.store_event(late) == Stored(version=3, is_new=True)
        assert await numbers(opened) == [(3, "late"), (5, "x")]
        assert [each.current for each in await logs(opened)] == [1, 2, 4, 5]
        assert await opened.pages.store_event(events[2]) == Stored(version=4, is_new=False)
        for number, text in ((3, "late"), (5, "x")):
            assert await opened.history.parsed(JOB, URL, number) == parsed(text)
