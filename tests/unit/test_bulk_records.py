"""Many records are fetched again while the queue is full."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from fakes.clock import FakeClock
from webloom.adapters.sqlite.broker import SqliteBroker
from webloom.adapters.sqlite.database import Database
from webloom.adapters.sqlite.inventory_store import SqliteInventoryStore
from webloom.application import bulk
from webloom.application.bulk import NOT_TRIED, Finished, act_on_all
from webloom.application.inventory import bulk_records
from webloom.application.inventory.bulk_records import BulkRecords, RecordAction
from webloom.application.inventory.invalidate_url import InvalidateUrl
from webloom.application.inventory.recent_records import RecentRecords
from webloom.application.inventory.submit_url import Accepted, SubmitUrl
from webloom.domain.errors import QueueFull
from webloom.domain.inventory import METADATA_QUEUE, Status
from webloom.parsing.web_url import normalise

URLS = [f"https://site.example/{number}" for number in range(20)]
AT_ONCE = 10
PAUSES = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Submit(SubmitUrl):
    """The queue has room for one more URL each time that all have been tried `rounds` times."""

    rounds: int
    tried: list[str] = field(default_factory=list)  # since a URL was accepted
    accepted: list[str] = field(default_factory=list)

    async def one(self, url: str, *, background: bool = False) -> Accepted:
        self.tried.append(url)
        waiting = AT_ONCE - len(self.accepted) % AT_ONCE
        if len(self.tried) <= self.rounds * waiting:
            raise QueueFull(METADATA_QUEUE, 1)
        self.tried.clear()
        self.accepted.append(url)
        return Accepted(url=url, request_id=url, status=Status.PENDING)


async def refetched(
    database: Database, clock: FakeClock, *, rounds: int
) -> tuple[Submit, Finished]:
    store = SqliteInventoryStore(database)
    submit = Submit(
        store=store,
        broker=SqliteBroker(database, limits={METADATA_QUEUE: 100}, lease=15),
        check=normalise,
        queue_limit=100,
        needs_store=True,
        rounds=rounds,
    )
    recent = RecentRecords(clock, most_bytes=1 << 20, seconds=60)
    records = BulkRecords(
        records=store,
        submit=submit,
        invalidate=InvalidateUrl(store=store, recent=recent, check=normalise),
    )
    return submit, await act_on_all(URLS, records.act(RecordAction.REFETCH))


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "AT_ONCE", AT_ONCE)
    monkeypatch.setattr(bulk_records, "PAUSE", 0.0)
    monkeypatch.setattr(bulk_records, "MOST_PAUSES", PAUSES)


async def test_a_queue_that_stays_full_is_waited_for_once(
    database: Database, clock: FakeClock
) -> None:
    submit, finished = await refetched(database, clock, rounds=1000)
    assert submit.tried == URLS[:AT_ONCE] * (PAUSES + 1)
    assert (finished.total, finished.failed) == (len(URLS), len(URLS))
    reasons = {each.id: each.reason for each in finished.failures}
    assert reasons[URLS[0]].startswith("the queue was full, and accepted nothing for ")
    assert "Start workers" in reasons[URLS[0]]
    assert {reasons[each] for each in URLS[AT_ONCE:]} == {f"{NOT_TRIED}{reasons[URLS[0]]}"}


async def test_a_queue_that_moves_on_is_waited_for_until_it_has_accepted_all(
    database: Database, clock: FakeClock
) -> None:
    submit, finished = await refetched(database, clock, rounds=PAUSES - 1)
    assert sorted(submit.accepted) == sorted(URLS)
    assert finished.failed == 0
