from __future__ import annotations

import asyncio
import os
import random
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest

from faults.broker_rooms import room
from faults.processes import Fleet, SmallDisk, small_disk
from faults.site import Site
from faults.stack import MakeStack, Stack, empty
from servers.private import PrivateServer
from servers.rabbitmq import RabbitServer
from servers.redis import RedisServer
from servers.shared import SharedServers
from topologies import SERVERS

__all__ = ["room"]  # a fixture


class MakeFleet(Protocol):
    def __call__(
        self, *sites: Site, data: Path | None = ..., prefix: Sequence[str] = ..., **settings: object
    ) -> Fleet: ...


@pytest.fixture
def fleets(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[MakeFleet]:
    """Makes fleets whose gate lets the given sites through; every process ends with the test."""
    made: list[Fleet] = []

    def make(
        *sites: Site, data: Path | None = None, prefix: Sequence[str] = (), **settings: object
    ) -> Fleet:
        folder = tmp_path / f"fleet{len(made)}"
        folder.mkdir()
        data = data or folder / "data"
        given = {
            "allow_addresses": ",".join(site.address for site in sites),
            "data_dir": data,
            "host_concurrency": 64,
        } | settings
        variables = {f"WEBLOOM_{name.upper()}": str(value) for name, value in given.items()}
        made.append(Fleet(folder=folder, settings=variables, data=data, prefix=prefix))
        return made[-1]

    try:
        yield make
    finally:
        for fleet in made:
            fleet.end()
        for fleet in made:
            fleet.tell()


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with Site() as running:
        yield running


@pytest.fixture
def say(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Tell a figure: shown when the test fails, and with `pytest -rP`."""

    def write(text: str) -> None:
        sys.stdout.write(f"{request.node.name}: {text}\n")

    return write


@pytest.fixture
def rng(say: Callable[[str], None]) -> random.Random:
    """Randomness whose seed a failed run prints."""
    seed = int(os.environ.get("FAULTS_SEED", "20240607"))
    say(f"FAULTS_SEED={seed}")
    return random.Random(seed)


class Victims:
    """Servers that tests kill and pause; each test gets them running."""

    def __init__(self, servers: SharedServers) -> None:
        self._servers = servers

    async def store(self, name: str) -> PrivateServer | None:
        if name == "sqlite":
            return None
        server = self._servers.get(f"{name}-to-kill", SERVERS[name])
        await asyncio.to_thread(server.ensure_running)
        return server

    async def broker(self, name: str) -> RabbitServer | RedisServer | None:
        if name == "file":
            return None
        server = self._servers.get(f"{name}-to-kill", SERVERS[name])
        assert isinstance(server, RabbitServer | RedisServer)
        await asyncio.to_thread(server.ensure_running)
        await empty(server)
        return server


@pytest.fixture
def stacks(shared_servers: SharedServers, fleets: MakeFleet) -> MakeStack:
    """Makes installations of a kind: `<store>+<broker>`. Each is one of SERVERS, or has no server:
    sqlite, and file (SQLite)."""
    victims = Victims(shared_servers)

    async def make(kind: str, *sites: Site, **settings: object) -> Stack:
        store_name, broker_name = kind.split("+")
        store, broker = await victims.store(store_name), await victims.broker(broker_name)
        if store is not None:
            settings |= store.settings(f"faults-{uuid.uuid4().hex[:8]}")
        if broker is not None:
            settings |= {"broker": broker.url}
        fleet = fleets(*sites, data=None, prefix=(), **settings)
        stack = Stack(kind=kind, fleet=fleet, site=sites[0], store=store, broker=broker)
        async with stack.services():
            pass  # A mongod under Wine can die of many that make the same collections at once.
        return stack

    return make


@pytest.fixture
def disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[SmallDisk]:
    size: str = getattr(request, "param", "8m")
    with ExitStack() as stack:
        try:
            found = stack.enter_context(small_disk(tmp_path / "disk", size))
        except OSError as error:
            pytest.skip(str(error))
        yield found
