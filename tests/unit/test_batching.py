"""Calls that share a round trip to MongoDB."""

from __future__ import annotations

import asyncio

from webloom.adapters.mongodb.batching import ENOUGH, Batcher


class Server:
    def __init__(self) -> None:
        self.requested: list[list[int]] = []

    async def run(self, items: list[int]) -> list[int]:
        self.requested.append(items)
        return [-item for item in items]


async def one_by_one(batcher: Batcher[int, int], items: range) -> list[int]:
    """Each asked for after the one before had time to set out."""
    requested = []
    for item in items:
        requested.append(asyncio.create_task(batcher.ask(item)))
        for _ in range(5):
            await asyncio.sleep(0)
    return await asyncio.gather(*requested)


async def test_a_call_goes_at_once() -> None:
    server = Server()
    batcher: Batcher[int, int] = Batcher(server.run)
    assert await one_by_one(batcher, range(3)) == [0, -1, -2]
    assert server.requested == [[0], [1], [2]]


async def test_no_more_than_the_most_go_together() -> None:
    server = Server()
    batcher: Batcher[int, int] = Batcher(server.run, most=4)
    await asyncio.gather(*(batcher.ask(item) for item in range(10)))
    assert server.requested == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


async def test_with_a_pace_the_first_call_goes_at_once_and_the_next_ones_together() -> None:
    server = Server()
    batcher: Batcher[int, int] = Batcher(server.run, pace=3600.0)
    assert await batcher.ask(0) == 0
    later = range(1, ENOUGH + 1)
    assert await one_by_one(batcher, later) == [-item for item in later]
    assert server.requested == [[0], list(later)]
    for resting in [each for each in batcher._servers if each is not None]:
        resting.cancel()
