from __future__ import annotations

import pytest

from webloom.domain.inventory import (
    AlreadyDone,
    Begin,
    Busy,
    GiveUp,
    RequestState,
    Status,
    decide_attempt,
)

Decision = Begin | Busy | AlreadyDone | GiveUp


def state(
    status: Status,
    *,
    outstanding: str | None = None,
    last: str | None = None,
    attempts: int = 0,
    failures: int = 0,
    lease: float | None = None,
    due: float | None = None,
) -> RequestState:
    return RequestState(
        status=status,
        token=7,
        request_id=outstanding,
        last_request_id=last,
        attempt_number=attempts,
        retry_count=failures,
        in_progress_for=lease,
        waits_for=due,
    )


def running(lease: float, attempts: int = 1, failures: int = 0) -> RequestState:
    return state(
        Status.IN_PROGRESS,
        outstanding="r",
        last="r",
        attempts=attempts,
        failures=failures,
        lease=lease,
    )


def waiting(due: float, failures: int = 1) -> RequestState:
    return state(
        Status.FAILED_RETRYABLE,
        outstanding="r",
        last="r",
        attempts=failures,
        failures=failures,
        due=due,
    )


FIRST = Begin(number=1, retry_count=0)
DECISIONS: list[tuple[str, RequestState | None, str, Decision]] = [
    ("nothing is known of the URL", None, "r", FIRST),
    (
        "the request was noted",
        state(Status.PENDING, outstanding="r"),
        "r",
        FIRST,
    ),
    (
        "the message joined a noted request",
        state(Status.PENDING, outstanding="r"),
        "another",
        FIRST,
    ),
    ("an attempt is running", running(3.0), "r", Busy(seconds=3.0)),
    ("an attempt of another request is running", running(3.0), "another", Busy(seconds=3.0)),
    (
        "the first attempt was lost",
        running(0.0, attempts=1),
        "r",
        Begin(number=2, retry_count=1),
    ),
    (
        "another message takes the lost attempt over",
        running(-5.0, attempts=1),
        "another",
        Begin(number=2, retry_count=1),
    ),
    (
        "the second attempt was lost",
        running(-5.0, attempts=2, failures=1),
        "r",
        Begin(number=3, retry_count=2),
    ),
    (
        "the third attempt was lost",
        running(-5.0, attempts=3, failures=2),
        "r",
        GiveUp(reason="the worker stopped during each of 3 attempts", retry_count=3),
    ),
    (
        "attempts that were given back do not use up the three",
        running(-5.0, attempts=9, failures=1),
        "r",
        Begin(number=10, retry_count=2),
    ),
    ("the retry is not due", waiting(12.5), "r", Busy(seconds=12.5)),
    ("the retry is not due for another message either", waiting(1.0), "x", Busy(seconds=1.0)),
    ("the retry is due", waiting(0.0), "r", Begin(number=2, retry_count=1)),
    ("the retry is overdue", waiting(-60.0, failures=2), "r", Begin(number=3, retry_count=2)),
    (
        "the attempt was given back",
        state(Status.PENDING, outstanding="r", last="r", attempts=0),
        "r",
        FIRST,
    ),
    (
        "a later attempt was given back",
        state(Status.PENDING, outstanding="r", last="r", attempts=1, failures=1),
        "r",
        Begin(number=2, retry_count=1),
    ),
    (
        "the message comes again after success",
        state(Status.COMPLETED, last="r", attempts=1),
        "r",
        AlreadyDone(),
    ),
    (
        "the message comes again after the last failure",
        state(Status.FAILED_PERMANENT, last="r", attempts=3, failures=3),
        "r",
        AlreadyDone(),
    ),
    (
        "a new request after success starts from the beginning",
        state(Status.COMPLETED, last="old", attempts=2, failures=1),
        "new",
        FIRST,
    ),
    (
        "a new request after the last failure starts from the beginning",
        state(Status.FAILED_PERMANENT, last="old", attempts=3, failures=3),
        "new",
        FIRST,
    ),
    (
        "a reopened record has none of the attempts of the request before",
        state(Status.PENDING, outstanding="new", last="old", attempts=3, failures=2),
        "new",
        FIRST,
    ),
    (
        "a refresh behind a readable record",
        state(Status.COMPLETED, outstanding="new", last="old", attempts=1),
        "new",
        FIRST,
    ),
]


@pytest.mark.parametrize(
    ("known", "request_id", "decision"),
    [row[1:] for row in DECISIONS],
    ids=[row[0] for row in DECISIONS],
)
def test_whether_an_attempt_begins(
    known: RequestState | None, request_id: str, decision: Decision
) -> None:
    assert decide_attempt(known, request_id) == decision


def test_only_completed_and_failed_for_good_are_final() -> None:
    assert [status for status in Status if status.is_final] == [
        Status.COMPLETED,
        Status.FAILED_PERMANENT,
    ]
