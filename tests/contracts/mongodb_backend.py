"""MongoDB for the contract suites, on servers that all tests share.

Making collections and indexes for each test would take most of the time: a test finds the
database of the one before, emptied.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from contracts.primitives import Primitives
from fakes.clock import FakeClock
from servers.mongod import MongoServer
from servers.other_programs import TheirCollection
from webloom.adapters.mongodb.database import CollectionNames, MongoDatabase, open_mongodb
from webloom.adapters.mongodb.locks import lock_codec
from webloom.adapters.mongodb.postings import MongoPostings
from webloom.adapters.mongodb.primitives import MongoDocuments, MongoPairs
from webloom.bootstrap.mongodb import mongodb_stores
from webloom.bootstrap.stores import Stores
from webloom.domain.import_run import Mark
from webloom.domain.retention import Retention
from webloom.ports.clock import Clock
from webloom.ports.imports import Imports

if TYPE_CHECKING:
    from contracts.adapters import Place

NAMES = CollectionNames()
AMPLE = 1 << 40  # bytes

_used_by: dict[tuple[MongoServer, str], str] = {}  # the place for which a database was emptied
_offsets: dict[str, float] = {}  # of a place: the server's clock when it was first used


@asynccontextmanager
async def open_mongodb_at(place: Place, clock: Clock) -> AsyncIterator[MongoDatabase]:
    server = place.server
    assert isinstance(server, MongoServer)
    name = f"contracts-{place.role}"
    async with open_mongodb(server.url, clock, database=name, names=NAMES) as database:
        # Two processes that are opened one after the other are to see the same time.
        now = time.time() - FakeClock().steady()
        database._offset = _offsets.setdefault(place.name, now)
        measured_once(database)
        if _used_by.get((server, name)) != place.name:
            _used_by[server, name] = place.name
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
                database.went_unread,
                database.job_runs,
                database.watches,
                database.watch_ledger,
                database.notices,
                database.worker_logs,
                database.copies,
            )
        )
    )


def stores_on(database: MongoDatabase, *, budget: int = AMPLE) -> Stores:
    return mongodb_stores(database, retention=Retention(), budget=budget)


@asynccontextmanager
async def open_mongodb_stores(
    place: Place, clock: Clock, *, budget: int = AMPLE
) -> AsyncIterator[Stores]:
    async with open_mongodb_at(place, clock) as database:
        yield stores_on(database, budget=budget)


@asynccontextmanager
async def open_mongodb_primitives(place: Place, clock: Clock) -> AsyncIterator[Primitives]:
    async with open_mongodb_at(place, clock) as database:
        codec = lock_codec(database)
        yield Primitives(
            documents=MongoDocuments(database, codec), pairs=MongoPairs(database, codec, codec)
        )


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


def fill_mongodb(place: Place, size: int) -> None:
    assert isinstance(place.server, MongoServer)
    TheirCollection(place.server, place.name).fill(size)
