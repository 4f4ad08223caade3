"""Leases of the SQLite broker at moments that only its given clock can bring about."""

from __future__ import annotations

import asyncio
from pathlib import Path

from contracts.adapters import BROKERS, Brokers, Place
from contracts.fake_clock import FakeClock
from contracts.waiting import depth_becomes, take
from webloom.ports.broker import Message, QueueDepth

QUEUE = "queue"


async def test_a_consumer_that_still_claims_never_loses_a_message_to_itself(
    tmp_path: Path, clock: FakeClock
) -> None:
    """Its renewals failed for longer than the lease, but it lives and is at work on the message."""
    [sqlite] = [adapter for adapter in BROKERS if adapter.name == "sqlite"]
    place = Place(folder=tmp_path, name="here", server=None)
    brokers = Brokers(adapter=sqlite, place=place, clock=clock)
    async with brokers.open(lease=3600) as broker, broker.deliveries(QUEUE, 2) as deliveries:
        await broker.publish(QUEUE, Message(id="m", body=b"{}"))
        held = await take(deliveries)
        waiter = asyncio.create_task(take(deliveries))
        await brokers.pass_time(3601)
        await broker.publish(QUEUE, Message(id="another", body=b"{}"))
        another = await waiter
        assert another.message_id == "another"
        await held.ack()
        await another.ack()
        await depth_becomes(broker, QueueDepth(ready=0, delayed=0, in_flight=0, dead=0))
