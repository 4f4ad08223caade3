"""What the storage agent makes of a message, over a store that says what the test wants."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from contracts.fake_clock import NOON, FakeClock
from webloom.application import persist
from webloom.application.watch.store_event import FULL_PAUSE, MOST_DELIVERIES, StoreEvent
from webloom.domain.errors import EventRefused, StorageFull, StoreUnavailable
from webloom.domain.storage_event import StorageEvent, milliseconds_of
from webloom.domain.watch import Outcome
from webloom.ports.broker import Message
from webloom.ports.page_store import Checked, Stored

EVENT = {"jobId": "job", "url": "https://shop.test/1", "parsed": {"title": "Loom"}, "version": 2}


class Store:
    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)  # the first calls raise them
        self.events: list[StorageEvent] = []
        self.checked: list[Checked] = []

    async def note_checked(self, checked: Checked) -> None:
        self.checked.append(checked)

    async def store_event(self, event: StorageEvent) -> Stored:
        if self.failures:
            raise self.failures.pop(0)
        self.events.append(event)
        return Stored(version=event.claimed, is_new=True)


class Queue:
    def __init__(self) -> None:
        self.published: list[tuple[str, Message, float]] = []

    async def publish(self, queue: str, message: Message, *, delay: float = 0.0) -> str:
        self.published.append((queue, message, delay))
        return message.id


class Delivered:
    def __init__(self, body: bytes, *, attempt: int = 1, redelivered: bool = False) -> None:
        self.message_id = "m"
        self.body = body
        self.attempt = attempt
        self.redelivered = redelivered
        self.settled: list[tuple[str, Any]] = []

    async def ack(self) -> None:
        self.settled.append(("ack", None))

    async def retry(self, after: float = 0.0) -> None:
        self.settled.append(("retry", after))

    async def bury(self, reason: str) -> None:
        self.settled.append(("bury", reason))


async def served(
    store: Store, body: bytes | None = None, *, queue: Queue | None = None, **options: Any
) -> tuple[str, Any]:
    """How the delivery was settled, once."""
    delivery = Delivered(msgspec.json.encode(EVENT) if body is None else body, **options)
    store_event: Any = StoreEvent
    await store_event(
        store=store, broker=queue or Queue(), queue="storage-agent", clock=FakeClock()
    )(delivery)
    [settled] = delivery.settled
    return settled


async def test_an_event_is_stored_and_then_acknowledged() -> None:
    store = Store()
    assert await served(store) == ("ack", None)
    [event] = store.events
    assert (event.job_id, event.url, event.claimed) == ("job", "https://shop.test/1", 2)
    assert (event.ts, event.has_ts) == (milliseconds_of(NOON), False)


async def test_parts_that_can_not_be_used_do_not_cost_the_rest() -> None:
    store = Store()
    odd = EVENT | {"price": {"current": "call us"}, "parsed": {"title": 5, "text": "x"}}
    assert await served(store, msgspec.json.encode(odd)) == ("ack", None)
    [event] = store.events
    assert (event.price, event.parsed) == (None, {"text": "x"})
    assert len(event.problems) == 2


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"{", "not a message of a page"),
        (b"{}", "jobId is missing"),
        (b'{"jobId": "a", "url": "::"}', "url: "),
    ],
)
async def test_what_is_no_event_is_buried_with_its_reason(body: bytes, reason: str) -> None:
    store = Store()
    verb, said = await served(store, body)
    assert verb == "bury"
    assert said.startswith(reason)
    assert store.events == []


async def test_what_the_store_refuses_is_buried() -> None:
    assert await served(Store(EventRefused("it is too large"))) == ("bury", "it is too large")


async def test_a_store_that_is_away_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(persist, "spread", lambda: -0.5)  # no pause
    store = Store(StoreUnavailable("gone"), StoreUnavailable("gone"))
    assert await served(store) == ("ack", None)
    assert len(store.events) == 1


async def test_without_room_it_comes_again_later_as_a_message_that_nobody_died_of() -> None:
    queue = Queue()
    verb, _ = await served(Store(StorageFull("no room")), queue=queue, attempt=7, redelivered=True)
    assert verb == "ack"
    [(name, message, delay)] = queue.published
    assert (name, msgspec.json.decode(message.body)) == ("storage-agent", EVENT)
    assert FULL_PAUSE * 0.5 <= delay <= FULL_PAUSE * 1.5


async def test_a_run_hears_of_an_event_that_is_refused() -> None:
    store = Store(EventRefused("it is too large"))
    body = msgspec.json.encode(EVENT | {"runId": "r"})
    assert await served(store, body) == ("bury", "it is too large")
    [checked] = store.checked
    assert (checked.job_id, checked.url, checked.run_id) == ("job", "https://shop.test/1", "r")
    assert (checked.outcome, checked.error) == (Outcome.FAILED, "it is too large")


async def test_an_event_that_agents_die_of_is_buried() -> None:
    store = Store()
    verb, reason = await served(store, attempt=MOST_DELIVERIES + 1, redelivered=True)
    assert (verb, reason) == ("bury", f"its agent died {MOST_DELIVERIES} times")
    assert store.events == []
    assert await served(store, attempt=MOST_DELIVERIES, redelivered=True) == ("ack", None)
