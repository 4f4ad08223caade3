"""Second topologies: the same backend, set up in another way.

`make test` runs each suite over one topology of every backend: a standalone MongoDB, RabbitMQ's
classic queues. `make test-all` also runs it over replica sets and quorum queues.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import pytest
from _pytest.mark.structures import ParameterSet


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
