"""The embedded backend: a SQLite file of its own for each test, by a clock that the test moves."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fakes.clock import FakeClock
from unit.deliveries import LEASE, Deliver
from unit.notification_world import MakeWorld, World
from webloom.adapters.sqlite.broker import SqliteBroker
from webloom.adapters.sqlite.database import Database, open_database
from webloom.domain.watch import Target


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With all tables: to make them takes longer than most tests."""
    path = tmp_path_factory.mktemp("embedded") / "webloom.db"

    async def make() -> None:
        async with open_database(path, FakeClock()):
            pass

    asyncio.run(make())
    return path


@pytest.fixture
async def database(empty_file: Path, tmp_path: Path, clock: FakeClock) -> AsyncIterator[Database]:
    path = tmp_path / "webloom.db"
    shutil.copy(empty_file, path)
    async with open_database(path, clock) as opened:
        yield opened


@pytest.fixture
def broker(database: Database) -> SqliteBroker:
    return SqliteBroker(database, limits={}, lease=LEASE)


@pytest.fixture
def deliver(broker: SqliteBroker, clock: FakeClock) -> Deliver:
    return Deliver(broker, clock)


@pytest.fixture
def world_of(database: Database, clock: FakeClock) -> MakeWorld:
    async def made(*targets: Target) -> World:
        world = World(database, clock)
        await world.add(*targets)
        return world

    return made
