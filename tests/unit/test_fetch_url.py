"""FetchUrl over fakes of the ports: what becomes of a delivery, whatever its steps meet."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

import msgspec
import pytest

from webloom.application.host_turns import HostTurns
from webloom.application.inventory.fetch_url import FetchUrl
from webloom.domain.errors import BrokerUnavailable, FetchFailed, StoreUnavailable
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
    Record,
    RecordFilter,
    RecordPage,
    RequestState,
    RetryLater,
    Status,
)
from webloom.domain.politeness import HostLimits
from webloom.domain.retry import RetryPolicy
from webloom.ports.inventory_store import NotedRequest

PATIENCE = 60.0
URL = "http://site.example/page"
RECEIVED = Received(
    status_code=200,
    headers={},
    cookies={},
    page_source="hello",
    final_url=URL,
    details={},
)

Answer = Received | BaseException


class FakeFetcher:
    """Answers what it is told, when it is told."""

    def __init__(self, answer: Answer | Callable[[], Answer] = RECEIVED) -> None:
        self._answer = answer
        self.fetched: list[str] = []
        self.running = 0
        self.most_running = 0
        self.started = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def fetch(self, url: str) -> Received:
        self.fetched.append(url)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        self.started.set()
        try:
            await self.may_answer.wait()
        finally:
            self.running -= 1
        answer = self._answer() if callable(self._answer) else self._answer
        if isinstance(answer, BaseException):
            raise answer
        return answer


@dataclass
class FakeStore:
    """One attempt for everybody who asks, unless told otherwise."""

    begins: Busy | AlreadyDone | GiveUp | None = None  # instead of an Attempt
    stands: bool = True  # the attempt's token, at its end
    retry_count: int = 0
    failures: int = 0  # calls that will find the store away
    outcomes: list[Outcome] = field(default_factory=list)
    begun: list[FetchRequest] = field(default_factory=list)
    renewed: list[Sequence[Attempt]] = field(default_factory=list)
    on_renewal: asyncio.Event = field(default_factory=asyncio.Event)

    def _may_fail(self) -> None:
        if self.failures:
            self.failures -= 1
            raise StoreUnavailable("the disk is full")

    async def begin_attempt(
        self, request: FetchRequest, *, lease: float
    ) -> Attempt | Busy | AlreadyDone | GiveUp:
        self._may_fail()
        self.begun.append(request)
        return self.begins or Attempt(
            url=request.url,
            request_id=request.request_id,
            token=len(self.begun),
            number=self.retry_count + 1,
            retry_count=self.retry_count,
        )

    async def finish_attempt(self, attempt: Attempt, outcome: Outcome) -> bool:
        self._may_fail()
        if self.stands:
            self.outcomes.append(outcome)
        return self.stands

    async def renew_attempts(self, attempts: Sequence[Attempt], *, lease: float) -> None:
        self._may_fail()
        self.renewed.append(attempts)
        self.on_renewal.set()

    async def find(self, url: str, *, with_source: bool = True) -> Record | None:
        raise NotImplementedError

    async def states(self, urls: Sequence[str]) -> list[RequestState | None]:
        raise NotImplementedError

    async def note_requests(self, noted: Sequence[NotedRequest]) -> None:
        raise NotImplementedError

    async def forget(self, url: str) -> bool:
        raise NotImplementedError

    async def page_of_records(
        self, chosen: RecordFilter, *, limit: int, cursor: str | None = None
    ) -> RecordPage:
        raise NotImplementedError

    async def count_by_status(self) -> dict[Status, int]:
        raise NotImplementedError

    async def forgotten_requests(self, *, quiet_for: float, limit: int) -> list[FetchRequest]:
        raise NotImplementedError

    async def touch_requests(self, requests: Sequence[FetchRequest]) -> None:
        raise NotImplementedError


@dataclass
class FakeDelivery:
    body: bytes
    redelivered: bool = False
    failures: int = 0  # verbs that will find the broker away
    message_id: str = "m"
    attempt: int = 1
    settled: list[tuple[str, object]] = field(default_factory=list)

    async def _settle(self, verb: str, detail: object) -> None:
        if self.failures:
            self.failures -= 1
            raise BrokerUnavailable("the disk is full")
        self.settled.append((verb, detail))

    async def ack(self) -> None:
        await self._settle("ack", None)

    async def retry(self, after: float = 0.0) -> None:
        await self._settle("retry", after)

    async def bury(self, reason: str) -> None:
        await self._settle("bury", reason)


def delivery(url: str = URL, **fields: bool | int) -> FakeDelivery:
    body = msgspec.json.encode(FetchRequest(url=url, request_id="r"))
    return replace(FakeDelivery(body), **fields)  # type: ignore[arg-type]


def use_case(store: FakeStore, fetcher: FakeFetcher, concurrency: int = 100) -> FetchUrl:
    return FetchUrl(
        store=store,
        fetcher=fetcher,
        turns=HostTurns(HostLimits(concurrency=concurrency, delay=0.0)),
        retries=RetryPolicy(first_delay=2.0),
        lease=15.0,
    )


async def within_patience(action: Awaitable[None]) -> None:
    async with asyncio.timeout(PATIENCE):
        await action


@pytest.fixture
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Waiting for a database takes no time; what would have been waited is kept."""
    pauses: list[float] = []

    sleep = asyncio.sleep

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", pause)
    return pauses


