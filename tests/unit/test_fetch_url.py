"""FetchUrl over the embedded backend and a web in memory: what becomes of a delivery, whatever its
steps meet."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

import msgspec
import pytest

from fakes.clock import FakeClock
from fakes.web import Answer, FakeWeb
from timeouts import TIMEOUT_SECONDS
from unit import deliveries
from unit.deliveries import Deliver, RecordedDelivery
from webloom.adapters.consumer import RENEWALS
from webloom.adapters.sqlite.database import Database
from webloom.adapters.sqlite.inventory_store import SqliteInventoryStore
from webloom.application.host_turns import HostTurns
from webloom.application.inventory.fetch_url import FetchUrl
from webloom.domain import politeness
from webloom.domain.errors import FetchFailed, StoreUnavailable
from webloom.domain.inventory import (
    AlreadyDone,
    Attempt,
    Busy,
    Completed,
    Failed,
    FetchRequest,
    GivenBack,
    GiveUp,
    Outcome,
    Received,
    RetryLater,
    Status,
)
from webloom.domain.politeness import HostLimits
from webloom.domain.retry import fetch_backoff

LEASE = 15.0
URL = "http://site.example/page"
REQUEST = FetchRequest(url=URL, request_id="r")
PAGE = Answer(headers={"Content-Type": "text/html"}, body=b"hello")
NO_CONNECTION = FetchFailed(reason="no connection", retryable=True)


class Store(SqliteInventoryStore):
    """Notes what it is asked for, and may be away."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.failures = 0  # calls that will find it away
        self.begun: list[FetchRequest] = []
        self.outcomes: list[Outcome] = []  # that were written
        self.renewed: list[Sequence[Attempt]] = []
        self.on_renewal = asyncio.Event()

    def _may_fail(self) -> None:
        if self.failures:
            self.failures -= 1
            raise StoreUnavailable("the disk is full")

    async def begin_attempt(
        self, request: FetchRequest, *, lease: float
    ) -> Attempt | Busy | AlreadyDone | GiveUp:
        self._may_fail()
        self.begun.append(request)
        return await super().begin_attempt(request, lease=lease)

    async def finish_attempt(self, attempt: Attempt, outcome: Outcome) -> bool:
        self._may_fail()
        stands = await super().finish_attempt(attempt, outcome)
        if stands:
            self.outcomes.append(outcome)
        return stands

    async def renew_attempts(self, attempts: Sequence[Attempt], *, lease: float) -> None:
        self._may_fail()
        await super().renew_attempts(attempts, lease=lease)
        self.renewed.append(attempts)
        self.on_renewal.set()


class BrokenWeb(FakeWeb):
    """A fetcher that raises what it must not."""

    def __init__(self, *errors: BaseException) -> None:
        super().__init__()
        self._errors = list(errors)  # of the first calls

    async def fetch(self, url: str) -> Received:
        if self._errors:
            raise self._errors.pop(0)
        return await super().fetch(url)


@pytest.fixture
def store(database: Database) -> Store:
    return Store(database)


@pytest.fixture
def web() -> FakeWeb:
    return furnished(FakeWeb())


def furnished(web: FakeWeb) -> FakeWeb:
    web.pages[URL] = PAGE
    return web


def message(url: str = URL, request_id: str = "r") -> bytes:
    return msgspec.json.encode(FetchRequest(url=url, request_id=request_id))


def use_case(store: Store, web: FakeWeb, concurrency: int = 100) -> FetchUrl:
    return FetchUrl(
        store=store,
        fetcher=web,
        turns=HostTurns(HostLimits(concurrency=concurrency, delay=0.0)),
        retries=fetch_backoff(2.0),
        lease=LEASE,
    )


async def begun(store: Store, request: FetchRequest = REQUEST, lease: float = LEASE) -> Attempt:
    """By another worker."""
    attempt = await SqliteInventoryStore.begin_attempt(store, request, lease=lease)
    assert isinstance(attempt, Attempt)
    return attempt


