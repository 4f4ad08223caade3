"""What every suite can use. How a run ends is in outcomes.py."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack

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


@pytest.fixture(scope="session")
def shared_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedServers]:
    with ExitStack() as stack:
        yield SharedServers(stack, tmp_path_factory)


@pytest.fixture
def mongod(shared_servers: SharedServers) -> MongoServer:
    server = shared_servers.get("mongod", MongoServer)
    assert isinstance(server, MongoServer)
    return server


@pytest.fixture
def replica_set(shared_servers: SharedServers) -> MongoServer:
    server = shared_servers.get("replica-set", MongoServer, replica_set="rs0")
    assert isinstance(server, MongoServer)
    return server


@pytest.fixture
def rabbitmq(shared_servers: SharedServers) -> RabbitServer:
    server = shared_servers.get("rabbitmq", RabbitServer)
    assert isinstance(server, RabbitServer)
    return server


@pytest.fixture
def redis_server(shared_servers: SharedServers) -> RedisServer:
    server = shared_servers.get("redis", RedisServer)
    assert isinstance(server, RedisServer)
    return server
