"""What the tests run over: every backend, but in `make test` not every combination.

`make test` runs each suite over one topology of every backend: a standalone MongoDB, RabbitMQ's
classic queues. `make test-all` also runs it over replica sets and quorum queues.

Fault tests of whole installations run over the embedded database and over the layout that the
documentation recommends: the inventory on RabbitMQ, imports and watches on BullMQ. `make test-all`
also swaps the brokers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import pytest
from _pytest.mark.structures import ParameterSet

LARGE = [pytest.mark.thorough, pytest.mark.timeout(900)]  # a load that takes minutes

INVENTORY_KINDS = [
    "mongodb+rabbitmq",
    pytest.param("mongodb+bullmq", marks=pytest.mark.thorough),
]
FEED_AND_WATCH_KINDS = [
    "embedded",
    "mongodb+bullmq",
    pytest.param("mongodb+rabbitmq", marks=pytest.mark.thorough),
]


class HasTopology(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def is_second_topology(self) -> bool: ...


def each(adapters: Iterable[HasTopology]) -> list[ParameterSet]:
    """As the parameters of a fixture or a test."""
    return [
        pytest.param(
            adapter,
            id=adapter.name,
            marks=[pytest.mark.thorough] if adapter.is_second_topology else [],
        )
        for adapter in adapters
    ]
