"""What fails, as the overview reads it from the store."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fakes.clock import FakeClock
from webloom.adapters.sqlite.database import Database
from webloom.application.overview.stored_counts import MOST_FAILING_TARGETS, StoredCounts
from webloom.application.overview.troubles import MOST_OF_A_KIND
from webloom.bootstrap.sqlite import sqlite_stores
from webloom.bootstrap.stores import Stores
from webloom.domain.notification import Notification
from webloom.domain.retention import Retention
from webloom.domain.schedule import Schedule
from webloom.domain.watch import WatchConfig


@pytest.fixture
def stores(database: Database) -> Stores:
    return sqlite_stores(database, retention=Retention(), budget=1 << 30, durable_batches=False)


@pytest.mark.parametrize("more", [0, 1])
async def test_failing_targets_are_read_with_their_watches_and_whether_there_are_more(
    stores: Stores, clock: FakeClock, more: int
) -> None:
    config = WatchConfig(
        name="Shop", urls=["https://shop.test/"], schedule=Schedule(every_minutes=60)
    )
    for name in ("a", "b"):
        await stores.watches.add_watch(name, config, next_run_at=None)
    failing = [
        Notification(
            notification_id=f"{number:03}",
            watch_id=("a", "b", "gone")[number % 3],
            target_url=f"https://hook.test/{number:03}",
            run_id="run",
            due_at=clock.now(),
        )
        for number in range(MOST_FAILING_TARGETS + more)
    ]
    await stores.notifications.add(failing)
    again = clock.now() + timedelta(hours=1)
    ids = [each.notification_id for each in failing]
    await stores.notifications.note_failed(ids, error="away", retry_at=again)
    counts = StoredCounts(
        records=stores.records,
        imports=stores.imports,
        pages=stores.pages,
        page_storage=stores.page_storage,
        watches=stores.watches,
        watch_runs=stores.watch_runs,
        notifications=stores.notifications,
        pages_collection="pages",
    )
    found = (await counts.get()).failing_targets
    assert len(found.found) == MOST_FAILING_TARGETS > MOST_OF_A_KIND
    assert found.are_more == bool(more)
    assert {name: watch.config.name for name, watch in found.watches.items()} == {
        "a": "Shop",
        "b": "Shop",
    }