def sources(outcomes: Sequence[Outcome]) -> list[str | None]:
    """Of completed attempts."""
    completed = [each.received for each in outcomes if isinstance(each, Completed)]
    assert len(completed) == len(outcomes)
    return [each.page_source for each in completed]


async def in_time(action: Awaitable[None]) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        await action


@pytest.fixture
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Waiting for a database takes no time; what would have been waited is kept."""
    pauses: list[float] = []

    sleep = asyncio.sleep

    async def pause(seconds: float) -> None:
        if seconds == deliveries.LEASE / RENEWALS:  # a consumer's, between two renewals
            await sleep(seconds)
        pauses.append(seconds)
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", pause)
    return pauses


async def test_a_fetched_url_is_stored_and_then_acknowledged(
    store: Store, web: FakeWeb, deliver: Deliver
) -> None:
    fetch_url, job = use_case(store, web), await deliver(message())
    await fetch_url(job)
    assert web.requested == [URL]
    assert sources(store.outcomes) == ["hello"]
    assert job.settled == [("ack", None)]
    assert (fetch_url.tally.completed, fetch_url.in_flight) == (1, {})
    record = await store.find(URL)
    assert record is not None
    assert (record.status, record.metadata.page_source) == (Status.COMPLETED, "hello")


POISON = [
    (b"", "nothing"),
    (b"not JSON", "not JSON"),
    (b"\xff\xfe", "not UTF-8"),
    (b"[]", "not an object"),
    (b'{"url": "http://site.example/"}', "a field is missing"),
    (b'{"url": 5, "request_id": "r"}', "a field of another type"),
    (b'{"url": "http://site.example/", "request_id": "r", "background": "no"}', "not a bool"),
    (b'{"url": "\\ud800", "request_id": "r"}', "half a character"),
    (b'{"url": "ftp://site.example/", "request_id": "r"}', "not the web"),
    (b'{"url": "http://user:pw@site.example/", "request_id": "r"}', "a URL that is refused"),
    (b'{"url": "HTTP://Site.example", "request_id": "r"}', "a URL that is not normalised"),
    (b'{"url": "", "request_id": "r"}', "no URL"),
]


@pytest.mark.parametrize(("body", "reason"), POISON, ids=[row[1] for row in POISON])
async def test_an_invalid_fetch_request_is_buried(
    store: Store, web: FakeWeb, deliver: Deliver, body: bytes, reason: str
) -> None:
    job = await deliver(body)
    await use_case(store, web)(job)
    [(verb, why)] = job.settled
    assert verb == "dead_letter"
    assert str(why).startswith("not a fetch request: ")
    assert (store.begun, web.requested) == ([], [])


async def test_a_failure_that_may_pass_is_tried_again_after_the_delay(
    store: Store, web: FakeWeb, deliver: Deliver
) -> None:
    web.pages[URL] = NO_CONNECTION
    fetch_url, job = use_case(store, web), await deliver(message())
    await fetch_url(job)
    [outcome] = store.outcomes
    assert isinstance(outcome, RetryLater)
    assert (outcome.reason, outcome.retry_count) == ("no connection", 1)
    assert 2.0 <= outcome.seconds <= 3.0
    assert job.settled == [("retry", outcome.seconds)]
    assert fetch_url.tally.retried == 1


async def test_the_third_failure_is_the_last(
    store: Store, web: FakeWeb, deliver: Deliver, clock: FakeClock
) -> None:
    web.pages[URL] = NO_CONNECTION
    fetch_url = use_case(store, web)
    for _ in range(2):
        await fetch_url(await deliver(message()))
        clock.advance(60)
    store.outcomes.clear()
    job = await deliver(message())
    await fetch_url(job)
    assert store.outcomes == [Failed(reason="no connection", retry_count=3)]
    assert job.settled == [("ack", None)]
    assert fetch_url.tally.failed == 1


async def test_a_host_that_asks_for_a_pause_is_left_alone(
    store: Store, web: FakeWeb, deliver: Deliver
) -> None:
    other = "http://other.example/"
    for url in (URL, other):
        web.pages[url] = Answer(status=429, headers={"Retry-After": "120"})
    fetch_url = use_case(store, web)
    first, second = await deliver(message()), await deliver(message(request_id="another"))
    elsewhere = await deliver(message(other))
    await fetch_url(first)
    await fetch_url(second)
    assert first.settled == [("retry", 120.0)]
    [(verb, seconds)] = second.settled
    assert verb == "retry"
    assert isinstance(seconds, float)
    assert 60 < seconds <= 180
    assert web.requested == [URL]
    await fetch_url(elsewhere)
    assert web.requested == [URL, other]


UNEXPECTED: list[tuple[BaseException, str]] = [
    (ValueError("surprise"), "unexpected ValueError: surprise"),
    (MemoryError(), "unexpected MemoryError: "),
    (RecursionError("deep"), "unexpected RecursionError: deep"),
    (asyncio.CancelledError(), "unexpected CancelledError: "),
    (StoreUnavailable("not the fetcher's to raise"), "unexpected StoreUnavailable: not the"),
]


@pytest.mark.parametrize(
    ("error", "reason"), UNEXPECTED, ids=[type(row[0]).__name__ for row in UNEXPECTED]
)
async def test_an_unexpected_exception_of_the_fetcher_fails_the_request_for_good(
    store: Store,
    deliver: Deliver,
    error: BaseException,
    reason: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A stray CancelledError, of a library's own task, is one too: this one was not cancelled."""
    job = await deliver(message())
    with caplog.at_level(logging.ERROR):
        await use_case(store, BrokenWeb(error))(job)
    [outcome] = store.outcomes
    assert isinstance(outcome, Failed)
    assert outcome.reason.startswith(reason)
    assert job.settled == [("ack", None)]
    assert "unexpected error in a fetch" in caplog.text


