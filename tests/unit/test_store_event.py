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
from webloom.adapters.sqlite.pages import SqlitePages
from webloom.adapters.sqlite.watch_runs import SqliteWatchRuns
from webloom.adapters.sqlite.watches import SqliteWatches
from webloom.application import retrying
from webloom.application.watch.store_event import FULL_PAUSE, MOST_DELIVERIES, StoreEvent
from webloom.domain.errors import EventRefused, StorageFull, StoreUnavailable
from webloom.domain.retention import Retention
from webloom.domain.schedule import Schedule
from webloom.domain.storage_event import StorageEvent, milliseconds_of
from webloom.domain.watch import Outcome, PageFailure, WatchConfig
from webloom.domain.watch_run import NewRun
from webloom.ports.pages import Stored

QUEUE = "storage-agent"
URL = "https://shop.test/1"
EVENT = {"jobId": "job", "url": URL, "parsed": {"title": "Loom"}, "version": 2}


class Store(SqlitePages):
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
    watches: SqliteWatches
    runs: SqliteWatchRuns
    broker: SqliteBroker
    deliver: Deliver
    clock: FakeClock

    async def serve(self, body: bytes | None = None, **options: Any) -> tuple[str, Any]:
        """How the delivery was settled, once."""
        body = msgspec.json.encode(EVENT) if body is None else body
        delivery = await self.deliver(body, **options)
        serve = StoreEvent(
            store=self.store,
            watches=self.watches,
            runs=self.runs,
            broker=self.broker,
            queue=QUEUE,
            clock=self.clock,
        )
        await serve(delivery)
        [settled] = delivery.settled
        return settled


@pytest.fixture
def agent(database: Database, broker: SqliteBroker, deliver: Deliver, clock: FakeClock) -> Agent:
    return Agent(
        store=Store(database),
        watches=SqliteWatches(database, retention=Retention()),
        runs=SqliteWatchRuns(database, retention=Retention()),
        broker=broker,
        deliver=deliver,
        clock=clock,
    )


async def test_an_event_is_stored_and_then_acknowledged(agent: Agent) -> None:
    assert await agent.serve() == ("ack", None)
    [event] = agent.store.events
    assert (event.watch_id, event.url, event.claimed) == ("job", URL, 2)
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
async def test_an_invalid_event_is_buried_with_its_reason(
    agent: Agent, body: bytes, reason: str
) -> None:
    verb, said = await agent.serve(body)
    assert verb == "dead_letter"
    assert said.startswith(reason)
    assert agent.store.events == []


async def test_what_the_store_refuses_is_buried(agent: Agent) -> None:
    agent.store.failures = [EventRefused("it is too large")]
    assert await agent.serve() == ("dead_letter", "it is too large")


async def test_a_store_that_is_away_is_waited_for(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrying, "jitter", lambda: -0.5)  # no pause
    agent.store.failures = [StoreUnavailable("gone"), StoreUnavailable("gone")]
    assert await agent.serve() == ("ack", None)
    assert len(agent.store.events) == 1