async def test_a_fetched_url_is_stored_and_then_acknowledged() -> None:
    store, fetcher, job = FakeStore(), FakeFetcher(), delivery()
    fetch_url = use_case(store, fetcher)
    await fetch_url(job)
    assert fetcher.fetched == [URL]
    assert store.outcomes == [Completed(received=RECEIVED)]
    assert job.settled == [("ack", None)]
    assert (fetch_url.tally.completed, fetch_url.in_flight) == (1, {})


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
async def test_a_message_that_is_no_fetch_request_is_buried(body: bytes, reason: str) -> None:
    store, fetcher, job = FakeStore(), FakeFetcher(), FakeDelivery(body)
    await use_case(store, fetcher)(job)
    [(verb, why)] = job.settled
    assert verb == "bury"
    assert str(why).startswith("not a fetch request: ")
    assert (store.begun, fetcher.fetched) == ([], [])


async def test_a_failure_that_may_pass_is_tried_again_after_the_delay() -> None:
    store, job = FakeStore(), delivery()
    fetch_url = use_case(store, FakeFetcher(FetchFailed(reason="no connection", retryable=True)))
    await fetch_url(job)
    [outcome] = store.outcomes
    assert isinstance(outcome, RetryLater)
    assert (outcome.reason, outcome.retry_count) == ("no connection", 1)
    assert 2.0 <= outcome.seconds <= 3.0
    assert job.settled == [("retry", outcome.seconds)]
    assert fetch_url.tally.retried == 1


async def test_the_third_failure_is_the_last() -> None:
    store, job = FakeStore(retry_count=2), delivery()
    fetch_url = use_case(store, FakeFetcher(FetchFailed(reason="no connection", retryable=True)))
    await fetch_url(job)
    assert store.outcomes == [Failed(reason="no connection", retry_count=3)]
    assert job.settled == [("ack", None)]
    assert fetch_url.tally.failed == 1


async def test_a_host_that_asks_for_a_pause_is_left_alone() -> None:
    busy = replace(RECEIVED, status_code=429, retry_after=120.0)
    store, fetcher = FakeStore(), FakeFetcher(busy)
    fetch_url = use_case(store, fetcher)
    first, second, elsewhere = delivery(), delivery(), delivery("http://other.example/")
    await fetch_url(first)
    await fetch_url(second)
    assert first.settled == [("retry", 120.0)]
    [(verb, seconds)] = second.settled
    assert verb == "retry"
    assert isinstance(seconds, float)
    assert 60 < seconds <= 180
    assert fetcher.fetched == [URL]
    await fetch_url(elsewhere)
    assert fetcher.fetched == [URL, "http://other.example/"]


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
    error: BaseException, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A stray CancelledError, of a library's own task, is one too: nobody cancelled this one."""
    store, job = FakeStore(), delivery()
    with caplog.at_level(logging.ERROR):
        await use_case(store, FakeFetcher(error))(job)
    [outcome] = store.outcomes
    assert isinstance(outcome, Failed)
    assert outcome.reason.startswith(reason)
    assert job.settled == [("ack", None)]
    assert "unexpected error in a fetch" in caplog.text


