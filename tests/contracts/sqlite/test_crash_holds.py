"""A consumer that lost a message of SQLite's queue can't settle another one in its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts.adapters import BROKERS, Brokers, Place
from contracts.waiting import depth_becomes, take
from fakes.clock import FakeClock
from webloom.ports.broker import Message, QueueDepth

QUEUE = "queue"


@pytest.mark.parametrize("settle", ["ack", "retry", "dead_letter"])
async def test_a_hold_that_was_lost_settles_no_later_message(
    tmp_path: Path, clock: FakeClock, settle: str
) -> None:
    """A process is held up for longer than its lease, and another one serves its message. The next
    message takes the place of that one in the table, and comes to the first process; which then
    settles what it had before, and dies."""
    [sqlite] = [adapter for adapter in BROKERS if adapter.name == "sqlite"]
    brokers = Brokers(
        adapter=sqlite, place=Place(folder=tmp_path, name="here", server=None), clock=clock
    )
    async with (
        brokers.open(lease=3600) as slow,
        slow.deliveries(QUEUE, 2) as deliveries,
        brokers.open(lease=3600) as other,
    ):
        await slow.publish(QUEUE, Message(id="first", body=b"{}"))
        lost = await take(deliveries)
        clock.advance(3601)
        async with other.deliveries(QUEUE, 1) as others:
            taken = await take(others)
            assert taken.message_id == "first"
            await taken.ack()
            await depth_becomes(other, QueueDepth(ready=0, delayed=0, in_flight=0, dead=0))
        await other.publish(QUEUE, Message(id="second", body=b"{}"))
        assert (await take(deliveries)).message_id == "second"
        match settle:
            case "ack":
                await lost.ack()
                await slow.publish("another", Message(id="behind it", body=b"{}"))
            case "retry":
                await lost.retry()
            case _:
                await lost.dead_letter("no reason")
        assert await other.depth(QUEUE) == QueueDepth(ready=0, delayed=0, in_flight=1, dead=0)