async def test_the_slot_continues_after_a_stray_cancellation(
    store: Store, deliver: Deliver
) -> None:
    fetch_url = use_case(store, furnished(BrokenWeb(asyncio.CancelledError())))
    jobs = [await deliver(message(request_id=each)) for each in ("one", "two")]

    async def slot() -> str:
        for job in jobs:
            await fetch_url(job)
        return "still serving"

    assert await asyncio.wait_for(asyncio.create_task(slot()), TIMEOUT_SECONDS) == "still serving"
    assert [type(outcome) for outcome in store.outcomes] == [Failed, Completed]


async def test_a_cancelled_slot_gives_its_attempt_and_its_message_back(
    store: Store, web: FakeWeb, deliver: Deliver
) -> None:
    web.may_answer.clear()
    fetch_url, job = use_case(store, web, concurrency=1), await deliver(message())
    task = asyncio.create_task(fetch_url(job))
    await asyncio.wait_for(web.started.wait(), TIMEOUT_SECONDS)
    task.cancel()
    await asyncio.wait([task], timeout=TIMEOUT_SECONDS)
    assert task.cancelled()
    assert store.outcomes == [GivenBack()]
    assert job.settled == [("retry", 0.0)]
    assert fetch_url.in_flight == {}
    web.may_answer.set()
    again = await deliver(message())
    await in_time(fetch_url(again))  # the host's turn was given back too
    assert again.settled == [("ack", None)]
    assert len(web.requested) == 2


async def test_a_slot_that_is_cancelled_while_the_store_is_away_still_ends(
    store: Store, web: FakeWeb, deliver: Deliver
) -> None:
    web.may_answer.clear()
    job = await deliver(message())
    task = asyncio.create_task(use_case(store, web)(job))
    await asyncio.wait_for(web.started.wait(), TIMEOUT_SECONDS)
    store.failures = 1000
    task.cancel()
    await asyncio.wait([task], timeout=TIMEOUT_SECONDS)
    assert task.cancelled()
    assert job.settled == []  # its lease runs out


