"""What every suite can use. How a run ends is in outcomes.py."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import groupby, pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from servers.mongod import MongoServer
from servers.rabbitmq import RabbitServer
from servers.redis import RedisServer
from servers.shared import SharedServers

pytest_plugins = ["outcomes"]

# How long an example takes depends on the machine, not on the code. In `make test` the examples
# are the same in every run, so that a failure comes from a change; `make test-all` searches for
# new ones and prints the seed that finds them again.
for name, options in (
    ("same", {"derandomize": True}),
    ("new", {"max_examples": 500, "print_blob": True}),
):
    settings.register_profile(
        name,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        **options,
    )
settings.load_profile(os.environ.get("WEBLOOM_TESTS_EXAMPLES", "same"))

# A shell ignores it for what it starts in the background, and so would every process of the tests.
signal.signal(signal.SIGINT, signal.default_int_handler)

gc.disable()  # until everything is collected


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Fault tests wait most of their time. Between the modules of the other tests, they leave the
    processor to them; at the end it would be idle."""
    faults = [item for item in items if item.path.parent.name == "faults"]
    others = [item for item in items if item.path.parent.name != "faults"]
    groups = [list(group) for _, group in groupby(others, key=_shares_fixtures)]
    if not groups:
        return
    ends = [len(faults) * number // len(groups) for number in range(len(groups) + 1)]
    items.clear()
    for group, (start, end) in zip(groups, pairwise(ends), strict=True):
        items += [*group, *faults[start:end]]


def pytest_collection_finish() -> None:
    """What was collected lives until the end: the garbage collector need not look at it again."""
    gc.collect()
    gc.freeze()
    gc.enable()


def _shares_fixtures(item: pytest.Item) -> Path:
    """A module, or a folder whose tests have a server or a browser together."""
    folder = item.path.parent
    return item.path if folder.name in ("unit", "contracts", "e2e") else folder


@pytest.fixture(scope="session")
def shared_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedServers]:
    with ExitStack() as stack:
        yield SharedServers(stack, tmp_path_factory)


@pytest.fixture
def mongod(shared_servers: SharedServers) -> MongoServer:
    server = shared_servers.get("mongodb", MongoServer)
    assert isinstance(server, MongoServer)
    return server


@pytest.fixture
def replica_set(shared_servers: SharedServers) -> MongoServer:
    server = shared_servers.get("replicas", MongoServer, replica_set="rs0")
    assert isinstance(server, MongoServer)
    return server


@pytest.fixture
def rabbitmq(shared_servers: SharedServers) -> RabbitServer:
    server = shared_servers.get("rabbitmq", RabbitServer)
    assert isinstance(server, RabbitServer)
    return server


@pytest.fixture
def redis_server(shared_servers: SharedServers) -> RedisServer:
    server = shared_servers.get("bullmq", RedisServer)
    assert isinstance(server, RedisServer)
    return server