async def test_without_room_the_event_is_published_again_as_a_new_message(
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


async def watched(agent: Agent, **decided: Any) -> None:
    """A watch of this page, with a run in progress."""
    config = WatchConfig(name="Shop", urls=[URL], schedule=Schedule(every_minutes=60), **decided)
    await agent.watches.add_watch("job", config, next_run_at=None)
    assert await agent.runs.start_run("job", NewRun(run_id="r", trigger="manual")) is not None


async def test_a_run_hears_of_an_event_that_is_refused(agent: Agent) -> None:
    await watched(agent)
    agent.store.failures = [EventRefused("it is too large")]
    body = msgspec.json.encode(EVENT | {"runId": "r"})
    assert await agent.serve(body) == ("dead_letter", "it is too large")
    page = await agent.store.find_page("job", URL)
    assert page is not None
    assert (page.last_outcome, page.last_error) == (Outcome.FAILED, "it is too large")
    run = await agent.runs.find_run("r")
    assert run is not None
    assert run.failures == [PageFailure(url=URL, reason="it is too large")]


async def test_an_event_that_agents_die_of_is_buried(agent: Agent) -> None:
    verb, reason = await agent.serve(attempt=MOST_DELIVERIES + 1, redelivered=True)
    assert (verb, reason) == ("dead_letter", f"its agent died {MOST_DELIVERIES} times")
    assert agent.store.events == []
    assert await agent.serve(attempt=MOST_DELIVERIES, redelivered=True) == ("ack", None)


DAY = 24 * 3600 * 1000


async def test_a_time_more_than_a_day_in_the_future_is_buried(agent: Agent) -> None:
    now = milliseconds_of(agent.clock.now())
    verb, reason = await agent.serve(msgspec.json.encode(EVENT | {"ts": now + DAY + 1}))
    assert verb == "dead_letter"
    assert "more than a day in the future" in reason
    assert agent.store.events == []
    assert await agent.serve(msgspec.json.encode(EVENT | {"ts": now + DAY})) == ("ack", None)


async def test_the_checker_may_be_ahead_as_it_follows_what_is_known_of_the_page(
    agent: Agent,
) -> None:
    """Earlier versions took any time, and it is to become later than that."""
    await watched(agent)
    ahead = milliseconds_of(agent.clock.now()) + 365 * DAY
    ours = EVENT | {"ts": ahead, "runId": "r", "origin": "checker"}
    assert await agent.serve(msgspec.json.encode(ours)) == ("ack", None)
    assert [event.ts for event in agent.store.events] == [ahead]


FROM_OUTSIDE: list[dict[str, Any]] = [
    {},
    {"runId": "other"},
    {"origin": "api"},
    {"origin": "api", "runId": "r"},
    {"origin": "something else"},
    {"url": "HTTPS://SHOP.test:443/1"},
]


@pytest.mark.parametrize("fields", FROM_OUTSIDE)
async def test_an_event_from_outside_can_not_change_a_page_that_we_check(
    agent: Agent, fields: dict[str, Any]
) -> None:
    await watched(agent)
    verb, reason = await agent.serve(msgspec.json.encode(EVENT | fields))
    assert verb == "dead_letter"
    assert "acceptsEvents" in reason
    assert agent.store.events == []
    assert await agent.store.find_page("job", URL) is None  # a refusal is not an outcome
    run = await agent.runs.find_run("r")
    assert run is not None
    assert run.tally.processed == 0


@pytest.mark.parametrize("fields", [{"origin": "checker"}, {}], ids=["ours", "of before"])
async def test_what_a_worker_of_ours_has_read_is_stored(
    agent: Agent, fields: dict[str, Any]
) -> None:
    """A message of an earlier version names a run of its watch, and no origin."""
    await watched(agent)
    assert await agent.serve(msgspec.json.encode(EVENT | {"runId": "r"} | fields)) == ("ack", None)
    run = await agent.runs.find_run("r")
    assert run is not None
    assert run.tally.processed == 1


async def test_a_watch_may_accept_events_which_do_not_count_for_its_own_run(agent: Agent) -> None:
    await watched(agent, accepts_events=True)
    body = msgspec.json.encode(EVENT | {"runId": "r", "origin": "api"})
    assert await agent.serve(body) == ("ack", None)
    page = await agent.store.find_page("job", URL)
    assert page is not None
    assert page.title == "Loom"
    run = await agent.runs.find_run("r")
    assert run is not None
    assert run.tally.processed == 0


async def test_other_pages_and_external_watches_take_events(agent: Agent) -> None:
    await watched(agent)
    other = EVENT | {"url": "https://shop.test/2"}
    assert await agent.serve(msgspec.json.encode(other)) == ("ack", None)
    for _ in range(2):  # the first one makes the external watch
        external = EVENT | {"jobId": "theirs", "runId": "their run"}
        assert await agent.serve(msgspec.json.encode(external)) == ("ack", None)
    run = await agent.runs.find_run("their run")
    assert run is not None
    assert run.tally.processed == 1
