"""The PageStore's contract: whatever the order, whoever brings them, the events decide."""

from __future__ import annotations

import asyncio
import random
from contextlib import AsyncExitStack

import pytest

from contracts.adapters import WatchProcesses
from contracts.page_samples import event, expected, parsed, state_of
from webloom.domain.storage_event import StorageEvent


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
        found = await opened.history.versions(events[0].job_id, events[0].url, limit=200)
        assert sum(each.is_delta for each in found) > 60
