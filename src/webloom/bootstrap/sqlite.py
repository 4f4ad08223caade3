"""Every store in one SQLite file."""

from __future__ import annotations

from pathlib import Path

from webloom.adapters.sqlite.checks import IS_TOO_OLD, LIBRARY, damage_in
from webloom.adapters.sqlite.database import Database
from webloom.adapters.sqlite.dump import SqliteDump
from webloom.adapters.sqlite.dump_pages import Expiry, page_tables
from webloom.adapters.sqlite.dump_tables import TABLES
from webloom.adapters.sqlite.heartbeats import SqliteHeartbeats
from webloom.adapters.sqlite.imports import sqlite_imports
from webloom.adapters.sqlite.inventory_store import SqliteInventoryStore
from webloom.adapters.sqlite.list_upkeep import SqliteListUpkeep
from webloom.adapters.sqlite.locks import sqlite_locks
from webloom.adapters.sqlite.notifications import SqliteNotifications
from webloom.adapters.sqlite.pages import sqlite_pages
from webloom.adapters.sqlite.revisions import SqliteRevisions
from webloom.adapters.sqlite.sizes import SqliteSizes
from webloom.adapters.sqlite.watch_runs import SqliteWatchRuns
from webloom.adapters.sqlite.watches import SqliteWatches
from webloom.adapters.sqlite.worker_logs import SqliteWorkerLogs
from webloom.bootstrap.stores import Stores
from webloom.domain.retention import Retention


def sqlite_stores(
    file: Database, *, retention: Retention, budget: int, durable_batches: bool
) -> Stores:
    inventory = SqliteInventoryStore(file)
    pages = sqlite_pages(file, retention=retention, budget=budget)
    watch_runs = SqliteWatchRuns(file, retention=retention)
    return Stores(
        store=inventory,
        records=inventory,
        imports=sqlite_imports(file, durable_batches=durable_batches),
        pages=pages.pages,
        page_history=pages.history,
        page_storage=pages.storage,
        change_alerts=pages.alerts,
        inbox=pages.inbox,
        watches=SqliteWatches(file, retention=retention),
        watch_runs=watch_runs,
        watch_run_listing=watch_runs,
        notifications=SqliteNotifications(file, retention=retention),
        whole=SqliteDump(file, TABLES | page_tables(lambda: Expiry.at(file.wall_ms(), retention))),
        heartbeats=SqliteHeartbeats(file),
        worker_logs=SqliteWorkerLogs(file, retention=retention),
        revisions=SqliteRevisions(file),
        lock=sqlite_locks(file),
        store_connection=file,
        room=file.room,
        sizes=SqliteSizes(file),
        list_upkeep=SqliteListUpkeep(file),
    )


def sqlite_library() -> tuple[str, bool]:
    """Its version, and whether that is too old."""
    return LIBRARY, IS_TOO_OLD


def damage_in_file(file: Path) -> str | None:
    return damage_in(file)
