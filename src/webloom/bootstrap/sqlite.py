"""Every store in one SQLite file."""

from __future__ import annotations

from webloom.adapters.sqlite.database import Database
from webloom.adapters.sqlite.dump import SqliteDump
from webloom.adapters.sqlite.dump_pages import Expiry, page_tables
from webloom.adapters.sqlite.dump_tables import TABLES
from webloom.adapters.sqlite.heartbeats import SqliteHeartbeats
from webloom.adapters.sqlite.imports import sqlite_imports
from webloom.adapters.sqlite.inventory_store import SqliteInventoryStore
from webloom.adapters.sqlite.locks import sqlite_locks
from webloom.adapters.sqlite.notifications import SqliteNotifications
from webloom.adapters.sqlite.pages import sqlite_pages
from webloom.adapters.sqlite.revisions import SqliteRevisions
from webloom.adapters.sqlite.sizes import SqliteSizes
from webloom.adapters.sqlite.watch_runs import SqliteWatchRuns
from webloom.adapters.sqlite.watches import SqliteWatches
from webloom.bootstrap.stores import Stores, retention
from webloom.settings import Settings


def sqlite_stores(file: Database, settings: Settings, *, durable_batches: bool) -> Stores:
    kept = retention(settings)
    pages = sqlite_pages(file, retention=kept, budget=settings.storage_budget)
    return Stores(
        store=SqliteInventoryStore(file),
        imports=sqlite_imports(file, durable_batches=durable_batches),
        pages=pages.pages,
        page_history=pages.history,
        page_storage=pages.storage,
        change_alerts=pages.alerts,
        watches=SqliteWatches(file, retention=kept),
        watch_runs=SqliteWatchRuns(file, retention=kept),
        notifications=SqliteNotifications(file, retention=kept),
        whole=SqliteDump(file, TABLES | page_tables(lambda: Expiry.at(file.wall_ms(), kept))),
        heartbeats=SqliteHeartbeats(file),
        revisions=SqliteRevisions(file),
        lock=sqlite_locks(file),
        store_link=file,
        room=file.room,
        sizes=SqliteSizes(file),
    )
