"""Every store in one MongoDB database. Imported only when an address asks for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from functools import partial

from webloom.adapters.mongodb.database import CollectionNames, MongoDatabase, open_mongodb
from webloom.adapters.mongodb.dump import MongoDump
from webloom.adapters.mongodb.dump_pages import page_kinds
from webloom.adapters.mongodb.dump_tables import kinds
from webloom.adapters.mongodb.heartbeats import MongoHeartbeats
from webloom.adapters.mongodb.imports import mongodb_imports
from webloom.adapters.mongodb.inventory_store import MongoInventoryStore
from webloom.adapters.mongodb.list_upkeep import MongoListUpkeep
from webloom.adapters.mongodb.locks import mongodb_locks
from webloom.adapters.mongodb.notifications import MongoNotifications
from webloom.adapters.mongodb.pages import mongodb_pages
from webloom.adapters.mongodb.revisions import MongoRevisions
from webloom.adapters.mongodb.sizes import MongoSizes
from webloom.adapters.mongodb.upgrade import upgrade
from webloom.adapters.mongodb.watch_runs import MongoWatchRuns
from webloom.adapters.mongodb.watches import MongoWatches
from webloom.adapters.mongodb.worker_logs import MongoWorkerLogs
from webloom.bootstrap.stores import Stores, retention
from webloom.domain.pipeline import Pipeline
from webloom.domain.retention import Retention
from webloom.ports.clock import Clock
from webloom.settings import Settings


@asynccontextmanager
async def open_mongodb_stores(
    url: str, settings: Settings, clock: Clock, pipelines: Collection[Pipeline]
) -> AsyncIterator[Stores]:
    names = CollectionNames(
        metadata=settings.metadata_collection,
        locks=settings.locks_collection,
        heartbeats=settings.heartbeats_collection,
        feeds=settings.feeds_collection,
        jobs=settings.jobs_collection,
        import_logs=settings.import_logs_collection,
        pages=settings.pages_collection,
        snapshots=settings.snapshots_collection,
        price_history=settings.price_collection,
        change_logs=settings.change_collection,
        job_runs=settings.job_runs_collection,
        watches=settings.watches_collection,
    )
    async with open_mongodb(
        url,
        clock,
        database=settings.mongodb_database,
        names=names,
        limit=settings.most_bytes,
        pipelines=pipelines,
        upgrade=partial(upgrade, pipelines=pipelines),
    ) as database:
        yield mongodb_stores(
            database, retention=retention(settings), budget=settings.storage_budget
        )


def mongodb_stores(database: MongoDatabase, *, retention: Retention, budget: int) -> Stores:
    inventory = MongoInventoryStore(database)
    pages = mongodb_pages(database, retention=retention, budget=budget)
    watch_runs = MongoWatchRuns(database, retention=retention)
    return Stores(
        store=inventory,
        records=inventory,
        imports=mongodb_imports(database),
        pages=pages.pages,
        page_history=pages.history,
        page_storage=pages.storage,
        change_alerts=pages.alerts,
        inbox=pages.inbox,
        watches=MongoWatches(database, retention=retention),
        watch_runs=watch_runs,
        watch_run_listing=watch_runs,
        notifications=MongoNotifications(database, retention=retention),
        whole=MongoDump(database, kinds(database) | page_kinds(database, retention)),
        heartbeats=MongoHeartbeats(database),
        worker_logs=MongoWorkerLogs(database, retention=retention),
        revisions=MongoRevisions(database),
        lock=mongodb_locks(database),
        store_connection=database,
        room=database.room,
        sizes=MongoSizes(database),
        list_upkeep=MongoListUpkeep(database),
    )