async def test_the_slot_goes_on_after_a_stray_cancellation() -> None:
    answers: list[Answer] = [asyncio.CancelledError(), RECEIVED]
    store, fetcher = FakeStore(), FakeFetcher(lambda: answers.pop(0))
    fetch_url = use_case(store, fetcher)

    async def slot() -> str:
        await fetch_url(delivery())
        await fetch_url(delivery())
        return "still serving"

    assert await asyncio.wait_for(asyncio.create_task(slot()), PATIENCE) == "still serving"
    assert [type(outcome) for outcome in store.outcomes] == [Failed, Completed]


async def test_a_cancelled_slot_gives_its_attempt_and_its_message_back() -> None:
    store, fetcher, job = FakeStore(), FakeFetcher(), delivery()
    fetcher.may_answer.clear()
    fetch_url = use_case(store, fetcher, concurrency=1)
    task = asyncio.create_task(fetch_url(job))
    await asyncio.wait_for(fetcher.started.wait(), PATIENCE)
    task.cancel()
    await asyncio.wait([task], timeout=PATIENCE)
    assert task.cancelled()
    assert store.outcomes == [GivenBack()]
    assert job.settled == [("retry", 0.0)]
    assert fetch_url.in_flight == {}
    fetcher.may_answer.set()
    again = delivery()
    await within_patience(fetch_url(again))  # the host's turn was given back too
    assert again.settled == [("ack", None)]


async def test_a_slot_that_is_cancelled_while_the_store_is_away_still_ends() -> None:
    store, fetcher, job = FakeStore(failures=0), FakeFetcher(), delivery()
    fetcher.may_answer.clear()
    task = asyncio.create_task(use_case(store, fetcher)(job))
    await asyncio.wait_for(fetcher.started.wait(), PATIENCE)
    store.failures = 1000
    task.cancel()
    await asyncio.wait([task], timeout=PATIENCE)
    assert task.cancelled()
    assert job.settled == []  # its lease runs out


async def test_a_store_that_is_away_is_waited_for_and_nothing_is_lost(
    short_pauses: list[float],
) -> None:
    for failures in range(1, 12):
        store, fetcher, job = FakeStore(failures=failures), FakeFetcher(), delivery()
        await within_patience(use_case(store, fetcher)(job))
        assert store.outcomes == [Completed(received=RECEIVED)]
        assert fetcher.fetched == [URL], "what was fetched is not fetched again"
        assert job.settled == [("ack", None)]
    assert max(short_pauses) <= 45
    assert max(short_pauses) > 15, "the pauses grow"


async def test_a_store_that_goes_away_after_the_fetch_gets_the_outcome_later(
    short_pauses: list[float],
) -> None:
    store, fetcher, job = FakeStore(), FakeFetcher(), delivery()
    fetcher.may_answer.clear()
    task = asyncio.create_task(use_case(store, fetcher)(job))
    await asyncio.wait_for(fetcher.started.wait(), PATIENCE)
    store.failures = 5
    fetcher.may_answer.set()
    await within_patience(task)
    assert store.outcomes == [Completed(received=RECEIVED)]
    assert fetcher.fetched == [URL]
    assert job.settled == [("ack", None)]
    assert len(short_pauses) == 5


@pytest.mark.parametrize("body", [None, b"poison"], ids=["retry", "bury"])
async def test_a_broker_that_is_away_is_waited_for(
    short_pauses: list[float], body: bytes | None
) -> None:
    job = delivery(failures=4) if body is None else FakeDelivery(body, failures=4)
    fetcher = FakeFetcher(FetchFailed(reason="no connection", retryable=True))
    await within_patience(use_case(FakeStore(), fetcher)(job))
    assert [verb for verb, _ in job.settled] == ["retry" if body is None else "bury"]


async def test_a_superseded_attempt_is_acknowledged_without_effect(
    caplog: pytest.LogCaptureFixture,
) -> None:
    busy = replace(RECEIVED, status_code=503, retry_after=120.0)
    store, job = FakeStore(stands=False), delivery()
    fetch_url = use_case(store, FakeFetcher(busy))
    await fetch_url(job)
    assert job.settled == [("ack", None)]
    assert (fetch_url.tally.completed, fetch_url.tally.retried, fetch_url.tally.failed) == (0, 0, 0)
    assert "attempt was superseded" in caplog.text


