"""Leases of the SQLite broker at moments that only its given clock can bring about."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from contracts.adapters import BROKERS, LEASE, Brokers, Place
from contracts.waiting import depth_becomes, take
from fakes.clock import FakeClock
from webloom.ports.broker import Message, QueueDepth

QUEUE = "queue"


def message(name: str) -> Message:
    return Message(id=name, body=b"{}")


@pytest.fixture
def brokers(tmp_path: Path, clock: FakeClock) -> Brokers:
    [sqlite] = [adapter for adapter in BROKERS if adapter.name == "sqlite"]
    place = Place(folder=tmp_path, name="here", server=None)
    return Brokers(adapter=sqlite, place=place, clock=clock)


@pytest.mark.parametrize("jump", [-3600.0, 3600.0], ids=["back", "forward"])
async def test_a_jump_of_the_wall_clock_moves_no_lease_and_no_delay(
    brokers: Brokers, clock: FakeClock, jump: float
) -> None:
    async with brokers.open(lease=LEASE) as broker, broker.deliveries(QUEUE, 5) as deliveries:
        await broker.publish(QUEUE, message("held"))
        held = await take(deliveries)
        await broker.publish(QUEUE, message("delayed"), delay=4 * LEASE)
        clock.jump_wall(jump)
        async with brokers.open(lease=LEASE) as other, other.deliveries(QUEUE, 5) as others:
            await brokers.pass_time(LEASE * 0.6)
            await other.publish(QUEUE, message("in between"))
            in_between = await take(others)
            assert in_between.message_id == "in between"
            await in_between.ack()
            waiter = asyncio.create_task(take(others))
            await held.retry(6 * LEASE)  # a lease not lost: this still counts
            await brokers.pass_time(LEASE * 3.5)
            delayed = await waiter
            assert delayed.message_id == "delayed"
            await delayed.ack()
            await brokers.pass_time(2.5 * LEASE)
            again = await take(others)
            assert (again.message_id, again.redelivered) == ("held", False)


@pytest.mark.parametrize("jump", [-3600.0, 3600.0], ids=["back", "forward"])
async def test_a_lease_ends_in_time_after_a_jump_of_the_wall_clock(
    brokers: Brokers, clock: FakeClock, jump: float
) -> None:
    async with brokers.open(lease=LEASE) as broker:
        await broker.publish(QUEUE, message("m"))
        async with broker.deliveries(QUEUE, 1) as deliveries:
            await take(deliveries)
        clock.jump_wall(jump)
        async with brokers.open(lease=LEASE) as other, other.deliveries(QUEUE, 1) as deliveries:
            waiter = asyncio.create_task(take(deliveries))
            await brokers.lose(broker)
            assert (await waiter).redelivered


async def test_a_consumer_that_still_claims_never_loses_a_message_to_itself(
    brokers: Brokers,
) -> None:
    """Its renewals failed for longer than the lease, but it lives and is at work on the message."""
    async with brokers.open(lease=3600) as broker, broker.deliveries(QUEUE, 2) as deliveries:
        await broker.publish(QUEUE, message("m"))
        held = await take(deliveries)
        waiter = asyncio.create_task(take(deliveries))
        await brokers.pass_time(3601)
        await broker.publish(QUEUE, message("another"))
        another = await waiter
        assert another.message_id == "another"
        await held.ack()
        await another.ack()
        await depth_becomes(broker, QueueDepth(ready=0, delayed=0, in_flight=0, dead=0))
