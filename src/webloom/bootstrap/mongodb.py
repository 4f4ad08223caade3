"""Every store in one MongoDB database. Imported only when an address asks for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

from webloom.adapters.mongodb.client import CollectionNames, open_mongodb
from webloom.adapters.mongodb.dump import MongoDump
from webloom.adapters.mongodb.dump_pages import page_kinds
from webloom.adapters.mongodb.dump_tables import kinds
from webloom.adapters.mongodb.heartbeats import MongoHeartbeats
from webloom.adapters.mongodb.imports import mongodb_imports
from webloom.adapters.mongodb.inventory_store import MongoInventoryStore
from webloom.adapters.mongodb.locks import mongodb_locks
from webloom.adapters.mongodb.notifications import MongoNotifications
from webloom.adapters.mongodb.pages import mongodb_pages
from webloom.adapters.mongodb.revisions import MongoRevisions
from webloom.adapters.mongodb.sizes import MongoSizes
from webloom.adapters.mongodb.watch_runs import MongoWatchRuns
from webloom.adapters.mongodb.watches import MongoWatches
from webloom.bootstrap.stores import Stores, retention
from webloom.domain.pipeline import Pipeline
from webloom.ports.clock import Clock
from webloom.settings import Settings


@asynccontextmanager
async def open_mongodb_stores(
    url: str, settings: Settings, clock: Clock, pipelines: Collection[Pipeline]
) -> AsyncIterator[Stores]:
    kept = retention(settings)
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
    ) as database:
        pages = mongodb_pages(database, retention=kept, budget=settings.storage_budget)
        yield Stores(
            store=MongoInventoryStore(database),
            imports=mongodb_imports(database),
            pages=pages.pages,
            page_history=pages.history,
            page_storage=pages.storage,
            change_alerts=pages.alerts,
            watches=MongoWatches(database, retention=kept),
            watch_runs=MongoWatchRuns(database, retention=kept),
            notifications=MongoNotifications(database, retention=kept),
            whole=MongoDump(database, kinds(database) | page_kinds(database, kept)),
            heartbeats=MongoHeartbeats(database),
            revisions=MongoRevisions(database),
            lock=mongodb_locks(database),
            store_link=database,
            room=database.room,
            sizes=MongoSizes(database),
        )
