"""What the storage agent makes of a message, and of a store that fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from fakes.clock import NOON, FakeClock
from unit.deliveries import Deliver
from webloom.adapters.sqlite.broker import SqliteBroker
from webloom.adapters.sqlite.database import Database
from webloom.adapters.sqlite.page_store import SqlitePageStore
from webloom.adapters.sqlite.watch_store import SqliteWatchStore
from webloom.application import persist
from webloom.application.watch.store_event import FULL_PAUSE, MOST_DELIVERIES, StoreEvent
from webloom.domain.errors import EventRefused, StorageFull, StoreUnavailable
from webloom.domain.schedule import Schedule
from webloom.domain.storage_event import StorageEvent, milliseconds_of
from webloom.domain.watch import Outcome, PageFailure, WatchConfig
from webloom.ports.page_store import Retention, Stored
from webloom.ports.watch_store import NewRun

QUEUE = "storage-agent"
URL = "https://shop.test/1"
EVENT = {"jobId": "job", "url": URL, "parsed": {"title": "Loom"}, "version": 2}


class Store(SqlitePageStore):
    """Notes what it is asked for, and may fail."""

    def __init__(self, database: Database, *failures: Exception) -> None:
        super().__init__(database, retention=Retention(), budget=1 << 40)
        self.failures = list(failures)  # the first calls raise them
        self.events: list[StorageEvent] = []

    async def store_event(self, event: StorageEvent) -> Stored:
        if self.failures:
            raise self.failures.pop(0)
        self.events.append(event)
        return await super().store_event(event)


@dataclass(frozen=True, kw_only=True)
class Agent:
    store: Store
    broker: SqliteBroker
    deliver: Deliver
    clock: FakeClock

    async def serve(self, body: bytes | None = None, **options: Any) -> tuple[str, Any]:
        """How the delivery was settled, once."""
        body = msgspec.json.encode(EVENT) if body is None else body
        delivery = await self.deliver(body, **options)
        await StoreEvent(store=self.store, broker=self.broker, queue=QUEUE, clock=self.clock)(
            delivery
        )
        [settled] = delivery.settled
        return settled


@pytest.fixture
def agent(database: Database, broker: SqliteBroker, deliver: Deliver, clock: FakeClock) -> Agent:
    return Agent(store=Store(database), broker=broker, deliver=deliver, clock=clock)


async def test_an_event_is_stored_and_then_acknowledged(agent: Agent) -> None:
    assert await agent.serve() == ("ack", None)
    [event] = agent.store.events
    assert (event.job_id, event.url, event.claimed) == ("job", URL, 2)
    assert (event.ts, event.has_ts) == (milliseconds_of(NOON), False)
    page = await agent.store.find_page("job", URL)
    assert page is not None
    assert (page.title, page.version) == ("Loom", 2)


async def test_parts_that_can_not_be_used_do_not_cost_the_rest(agent: Agent) -> None:
    odd = EVENT | {"price": {"current": "call us"}, "parsed": {"title": 5, "text": "x"}}
    assert await agent.serve(msgspec.json.encode(odd)) == ("ack", None)
    [event] = agent.store.events
    assert (event.price, event.parsed) == (None, {"text": "x"})
    assert len(event.problems) == 2


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"{", "not a message of a page"),
        (b"{}", "jobId is missing"),
        (b'{"jobId": "a", "url": "::"}', "url: "),
        (
            b'{"jobId": "a", "url": "http://a.test/", "price": [' + b"{}," * 250_000 + b"0]}",
            "not a message of a page: it has more than 250,000 values",
        ),
    ],
)
async def test_what_is_no_event_is_buried_with_its_reason(
    agent: Agent, body: bytes, reason: str
) -> None:
    verb, said = await agent.serve(body)
    assert verb == "bury"
    assert said.startswith(reason)
    assert agent.store.events == []


async def test_what_the_store_refuses_is_buried(agent: Agent) -> None:
    agent.store.failures = [EventRefused("it is too large")]
    assert await agent.serve() == ("bury", "it is too large")


async def test_a_store_that_is_away_is_waited_for(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(persist, "spread", lambda: -0.5)  # no pause
    agent.store.failures = [StoreUnavailable("gone"), StoreUnavailable("gone")]
    assert await agent.serve() == ("ack", None)
    assert len(agent.store.events) == 1


async def test_without_room_it_comes_again_later_as_a_message_that_nobody_died_of(
    agent: Agent,
) -> None:
    agent.store.failures = [StorageFull("no room")]
    verb, _ = await agent.serve(attempt=7, redelivered=True)
    assert verb == "ack"
    agent.clock.advance(FULL_PAUSE * 0.49)
    assert (await agent.broker.depth(QUEUE)).delayed == 1
    agent.clock.advance(FULL_PAUSE * 1.02)
    async with agent.broker.deliveries(QUEUE, 1) as deliveries:
        again = await anext(deliveries)
    assert msgspec.json.decode(again.body) == EVENT
    assert (again.attempt, again.redelivered) == (1, False)


async def test_a_run_hears_of_an_event_that_is_refused(agent: Agent, database: Database) -> None:
    watches = SqliteWatchStore(database, retention=Retention())
    config = WatchConfig(name="Shop", urls=[URL], schedule=Schedule(every_minutes=60))
    await watches.add_watch("job", config, next_run_at=None)
    await watches.start_run("job", NewRun(run_id="r", trigger="manual"))
    agent.store.failures = [EventRefused("it is too large")]
    body = msgspec.json.encode(EVENT | {"runId": "r"})
    assert await agent.serve(body) == ("bury", "it is too large")
    page = await agent.store.find_page("job", URL)
    assert page is not None
    assert (page.last_outcome, page.last_error) == (Outcome.FAILED, "it is too large")
    run = await watches.find_run("r")
    assert run is not None
    assert run.failures == [PageFailure(url=URL, reason="it is too large")]


async def test_an_event_that_agents_die_of_is_buried(agent: Agent) -> None:
    verb, reason = await agent.serve(attempt=MOST_DELIVERIES + 1, redelivered=True)
    assert (verb, reason) == ("bury", f"its agent died {MOST_DELIVERIES} times")
    assert agent.store.events == []
    assert await agent.serve(attempt=MOST_DELIVERIES, redelivered=True) == ("ack", None)
