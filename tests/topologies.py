"""What the tests run over: every backend, but in `make test` not every combination.

`make test` runs each suite over one topology of every backend: a standalone MongoDB, RabbitMQ's
classic queues. `make test-all` also runs it over replica sets and quorum queues.

Fault tests of whole installations run over the embedded database and over the layout that the
documentation recommends: the inventory on RabbitMQ, imports and watches on BullMQ. `make test-all`
also swaps the brokers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Protocol

import pytest
from _pytest.mark.structures import ParameterSet

from servers.mongod import MongoServer
from servers.private import PrivateServer
from servers.rabbitmq import RabbitServer
from servers.redis import RedisServer

SERVERS: dict[str, Callable[[Path], PrivateServer]] = {
    "mongodb": MongoServer,
    "replicas": partial(MongoServer, replica_set="rs0"),  # a replica set of one
    "rabbitmq": RabbitServer,
    "bullmq": RedisServer,
}

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
    def server(self) -> str | None:
        """Of SERVERS."""

    @property
    def is_second_topology(self) -> bool: ...


def each(adapters: Iterable[HasTopology]) -> list[ParameterSet]:
    """As the parameters of a fixture or a test."""
    return [pytest.param(each, id=each.name, marks=marks(each)) for each in adapters]


def marks(*adapters: HasTopology) -> list[pytest.MarkDecorator]:
    """Of a test that runs over all of them."""
    found = []
    if any(each.is_second_topology for each in adapters):
        found.append(pytest.mark.thorough)
    if any(each.server is not None for each in adapters):
        found.append(pytest.mark.on_server)
    return found
