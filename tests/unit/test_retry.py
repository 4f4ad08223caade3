from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webloom.adapters.notify.frames import is_retryable as is_retryable_message
from webloom.domain.errors import FetchFailed
from webloom.domain.inventory import Completed, Failed, Received, RetryLater
from webloom.domain.retry import MAX_RETRY_AFTER, decide_outcome, fetch_backoff, is_retryable

BACKOFF = fetch_backoff(2.0)
RESPONSE = Received(
    status_code=200,
    headers={},
    cookies={},
    page_source="",
    final_url="http://site.example/",
    details={},
)


def answered(status_code: int, retry_after: float | None = None) -> Received:
    return replace(RESPONSE, status_code=status_code, retry_after=retry_after)


DELAYS = [
    (1, 0.0, None, 2.0, "the first delay"),
    (2, 0.0, None, 8.0, "four times as long"),
    (3, 0.0, None, 32.0, "and again"),
    (9, 0.0, None, 300.0, "never longer than five minutes"),
    (1, 1.0, None, 3.0, "half as much again at most"),
    (1, 0.5, None, 2.5, "and anything in between"),
    (9, 1.0, None, 450.0, "the longest is spread too"),
    (1, 0.0, 1.0, 2.0, "a server that asks for less gets the usual delay"),
    (1, 1.0, 90.0, 90.0, "a server that asks for more gets that"),
    (1, 0.0, 0.0, 2.0, "a server that asks for nothing"),
    (1, 0.0, -5.0, 2.0, "a server that asks for nonsense"),
    (1, 0.0, 86400.0, MAX_RETRY_AFTER, "an hour is the most that it gets"),
    (1, 0.0, float("inf"), MAX_RETRY_AFTER, "forever is an hour too"),
]


@pytest.mark.parametrize(
    ("failures", "jitter", "retry_after", "seconds"),
    [row[:4] for row in DELAYS],
    ids=[row[4] for row in DELAYS],
)
def test_how_long_a_retry_waits(
    failures: int, jitter: float, retry_after: float | None, seconds: float
) -> None:
    assert BACKOFF.delay(failures, jitter=jitter, retry_after=retry_after) == pytest.approx(seconds)


@given(
    failures=st.integers(1, 100),
    jitter=st.floats(0, 1),
    first=st.floats(0, 300),
    retry_after=st.none() | st.floats(0, 1e9),
)
def test_a_delay_grows_is_spread_and_has_an_end(
    failures: int, jitter: float, first: float, retry_after: float | None
) -> None:
    backoff = fetch_backoff(first)
    bare = backoff.delay(failures, jitter=0.0)
    assert min(first, 300) <= bare <= 300
    spread_out = backoff.delay(failures, jitter=jitter)
    assert bare <= spread_out <= bare * 1.5
    delay = backoff.delay(failures, jitter=jitter, retry_after=retry_after)
    assert spread_out <= delay <= max(spread_out, MAX_RETRY_AFTER)


REFUSED = FetchFailed(reason="no connection", retryable=True)
BROKEN = FetchFailed(reason="the redirects go in a circle", retryable=False)
RETRYABLE = [429, 500, 502, 503, 504, 599, 999]
PERMANENT = [400, 401, 403, 404, 408, 410, 418, 425, 428, 430, 451, 499]
FINE = [200, 204, 206, 301, 304, 399]


def test_which_statuses_are_tried_again() -> None:
    assert all(map(is_retryable, RETRYABLE))
    assert not any(map(is_retryable, PERMANENT + FINE))
    assert all(map(is_retryable_message, [*RETRYABLE, 408, 425]))
    assert [code for code in PERMANENT + FINE if is_retryable_message(code)] == [408, 425]


@pytest.mark.parametrize("code", FINE)
@pytest.mark.parametrize("retry_count", [0, 2])
def test_a_response_below_400_completes_the_request(code: int, retry_count: int) -> None:
    received = answered(code)
    outcome = decide_outcome(received, retry_count=retry_count, backoff=BACKOFF, jitter=0)
    assert outcome == Completed(received=received)


@pytest.mark.parametrize("code", PERMANENT)
def test_a_response_that_will_not_change_fails_the_request_at_once(code: int) -> None:
    received = answered(code, retry_after=5.0)
    outcome = decide_outcome(received, retry_count=1, backoff=BACKOFF, jitter=0)
    assert outcome == Failed(reason=f"the server answered {code}", retry_count=1, received=received)


@pytest.mark.parametrize("code", RETRYABLE)
def test_a_response_that_may_change_is_tried_three_times(code: int) -> None:
    received = answered(code)
    reason = f"the server answered {code}"
    outcomes = [
        decide_outcome(received, retry_count=failures, backoff=BACKOFF, jitter=0)
        for failures in (0, 1, 2)
    ]
    assert outcomes == [
        RetryLater(reason=reason, retry_count=1, seconds=2.0, received=received),
        RetryLater(reason=reason, retry_count=2, seconds=8.0, received=received),
        Failed(reason=reason, retry_count=3, received=received),
    ]


def test_a_failed_fetch_that_may_succeed_later_is_tried_three_times() -> None:
    outcomes = [
        decide_outcome(REFUSED, retry_count=failures, backoff=BACKOFF, jitter=1.0)
        for failures in (0, 1, 2)
    ]
    assert outcomes == [
        RetryLater(reason="no connection", retry_count=1, seconds=3.0),
        RetryLater(reason="no connection", retry_count=2, seconds=12.0),
        Failed(reason="no connection", retry_count=3),
    ]


def test_a_failed_fetch_that_will_not_succeed_fails_the_request_at_once() -> None:
    outcome = decide_outcome(BROKEN, retry_count=0, backoff=BACKOFF, jitter=0)
    assert outcome == Failed(reason="the redirects go in a circle", retry_count=0)


@pytest.mark.parametrize("code", [429, 503])
def test_a_server_that_says_when_to_come_back_is_heeded(code: int) -> None:
    outcome = decide_outcome(answered(code, 120.0), retry_count=0, backoff=BACKOFF, jitter=1.0)
    assert isinstance(outcome, RetryLater)
    assert outcome.seconds == 120.0
