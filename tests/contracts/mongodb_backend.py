"""MongoDB for the contract suites, on servers that all tests share.

Making collections and indexes anew for each test would take most of the time: a test finds the
database of the one before, emptied.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from fakes.clock import FakeClock
from servers.mongod import MongoServer
from webloom.adapters.mongodb.client import CollectionNames, MongoDatabase, open_mongodb
from webloom.adapters.mongodb.heartbeats import MongoHeartbeats
from webloom.adapters.mongodb.imports import mongodb_imports
from webloom.adapters.mongodb.inventory_store import MongoInventoryStore
from webloom.adapters.mongodb.locks import mongodb_locks
from webloom.adapters.mongodb.postings import MongoPostings
from webloom.adapters.mongodb.revisions import MongoRevisions
from webloom.domain.import_run import Mark
from webloom.ports.clock import Clock
from webloom.ports.heartbeats import Heartbeats
from webloom.ports.imports import Imports
from webloom.ports.inventory_store import InventoryStore
from webloom.ports.locks import Locks
from webloom.ports.revisions import Revisions

if TYPE_CHECKING:
    from contracts.adapters import Place

DATABASE = "contracts"
NAMES = CollectionNames()

_used_by: dict[MongoServer, str] = {}  # the place for which a server's database was emptied
_offsets: dict[str, float] = {}  # of a place: the server's clock when it was first used


@asynccontextmanager
async def open_mongodb_at(place: Place, clock: Clock) -> AsyncIterator[MongoDatabase]:
    server = place.server
    assert isinstance(server, MongoServer)
    async with open_mongodb(server.url, clock, database=DATABASE, names=NAMES) as database:
        # Two processes that are opened one after the other are to see the same time.
        now = time.time() - FakeClock().steady()
        database._offset = _offsets.setdefault(place.name, now)
        measured_once(database)
        if _used_by.get(server) != place.name:
            _used_by[server] = place.name
            await empty(database)
        yield database


def measured_once(database: MongoDatabase) -> None:
    """A fake clock stands still while the server's goes on: measured again, when a test takes long
    or after trouble, what a test has let pass would not have passed."""

    def leave(server: datetime, before: float, after: float) -> None:
        pass

    database._measure = leave  # type: ignore[method-assign]


async def empty(database: MongoDatabase) -> None:
    await asyncio.gather(
        *(
            collection.delete_many({})
            for collection in (
                database.records,
                database.forgotten,
                database.locks,
                database.heartbeats,
                database.feeds,
                database.jobs,
                database.job_words,
                database.import_logs,
                database.import_batches,
                database.pages,
                database.snapshots,
                database.price_history,
                database.change_logs,
                database.job_runs,
                database.watches,
                database.watch_ledger,
                database.notices,
            )
        )
    )


@asynccontextmanager
async def open_mongodb_store(place: Place, clock: Clock) -> AsyncIterator[InventoryStore]:
    async with open_mongodb_at(place, clock) as database:
        yield MongoInventoryStore(database)


@asynccontextmanager
async def open_mongodb_lock(place: Place, clock: Clock) -> AsyncIterator[Locks]:
    async with open_mongodb_at(place, clock) as database:
        yield mongodb_locks(database)


@asynccontextmanager
async def open_mongodb_heartbeats(place: Place, clock: Clock) -> AsyncIterator[Heartbeats]:
    async with open_mongodb_at(place, clock) as database:
        yield MongoHeartbeats(database)


@asynccontextmanager
async def open_mongodb_revisions(place: Place, clock: Clock) -> AsyncIterator[Revisions]:
    async with open_mongodb_at(place, clock) as database:
        yield MongoRevisions(database)


@asynccontextmanager
async def open_mongodb_imports(place: Place, clock: Clock) -> AsyncIterator[Imports]:
    async with open_mongodb_at(place, clock) as database:
        yield mongodb_imports(database)


def postings_of(store: Imports) -> MongoPostings:
    assert isinstance(store.postings, MongoPostings)
    return store.postings


def runs_of(store: Imports) -> Any:
    """With what it is made of."""
    return store.runs


async def lose_mongodb_row(place: Place, clock: Clock, mark: Mark) -> None:
    async with open_mongodb_at(place, clock) as database:
        lost = await database.import_batches.delete_one(
            {"runId": mark.run_id, "batchIndex": mark.batch_index}
        )
        assert lost.deleted_count == 1