NO_ATTEMPT: list[tuple[str, Busy | AlreadyDone | GiveUp, tuple[str, object], int]] = [
    ("the message came twice", AlreadyDone(), ("ack", None), 0),
    ("no attempt is left", GiveUp(reason="dead", retry_count=3), ("ack", None), 1),
    ("another worker is at it", Busy(seconds=7.5), ("retry", 7.5), 0),
]


@pytest.mark.parametrize(
    ("begins", "settled", "failed"),
    [row[1:] for row in NO_ATTEMPT],
    ids=[row[0] for row in NO_ATTEMPT],
)
async def test_without_an_attempt_nothing_is_fetched(
    begins: Busy | AlreadyDone | GiveUp, settled: tuple[str, object], failed: int
) -> None:
    store, fetcher, job = FakeStore(begins=begins), FakeFetcher(), delivery()
    fetch_url = use_case(store, fetcher)
    await fetch_url(job)
    assert job.settled == [settled]
    assert fetcher.fetched == []
    assert fetch_url.tally.failed == failed


async def test_what_was_in_a_dead_workers_hands_is_tried_one_at_a_time() -> None:
    store, fetcher = FakeStore(), FakeFetcher()
    fetch_url = use_case(store, fetcher)
    suspects = [delivery(f"http://{n}.example/", redelivered=True) for n in range(8)]
    async with asyncio.timeout(PATIENCE):
        fetcher.may_answer.clear()
        tasks = [asyncio.create_task(fetch_url(job)) for job in suspects]
        await asyncio.gather(*tasks[1:])  # they do not keep a slot waiting
        assert len(fetcher.fetched) == 1
        fetcher.may_answer.set()
        await tasks[0]
    assert fetcher.most_running == 1
    assert suspects[0].settled == [("ack", None)]
    assert all([verb for verb, _ in job.settled] == ["retry"] for job in suspects[1:])


async def test_other_messages_do_not_wait_for_suspects() -> None:
    store, fetcher = FakeStore(), FakeFetcher()
    fetcher.may_answer.clear()
    fetch_url = use_case(store, fetcher)
    jobs = [delivery("http://suspect.example/", redelivered=True), delivery(), delivery()]
    tasks = [asyncio.create_task(fetch_url(job)) for job in jobs]
    async with asyncio.timeout(PATIENCE):
        while fetcher.running < 3:
            fetcher.started.clear()
            await fetcher.started.wait()
        fetcher.may_answer.set()
        await asyncio.gather(*tasks)
    assert fetcher.most_running == 3


async def test_a_url_of_a_slow_host_is_put_back_for_later() -> None:
    store, fetcher = FakeStore(), FakeFetcher()
    fetcher.may_answer.clear()
    fetch_url = use_case(store, fetcher, concurrency=1)
    task = asyncio.create_task(fetch_url(delivery()))
    await asyncio.wait_for(fetcher.started.wait(), PATIENCE)
    waiting = delivery()
    await within_patience(fetch_url(waiting))
    [(verb, seconds)] = waiting.settled
    assert verb == "retry"
    assert isinstance(seconds, float)
    assert seconds > 0
    assert len(store.begun) == 1, "a URL that waits for its host has no attempt"
    fetcher.may_answer.set()
    await within_patience(task)


async def test_running_attempts_are_renewed_whatever_the_store_says(
    short_pauses: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    store, fetcher = FakeStore(), FakeFetcher()
    fetcher.may_answer.clear()
    fetch_url = use_case(store, fetcher)
    task = asyncio.create_task(fetch_url(delivery()))
    await asyncio.wait_for(fetcher.started.wait(), PATIENCE)
    store.failures = 3
    renewal = asyncio.create_task(fetch_url.renew_leases())
    await asyncio.wait_for(store.on_renewal.wait(), PATIENCE)
    renewal.cancel()
    fetcher.may_answer.set()
    await within_patience(task)
    assert [attempt.url for attempt in store.renewed[0]] == [URL]
    assert set(short_pauses) == {5.0, 0.1}, "three times within a lease, soon after a failure"
    assert "cannot renew attempts" in caplog.text


async def test_a_worker_that_closes_begins_no_attempt_and_gives_the_message_back() -> None:
    store, fetcher = FakeStore(), FakeFetcher()
    fetch_url = use_case(store, fetcher)
    fetch_url.closing = True
    job = delivery()
    await within_patience(fetch_url(job))
    assert [verb for verb, _ in job.settled] == ["retry"]
    assert (store.begun, fetcher.fetched) == ([], [])
