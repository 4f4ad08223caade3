"""Full queues. A limit that is not exact is noticed a few messages late."""

from __future__ import annotations

import pytest

from contracts.adapters import Brokers
from webloom.domain.errors import QueueFull
from webloom.ports.broker import Broker, Message

FEW = 4


def is_full(brokers: Brokers, ready: int, limit: int, *, at_once: int = FEW) -> bool:
    if brokers.adapter.limit_is_exact:
        return ready == limit
    return limit <= ready <= limit + at_once


async def one_too_many(brokers: Brokers, broker: Broker, queue: str, name: str) -> QueueFull:
    """Publish to a full queue, and return how it refuses."""
    for n in range(1 if brokers.adapter.limit_is_exact else 1 + FEW):
        try:
            await broker.publish(queue, Message(id=f"{name}, {n}", body=b"{}"))
        except QueueFull as full:
            return full
    pytest.fail(f"{queue} takes more than its limit")