async def test_a_store_that_is_away_is_waited_for_and_nothing_is_lost(
    store: Store, web: FakeWeb, deliver: Deliver, short_pauses: list[float]
) -> None:
    for failures in range(1, 12):
        job = await deliver(message(request_id=f"r{failures}"))
        store.failures = failures
        store.outcomes.clear()
        web.requested.clear()
        await in_time(use_case(store, web)(job))
        assert sources(store.outcomes) == ["hello"]
        assert web.requested == [URL], "what was fetched is not fetched again"
        assert job.settled == [("ack", None)]
    assert max(short_pauses) <= 45
    assert max(short_pauses) > 15, "the pauses grow"


async def test_a_store_that_goes_away_after_the_fetch_gets_the_outcome_later(
    store: Store, web: FakeWeb, deliver: Deliver, short_pauses: list[float]
) -> None:
    web.may_answer.clear()
    job = await deliver(message())
    task = asyncio.create_task(use_case(store, web)(job))
    await asyncio.wait_for(web.started.wait(), TIMEOUT_SECONDS)
    store.failures = 5
    web.may_answer.set()
    await in_time(task)
    assert sources(store.outcomes) == ["hello"]
    assert web.requested == [URL]
    assert job.settled == [("ack", None)]
    assert len(short_pauses) == 5


VERBS = [(message(), "retry"), (b"poison", "dead_letter")]


@pytest.mark.parametrize(("body", "verb"), VERBS, ids=[verb for _, verb in VERBS])
async def test_a_broker_that_is_away_is_waited_for(
    store: Store,
    web: FakeWeb,
    deliver: Deliver,
    short_pauses: list[float],
    body: bytes,
    verb: str,
) -> None:
    web.pages[URL] = NO_CONNECTION
    job = await deliver(body, failures=4)
    await in_time(use_case(store, web)(job))
    assert [done for done, _ in job.settled] == [verb]
    assert len(short_pauses) == 4


