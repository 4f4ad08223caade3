from __future__ import annotations

from typing import Any

import pytest

from contracts.mongodb.test_lists import stages
from contracts.mongodb_backend import stores_on
from contracts.page_samples import JOB, TS, URL, event
from webloom.adapters.mongodb import inbox
from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.indexes import CHANGES_WAITING, PAGES_MUTED, WAITS
from webloom.domain.inbox import InboxState, waiting_ranges
from webloom.stores.inbox import Place


@pytest.mark.parametrize("watch_id", [None, JOB])
@pytest.mark.parametrize("state", [InboxState.UNREAD, InboxState.SNOOZED])
@pytest.mark.parametrize("before", [None, Place(TS, "f" * 32)])
async def test_an_index_of_what_waits_serves_it_in_its_order(
    mongodb: MongoDatabase, watch_id: str | None, state: InboxState, before: Place | None
) -> None:
    """Sorted by the database, a million unread entries would be read for each page."""
    await stores_on(mongodb).pages.store_event(event(is_change=True))
    for each in waiting_ranges(state, TS):
        found = mongodb.change_logs.find(**inbox.page_query(each, watch_id, before), limit=5)
        used = stages((await found.explain())["queryPlanner"]["winningPlan"])
        assert "IXSCAN" in used
        assert not {"SORT", "COLLSCAN"} & {*used}


async def test_what_does_not_wait_is_in_no_index_of_what_waits(mongodb: MongoDatabase) -> None:
    stores = stores_on(mongodb)
    await stores.pages.store_event(event(is_change=True))
    assert await waiting(mongodb) == 1
    found: Any = await mongodb.change_logs.find_one({})
    await mongodb.change_logs.insert_one(
        {name: value for name, value in found.items() if not name.startswith("inbox")}
        | {"_id": "of the previous version", "numbered": False}
    )
    assert await waiting(mongodb) == 1
    await mongodb.change_logs.update_many({"inbox": "unread"}, {"$set": {"inboxAt": None}})
    assert await waiting(mongodb) == 0


async def waiting(database: MongoDatabase) -> int:
    found = database.change_logs.find(WAITS, hint=CHANGES_WAITING)
    return len(await found.to_list())


async def test_an_index_serves_muted_pages(mongodb: MongoDatabase) -> None:
    stores = stores_on(mongodb)
    await stores.pages.store_event(event())
    await stores.inbox.mute_page(JOB, URL, is_muted=True, now=mongodb.wall())
    found = mongodb.pages.find({"muted": True}, sort=PAGES_MUTED, hint=PAGES_MUTED, limit=5)
    used = stages((await found.explain())["queryPlanner"]["winningPlan"])
    assert "IXSCAN" in used
    assert not {"SORT", "COLLSCAN"} & {*used}
