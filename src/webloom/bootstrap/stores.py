from __future__ import annotations

from dataclasses import dataclass

from webloom.domain.retention import Retention
from webloom.ports.change_alerts import ChangeAlerts
from webloom.ports.connection import Connected
from webloom.ports.dump import WholeStore
from webloom.ports.heartbeats import Heartbeats
from webloom.ports.imports import Imports
from webloom.ports.inbox import Inbox
from webloom.ports.inventory_store import InventoryStore
from webloom.ports.list_upkeep import ListUpkeep
from webloom.ports.locks import Locks
from webloom.ports.notifications import Notifications
from webloom.ports.page_history import PageHistory
from webloom.ports.page_storage import PageStorage
from webloom.ports.pages import Pages
from webloom.ports.record_listing import RecordListing
from webloom.ports.revisions import Revisions
from webloom.ports.room import DatabaseSizes, Room
from webloom.ports.watch_run_listing import WatchRunListing
from webloom.ports.watch_runs import WatchRuns
from webloom.ports.watches import Watches
from webloom.ports.worker_logs import WorkerLogs
from webloom.settings import Settings


@dataclass(frozen=True, kw_only=True, slots=True)
class Stores:
    """What a backend stores, one port per aggregate."""

    store: InventoryStore
    records: RecordListing
    imports: Imports
    pages: Pages
    page_history: PageHistory
    page_storage: PageStorage
    change_alerts: ChangeAlerts
    inbox: Inbox
    watches: Watches
    watch_runs: WatchRuns
    watch_run_listing: WatchRunListing
    notifications: Notifications
    whole: WholeStore
    heartbeats: Heartbeats
    worker_logs: WorkerLogs
    revisions: Revisions
    lock: Locks
    store_connection: Connected
    room: Room
    sizes: DatabaseSizes
    list_upkeep: ListUpkeep


def retention(settings: Settings) -> Retention:
    return Retention(
        snapshots=settings.keep_snapshots_days,
        change_logs=settings.keep_changes_days,
        job_runs=settings.keep_runs_days,
        prices=settings.keep_prices_days,
        worker_logs=settings.keep_logs_days,
    )
