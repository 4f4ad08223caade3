"""For each port: `brokers` and its like open processes over one backend, `broker` is one."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from contracts.adapters import (
    BROKERS,
    HEARTBEATS,
    IMPORTS,
    LOCKS,
    PRIMITIVES,
    REVISIONS,
    STORES,
    WATCHING,
    WORKER_LOGS,
    BrokerAdapter,
    Brokers,
    ImportProcesses,
    Inventory,
    Place,
    PortAdapter,
    Processes,
    StoreBackend,
    Watching,
    WatchProcesses,
    Whole,
)
from contracts.mongodb_backend import open_mongodb_at
from contracts.primitives import Primitives
from fakes.clock import FakeClock
from servers.mongod import MongoServer
from servers.shared import SharedServers
from timeouts import TIMEOUT_SECONDS
from topologies import SERVERS, each
from webloom.adapters.bullmq import server as bullmq_server
from webloom.adapters.mongodb import database as mongodb_database
from webloom.adapters.mongodb import page_storage
from webloom.adapters.mongodb.database import MongoDatabase
from webloom.ports.broker import Broker
from webloom.ports.heartbeats import Heartbeats
from webloom.ports.imports import Imports
from webloom.ports.locks import Locks
from webloom.ports.page_stores import PageStores
from webloom.ports.revisions import Revisions
from webloom.ports.worker_logs import WorkerLogs


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """With servers that are there: that one does not answer in time tells of the machine only."""
    for module, names in (
        (mongodb_database, ("REACH_SECONDS", "ANSWER_SECONDS")),
        (bullmq_server, ("CONNECT_SECONDS", "ANSWER_SECONDS")),
    ):
        for name in names:
            monkeypatch.setattr(module, name, TIMEOUT_SECONDS)


@pytest.fixture
def steady_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """On MongoDB those of documents alone: an index grows severalfold when the server writes a
    checkpoint."""
    monkeypatch.setattr(page_storage, "_bytes", lambda stats: int(stats["size"]))


def place_for(
    adapter: BrokerAdapter | PortAdapter[object] | StoreBackend,
    request: pytest.FixtureRequest,
    folder: Path,
    role: str = "here",
) -> Place:
    server = None
    if adapter.server is not None:
        shared: SharedServers = request.getfixturevalue("shared_servers")
        server = shared.get(adapter.server, SERVERS[adapter.server])
    return Place(folder=folder, name=uuid.uuid4().hex[:12], server=server, role=role)


@pytest.fixture
async def mongodb(
    mongod: MongoServer, tmp_path: Path, clock: FakeClock, patient: None
) -> AsyncIterator[MongoDatabase]:
    """An empty one."""
    place = Place(folder=tmp_path, name=uuid.uuid4().hex[:12], server=mongod)
    async with open_mongodb_at(place, clock) as opened:
        yield opened


@pytest.fixture(params=each(BROKERS))
def brokers(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock, patient: None
) -> Brokers:
    return Brokers(
        adapter=request.param, place=place_for(request.param, request, tmp_path), clock=clock
    )


@pytest.fixture
async def broker(brokers: Brokers) -> AsyncIterator[Broker]:
    async with brokers.open() as opened:
        yield opened


@pytest.fixture(params=each(STORES))
def stores(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock, patient: None
) -> Processes[Inventory]:
    return Processes(
        adapter=request.param, place=place_for(request.param, request, tmp_path), clock=clock
    )


@pytest.fixture
async def store(stores: Processes[Inventory]) -> AsyncIterator[Inventory]:
    async with stores.open() as opened:
        yield opened


@pytest.fixture(params=each(LOCKS))
def locks(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock, patient: None
) -> Processes[Locks]:
    return Processes(
        adapter=request.param, place=place_for(request.param, request, tmp_path), clock=clock
    )


@pytest.fixture
async def lock(locks: Processes[Locks]) -> AsyncIterator[Locks]:
    async with locks.open() as opened:
        yield opened


@pytest.fixture(params=each(PRIMITIVES))
def primitives(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock, patient: None
) -> Processes[Primitives]:
    return Processes(
        adapter=request.param, place=place_for(request.param, request, tmp_path), clock=clock
    )


@pytest.fixture(params=each(HEARTBEATS))
def observers(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock, patient: None
) -> Processes[Heartbeats]:
    return Processes(
        adapter=request.param, place=place_for(request.param, request, tmp_path), clock=clock
    )


@pytest.fixture
async def heartbeats(observers: Processes[Heartbeats]) -> AsyncIterator[Heartbeats]:
    async with observers.open() as opened:
        yield opened


@pytest.fixture(params=each(WORKER_LOGS))
def logging_processes(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock, patient: None
) -> Processes[WorkerLogs]:
    return Processes(
        adapter=request.param, place=place_for(request.param, request, tmp_path), clock=clock
    )


@pytest.fixture(params=each(REVISIONS))
def revising(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock, patient: None
) -> Processes[Revisions]:
    return Processes(
        adapter=request.param, place=place_for(request.param, request, tmp_path), clock=clock
    )


@pytest.fixture(params=each(IMPORTS))
def imports(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock, patient: None
) -> ImportProcesses:
    return ImportProcesses(
        adapter=request.param, place=place_for(request.param, request, tmp_path), clock=clock
    )


@pytest.fixture
async def import_store(imports: ImportProcesses) -> AsyncIterator[Imports]:
    async with imports.open() as opened:
        yield opened


@pytest.fixture(params=each(WATCHING))
def watchings(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock, patient: None
) -> WatchProcesses:
    return WatchProcesses(
        adapter=request.param, place=place_for(request.param, request, tmp_path), clock=clock
    )


@pytest.fixture
async def watching(watchings: WatchProcesses) -> AsyncIterator[Watching]:
    async with watchings.open() as opened:
        yield opened


@pytest.fixture
def page_store(watching: Watching) -> PageStores:
    return watching


# Dumps: a test names the adapters, by PAIRS and its like of whole_samples.


@pytest.fixture
def clock_of_today() -> FakeClock:
    """It begins now: MongoDB removes what has expired by its own clock."""
    return FakeClock(datetime.now(UTC).replace(microsecond=0))


@pytest.fixture
async def source(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock
) -> AsyncIterator[Whole]:
    adapter: PortAdapter[Whole] = request.param
    place = place_for(adapter, request, tmp_path / "source", "source")
    async with adapter.open(place, clock) as whole:
        yield whole


@pytest.fixture
async def target(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock
) -> AsyncIterator[Whole]:
    adapter: PortAdapter[Whole] = request.param
    place = place_for(adapter, request, tmp_path / "target", "target")
    async with adapter.open(place, clock) as whole:
        yield whole
