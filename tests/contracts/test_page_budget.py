"""The budget of the watch pipeline: what a full storage takes, and what is forgotten last."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from contracts.adapters import Watching, WatchProcesses
from contracts.watch_samples import MAY, begin, check, event, price, run_now, url
from webloom.domain.errors import StorageFull
from webloom.domain.watch import Tally
from webloom.ports.page_history import ChangeFilter
from webloom.ports.pages import Stored

JOB = "id of shop"
LARGE = 50_000  # bytes: much more than what has no content


def noise(number: int) -> str:
    return random.Random(number).randbytes(LARGE).hex()


async def used(store: Watching) -> int:
    return sum(each.bytes for each in await store.storage.usage())


async def test_a_full_storage_refuses_what_is_new_and_nothing_else(
    watchings: WatchProcesses,
) -> None:
    known = event("a", price=price(5))
    async with watchings.open() as store:
        assert (await store.pages.store_event(known)).is_new
    async with watchings.open_within(1) as full:
        assert await full.storage.is_full()
        for new in (event("b"), event("a", text="new"), replace(known, price=price(6))):
            with pytest.raises(StorageFull, match="the budget is 1;"):
                await full.pages.store_event(new)
        assert await full.pages.store_event(known) == Stored(version=1, is_new=False)
        found = replace(known, parsed=None, price=None, availability="in stock")
        assert (await full.pages.store_event(found)).is_new
        page = await full.pages.find_page(JOB, url("a"))
        assert page is not None
        assert (page.version, page.price, page.availability) == (1, Decimal(5), "in stock")
        run = await begin(full, "other", pages="a")
        await check(full, run, "a")
        assert (await run_now(full, run.run_id)).tally == Tally(processed=1)


@pytest.mark.usefixtures("steady_sizes")
async def test_a_version_is_recognised_as_long_as_its_pending_change_log(
    watchings: WatchProcesses,
) -> None:
    events = [
        event(
            "a",
            text=noise(number),
            snapshot_hash=f"{number}",
            at=MAY + timedelta(minutes=number),
            is_change=True,
            changes={"to": noise(-number)} if number in (1, 2) else {},
            alerts=["it changed"] if number in (1, 2) else [],
        )
        for number in range(5)
    ]
    async with watchings.open() as store:
        for each in events:
            await store.pages.store_event(each)
        [versions] = [
            each for each in await store.storage.usage() if each.collection == "snapshots"
        ]
        left = await used(store) - versions.superseded_bytes
    # Room for the newest version and the two change logs, but not for what goes before those.
    async with watchings.open_within(int(left * 1.05)) as tight:
        assert await tight.storage.prune() > 0
        kept, _ = await tight.history.change_logs(ChangeFilter(watch_id=JOB), limit=9)
        assert [each.current for each in kept if each.alerts] == [3, 2]
        assert await tight.history.parsed(JOB, url("a"), 2) is None
        for number in (1, 2):
            again = await tight.pages.store_event(events[number])
            assert again == Stored(version=number + 1, is_new=False)
        shown = await tight.history.versions(JOB, url("a"), limit=9)
        assert [each.version for each in shown] == [5]
