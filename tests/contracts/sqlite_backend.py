"""SQLite for the contract suites: each test has a file of its own."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import TYPE_CHECKING

from contracts.primitives import Primitives
from servers.other_programs import TheirTable
from webloom.adapters.sqlite.broker import SqliteBroker
from webloom.adapters.sqlite.database import Database, open_database
from webloom.adapters.sqlite.locks import LOCKS
from webloom.adapters.sqlite.primitives import SqliteDocuments, SqlitePairs
from webloom.bootstrap.sqlite import sqlite_stores
from webloom.bootstrap.stores import Stores
from webloom.domain.import_run import Mark
from webloom.domain.retention import Retention
from webloom.ports.broker import Broker
from webloom.ports.clock import Clock

if TYPE_CHECKING:
    from contracts.adapters import Place

AMPLE = 1 << 40  # bytes


def database_file(place: Place) -> Path:
    return place.folder / "webloom.db"


def stores_in(database: Database, *, budget: int = AMPLE) -> Stores:
    return sqlite_stores(database, retention=Retention(), budget=budget, durable_batches=False)


@asynccontextmanager
async def open_sqlite(place: Place, clock: Clock, *, budget: int = AMPLE) -> AsyncIterator[Stores]:
    place.folder.mkdir(exist_ok=True)
    async with open_database(database_file(place), clock) as database:
        yield stores_in(database, budget=budget)


@asynccontextmanager
async def open_sqlite_primitives(place: Place, clock: Clock) -> AsyncIterator[Primitives]:
    async with open_database(database_file(place), clock) as database:
        yield Primitives(
            documents=SqliteDocuments(database, LOCKS), pairs=SqlitePairs(database, LOCKS, LOCKS)
        )


@asynccontextmanager
async def open_sqlite_broker(
    place: Place, clock: Clock, *, limits: Mapping[str, int], lease: float
) -> AsyncIterator[Broker]:
    async with open_database(database_file(place), clock) as database:
        yield SqliteBroker(database, limits=dict(limits), lease=lease)


async def lose_sqlite_row(place: Place, clock: Clock, mark: Mark) -> None:
    with closing(sqlite3.connect(database_file(place))) as connection, connection:
        lost = connection.execute(
            "DELETE FROM import_batches WHERE batch_index = ? AND run = "
            "(SELECT id FROM run_names WHERE run_id = ?)",
            (mark.batch_index, mark.run_id),
        )
        assert lost.rowcount == 1


def fill_sqlite(place: Place, size: int) -> None:
    TheirTable(database_file(place)).fill(size)
