"""Servers that every suite can use: started when the first test asks, ended with the run."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import NoReturn

import pytest
from hypothesis import HealthCheck, settings

from servers.mongod import MongoServer
from servers.private import Missing, PrivateServer
from servers.rabbitmq import RabbitServer
from servers.redis import RedisServer

# How long an example takes says something of the machine, and nothing of the code. Examples are the
# same in every run: what fails has failed because of a change.
settings.register_profile(
    "steady", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.load_profile("steady")

# A shell ignores it for what it starts in the background, and so would every process of the tests.
signal.signal(signal.SIGINT, signal.default_int_handler)

_left_out: dict[str, int] = {}  # what is missing -> tests that need it


@pytest.fixture(scope="session")
def _servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerRoom]:
    with ExitStack() as stack:
        yield ServerRoom(stack, tmp_path_factory)


def leave_out(missing: Missing) -> NoReturn:
    _left_out[str(missing)] = _left_out.get(str(missing), 0) + 1
    pytest.skip(str(missing))


@pytest.fixture(scope="session")
def left_out() -> Callable[[Missing], NoReturn]:
    """To be called by a test whose program is not on this machine."""
    return leave_out


class ServerRoom:
    def __init__(self, stack: ExitStack, folders: pytest.TempPathFactory) -> None:
        self._stack = stack
        self._folders = folders
        self._running: dict[str, PrivateServer] = {}

    def get(self, name: str, make: Callable[..., PrivateServer], **options: str) -> PrivateServer:
        if name not in self._running:
            try:
                server = make(self._folders.mktemp(name), **options)
            except Missing as missing:
                leave_out(missing)
            self._stack.enter_context(server.running())
            self._running[name] = server
        return self._running[name]


@pytest.fixture
def mongod(_servers: ServerRoom) -> MongoServer:
    server = _servers.get("mongod", MongoServer)
    assert isinstance(server, MongoServer)
    return server


@pytest.fixture
def replica_set(_servers: ServerRoom) -> MongoServer:
    server = _servers.get("replica-set", MongoServer, replica_set="rs0")
    assert isinstance(server, MongoServer)
    return server


@pytest.fixture
def rabbitmq(_servers: ServerRoom) -> RabbitServer:
    server = _servers.get("rabbitmq", RabbitServer)
    assert isinstance(server, RabbitServer)
    return server


@pytest.fixture
def redis_server(_servers: ServerRoom) -> RedisServer:
    server = _servers.get("redis", RedisServer)
    assert isinstance(server, RedisServer)
    return server


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for missing, tests in _left_out.items():
        terminalreporter.write_line(f"LEFT OUT {tests} tests: {missing}", yellow=True, bold=True)