async def test_a_superseded_attempt_is_acknowledged_without_effect(
    store: Store,
    web: FakeWeb,
    deliver: Deliver,
    clock: FakeClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    web.pages[URL] = Answer(status=503, headers={"Retry-After": "120"})
    web.may_answer.clear()
    fetch_url, job = use_case(store, web), await deliver(message())
    task = asyncio.create_task(fetch_url(job))
    await asyncio.wait_for(web.started.wait(), TIMEOUT_SECONDS)
    clock.advance(LEASE + 1)
    await begun(store)
    web.may_answer.set()
    await in_time(task)
    assert job.settled == [("ack", None)]
    assert (fetch_url.tally.completed, fetch_url.tally.retried, fetch_url.tally.failed) == (0, 0, 0)
    assert "attempt was superseded" in caplog.text


async def answer_it(store: Store, clock: FakeClock) -> None:
    outcome = Failed(reason="gone", retry_count=0)
    assert await SqliteInventoryStore.finish_attempt(store, await begun(store), outcome)


async def lose_every_attempt(store: Store, clock: FakeClock) -> None:
    for _ in range(3):
        await begun(store, lease=1.0)
        clock.advance(2)


async def hold_it(store: Store, clock: FakeClock) -> None:
    await begun(store, lease=7.5)


Before = Callable[[Store, FakeClock], Awaitable[None]]
NO_ATTEMPT: list[tuple[str, Before, tuple[str, object], int]] = [
    ("the message came twice", answer_it, ("ack", None), 0),
    ("no attempt is left", lose_every_attempt, ("ack", None), 1),
    ("another worker is at it", hold_it, ("retry", pytest.approx(7.5)), 0),
]


@pytest.mark.parametrize(
    ("before", "settled", "failed"),
    [row[1:] for row in NO_ATTEMPT],
    ids=[row[0] for row in NO_ATTEMPT],
)
async def test_without_an_attempt_nothing_is_fetched(
    store: Store,
    web: FakeWeb,
    deliver: Deliver,
    clock: FakeClock,
    before: Before,
    settled: tuple[str, object],
    failed: int,
) -> None:
    job = await deliver(message())
    await before(store, clock)
    fetch_url = use_case(store, web)
    await fetch_url(job)
    assert job.settled == [settled]
    assert web.requested == []
    assert fetch_url.tally.failed == failed


async def suspect(deliver: Deliver, url: str) -> RecordedDelivery:
    return await deliver(message(url), attempt=2, redelivered=True)


async def test_what_was_in_a_dead_workers_hands_is_tried_one_at_a_time(
    store: Store, web: FakeWeb, deliver: Deliver
) -> None:
    fetch_url = use_case(store, web)
    urls = [f"http://{n}.example/" for n in range(8)]
    web.pages |= dict.fromkeys(urls, PAGE)
    suspects = [await suspect(deliver, url) for url in urls]
    async with asyncio.timeout(TIMEOUT_SECONDS):
        web.may_answer.clear()
        tasks = [asyncio.create_task(fetch_url(job)) for job in suspects]
        await asyncio.gather(*tasks[1:])  # they do not keep a slot waiting
        await web.started.wait()
        assert len(web.requested) == 1
        web.may_answer.set()
        await tasks[0]
    assert web.most_running == 1
    assert suspects[0].settled == [("ack", None)]
    assert all([verb for verb, _ in job.settled] == ["retry"] for job in suspects[1:])


async def test_other_messages_do_not_wait_for_suspects(
    store: Store, web: FakeWeb, deliver: Deliver
) -> None:
    web.may_answer.clear()
    fetch_url = use_case(store, web)
    jobs = [
        await suspect(deliver, "http://suspect.example/"),
        await deliver(message()),
        await deliver(message("http://site.example/other")),
    ]
    tasks = [asyncio.create_task(fetch_url(job)) for job in jobs]
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while web.running < 3:
            web.started.clear()
            await web.started.wait()
        web.may_answer.set()
        await asyncio.gather(*tasks)
    assert web.most_running == 3


async def test_a_url_of_a_slow_host_is_put_back_for_later(
    store: Store, web: FakeWeb, deliver: Deliver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(politeness, "LONGEST_WAIT", 0.01)
    web.may_answer.clear()
    fetch_url = use_case(store, web, concurrency=1)
    task = asyncio.create_task(fetch_url(await deliver(message())))
    await asyncio.wait_for(web.started.wait(), TIMEOUT_SECONDS)
    waiting = await deliver(message("http://site.example/other"))
    await in_time(fetch_url(waiting))
    [(verb, seconds)] = waiting.settled
    assert verb == "retry"
    assert isinstance(seconds, float)
    assert seconds > 0
    assert len(store.begun) == 1, "a URL that waits for its host has no attempt"
    web.may_answer.set()
    await in_time(task)


async def test_running_attempts_are_renewed_whatever_the_store_says(
    store: Store,
    web: FakeWeb,
    deliver: Deliver,
    clock: FakeClock,
    short_pauses: list[float],
    caplog: pytest.LogCaptureFixture,
) -> None:
    web.may_answer.clear()
    fetch_url = use_case(store, web)
    task = asyncio.create_task(fetch_url(await deliver(message())))
    await asyncio.wait_for(web.started.wait(), TIMEOUT_SECONDS)
    clock.advance(LEASE - 1)
    store.failures = 3
    renewal = asyncio.create_task(fetch_url.renew_leases())
    await asyncio.wait_for(store.on_renewal.wait(), TIMEOUT_SECONDS)
    renewal.cancel()
    clock.advance(LEASE - 1)
    assert isinstance(await store.begin_attempt(REQUEST, lease=LEASE), Busy)
    web.may_answer.set()
    await in_time(task)
    assert [attempt.url for attempt in store.renewed[0]] == [URL]
    assert set(short_pauses) == {5.0, 0.1}, "three times within a lease, soon after a failure"
    assert "cannot renew attempts" in caplog.text


async def test_a_closing_worker_starts_no_attempt_and_returns_the_message(
    store: Store, web: FakeWeb, deliver: Deliver
) -> None:
    fetch_url = use_case(store, web)
    fetch_url.closing = True
    job = await deliver(message())
    await in_time(fetch_url(job))
    assert [verb for verb, _ in job.settled] == ["retry"]
    assert (store.begun, web.requested) == ([], [])
