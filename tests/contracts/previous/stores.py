"""All stores over one backend."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from webloom.adapters.mongodb.database import CollectionNames, open_mongodb
from webloom.adapters.mongodb.heartbeats import MongoHeartbeats
from webloom.adapters.mongodb.imports import mongodb_imports
from webloom.adapters.mongodb.inventory_store import MongoInventoryStore
from webloom.adapters.mongodb.locks import mongodb_locks
from webloom.adapters.mongodb.notifications import MongoNotifications
from webloom.adapters.mongodb.pages import mongodb_pages
from webloom.adapters.mongodb.upgrade import upgrade
from webloom.adapters.mongodb.watch_runs import MongoWatchRuns
from webloom.adapters.mongodb.watches import MongoWatches
from webloom.adapters.sqlite.database import open_database
from webloom.adapters.sqlite.heartbeats import SqliteHeartbeats
from webloom.adapters.sqlite.imports import sqlite_imports
from webloom.adapters.sqlite.inventory_store import SqliteInventoryStore
from webloom.adapters.sqlite.locks import sqlite_locks
from webloom.adapters.sqlite.notifications import SqliteNotifications
from webloom.adapters.sqlite.pages import sqlite_pages
from webloom.adapters.sqlite.watch_runs import SqliteWatchRuns
from webloom.adapters.sqlite.watches import SqliteWatches
from webloom.domain.retention import Retention
from webloom.ports.clock import Clock
from webloom.ports.heartbeats import Heartbeats
from webloom.ports.imports import Imports
from webloom.ports.locks import Locks
from webloom.ports.notifications import Notifications
from webloom.ports.page_stores import PageStores
from webloom.ports.watches import Watches

DATABASE = "previous"
BUDGET = 1 << 40
# So that nothing of the fixtures expires, however old they get.
FOR_EVER = Retention(snapshots=36_500, change_logs=36_500, job_runs=36_500, prices=36_500)


@dataclass(frozen=True, kw_only=True)
class Stores(PageStores):
    inventory: SqliteInventoryStore | MongoInventoryStore
    imports: Imports
    watches: Watches
    watch_runs: SqliteWatchRuns | MongoWatchRuns
    notifications: Notifications
    lock: Locks
    heartbeats: Heartbeats


def stores_in(stores: PageStores) -> dict[str, Any]:
    return {each.name: getattr(stores, each.name) for each in fields(PageStores)}


@asynccontextmanager
async def sqlite_stores(file: Path, clock: Clock) -> AsyncIterator[Stores]:
    async with open_database(file, clock) as database:
        yield Stores(
            inventory=SqliteInventoryStore(database),
            imports=sqlite_imports(database, durable_batches=False),
            **stores_in(sqlite_pages(database, retention=FOR_EVER, budget=BUDGET)),
            watches=SqliteWatches(database, retention=FOR_EVER),
            watch_runs=SqliteWatchRuns(database, retention=FOR_EVER),
            notifications=SqliteNotifications(database, retention=FOR_EVER),
            lock=sqlite_locks(database),
            heartbeats=SqliteHeartbeats(database),
        )


@asynccontextmanager
async def mongodb_stores(url: str, clock: Clock) -> AsyncIterator[Stores]:
    async with open_mongodb(
        url, clock, database=DATABASE, names=CollectionNames(), upgrade=upgrade
    ) as database:
        yield Stores(
            inventory=MongoInventoryStore(database),
            imports=mongodb_imports(database),
            **stores_in(mongodb_pages(database, retention=FOR_EVER, budget=BUDGET)),
            watches=MongoWatches(database, retention=FOR_EVER),
            watch_runs=MongoWatchRuns(database, retention=FOR_EVER),
            notifications=MongoNotifications(database, retention=FOR_EVER),
            lock=mongodb_locks(database),
            heartbeats=MongoHeartbeats(database),
        )
