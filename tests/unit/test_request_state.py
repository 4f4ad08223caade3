"""What each event changes in a record, without a database."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.inventory_samples import COMPLETED, FAILED, RECEIVED, later, request
from webloom.domain.inventory import (
    AlreadyDone,
    Attempt,
    Busy,
    GivenBack,
    GiveUp,
    Outcome,
    Status,
    shelf_of,
)
from webloom.domain.request_state import (
    Assumption,
    BeginAttempt,
    FinishAttempt,
    Known,
    NotedRequest,
    RenewAttempt,
    RequestState,
    Tombstone,
    assume_running,
    assume_settled,
    assume_waiting,
    begin_attempt,
    finish_attempt,
    forget,
    new_state,
    note_request,
    renew_attempt,
    resume_attempt,
    token_at,
)

Decision = tuple[int, int] | Busy | AlreadyDone | GiveUp

WALL = datetime(2026, 3, 1, tzinfo=UTC)
TIME = 1000.0
LEASE = 15.0


class Now(NamedTuple):
    wall: datetime = WALL
    timeline: float = TIME


NOW = Now()


def state(
    status: Status,
    *,
    outstanding: str | None = None,
    last: str | None = None,
    attempts: int = 0,
    failures: int = 0,
    lease: float | None = None,
    due: float | None = None,
    background: bool = False,
    error: str | None = None,
) -> RequestState:
    """Lease and due are seconds from now."""
    return RequestState(
        status=status,
        token=7,
        request_id=outstanding,
        background=background,
        last_request_id=last,
        attempt_number=attempts,
        retry_count=failures,
        lease_until=None if lease is None else TIME + lease,
        retry_due=None if due is None else TIME + due,
        error_message=error,
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


PENDING = state(Status.PENDING, outstanding="r")
DONE = state(Status.COMPLETED, last="old", attempts=2, failures=1)
REFRESH = state(Status.COMPLETED, outstanding="r", last="old", background=True)


FIRST = (1, 0)  # number and failures of the attempt that begins
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
        (2, 1),
    ),
    (
        "another message takes the lost attempt over",
        running(-5.0, attempts=1),
        "another",
        (2, 1),
    ),
    (
        "the second attempt was lost",
        running(-5.0, attempts=2, failures=1),
        "r",
        (3, 2),
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
        (10, 2),
    ),
    ("the retry is not due", waiting(12.5), "r", Busy(seconds=12.5)),
    ("the retry is not due for another message either", waiting(1.0), "x", Busy(seconds=1.0)),
    ("the retry is due", waiting(0.0), "r", (2, 1)),
    ("the retry is overdue", waiting(-60.0, failures=2), "r", (3, 2)),
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
        (2, 1),
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
    after, answer = begin_attempt(known, BeginAttempt(request(request_id), LEASE), NOW)
    if isinstance(answer, Attempt):
        assert (answer.number, answer.retry_count) == decision
        assert after.token == answer.token == token_at(TIME) + (known is None)
        assert after.request_id == after.last_request_id == answer.request_id
        assert (after.lease_until, after.retry_due) == (TIME + LEASE, None)
        assert (after.last_attempt_at, after.touched) == (WALL, TIME)
    else:
        assert answer == decision
        assert (after is known) == isinstance(answer, Busy)


def test_a_token_grows_even_when_the_time_does_not() -> None:
    ahead = PENDING._replace(token=token_at(TIME) + 5)
    after, _ = begin_attempt(ahead, BeginAttempt(request("r"), LEASE), NOW)
    assert after.token == token_at(TIME) + 6


@pytest.mark.parametrize(
    ("known", "is_refresh"), [(DONE, True), (PENDING, False)], ids=["readable", "open"]
)
def test_an_attempt_in_the_background_leaves_a_readable_record_as_it_is_shown(
    known: RequestState, is_refresh: bool
) -> None:
    event = BeginAttempt(request("new", background=True), LEASE)
    after, _ = begin_attempt(known, event, NOW)
    assert after.background is is_refresh
    assert after.status is (known.status if is_refresh else Status.IN_PROGRESS)
    assert after.updated_at == (None if is_refresh else WALL)


def test_giving_up_ends_the_request() -> None:
    event = BeginAttempt(request("r"), LEASE)
    after, answer = begin_attempt(running(-1, attempts=3, failures=2), event, NOW)
    assert isinstance(answer, GiveUp)
    assert (after.status, after.retry_count) == (Status.FAILED_PERMANENT, 3)
    assert (after.request_id, after.lease_until) == (None, None)
    assert (after.error_message, after.updated_at) == (answer.reason, WALL)


def test_a_message_that_comes_again_makes_its_late_note_void() -> None:
    done = DONE._replace(last_request_id="r")
    after, answer = begin_attempt(done, BeginAttempt(request("r"), LEASE), NOW)
    assert answer == AlreadyDone()
    assert after == done._replace(token=after.token)
    assert after.token > done.token
    assert note_request(after, NotedRequest(request("r"), done.token), NOW)[0] is after


ATTEMPT = Attempt("http://site.example/page", "r", 7, 2, 1)
OUTCOMES: list[tuple[Outcome, Status, RequestState]] = [
    (
        COMPLETED,
        Status.COMPLETED,
        RequestState(Status.COMPLETED, 7, None, False, "r", 2, 1, response=RECEIVED),
    ),
    (
        FAILED,
        Status.FAILED_PERMANENT,
        RequestState(
            Status.FAILED_PERMANENT, 7, None, False, "r", 2, 0, error_message=FAILED.reason
        ),
    ),
    (
        later(30, retry_count=2),
        Status.FAILED_RETRYABLE,
        RequestState(
            Status.FAILED_RETRYABLE,
            7,
            "r",
            False,
            "r",
            2,
            2,
            retry_due=TIME + 30,
            error_message="the connection was refused",
        ),
    ),
    (GivenBack(), Status.PENDING, RequestState(Status.PENDING, 7, "r", False, "r", 1, 1)),
]
outcomes = pytest.mark.parametrize(
    ("outcome", "status", "expected"), OUTCOMES, ids=[row[1] for row in OUTCOMES]
)
RUNNING = running(5, attempts=2, failures=1)


@outcomes
def test_an_outcome_ends_its_attempt(
    outcome: Outcome, status: Status, expected: RequestState
) -> None:
    after, stands = finish_attempt(RUNNING, FinishAttempt(ATTEMPT, outcome), NOW)
    assert stands
    assert after == expected._replace(updated_at=WALL, touched=TIME)
    assert finish_attempt(after, FinishAttempt(ATTEMPT, outcome), NOW) == (after, False)


@outcomes
@pytest.mark.parametrize(
    "known",
    [RUNNING._replace(token=8), Tombstone("r", 6), Tombstone("old", 7)],
    ids=["newer attempt", "answered and deleted", "deleted after it"],
)
def test_an_outcome_that_does_not_stand_changes_nothing(
    known: Known, outcome: Outcome, status: Status, expected: RequestState
) -> None:
    after, stands = finish_attempt(known, FinishAttempt(ATTEMPT, outcome), NOW)
    assert not stands
    assert after is known


@outcomes
@pytest.mark.parametrize(
    "known",
    [PENDING._replace(token=6), None, Tombstone("old", 6)],
    ids=["begin undone", "record undone", "an earlier one deleted"],
)
def test_an_outcome_stands_although_a_crash_has_undone_the_beginning(
    known: Known, outcome: Outcome, status: Status, expected: RequestState
) -> None:
    after, stands = finish_attempt(known, FinishAttempt(ATTEMPT, outcome), NOW)
    assert stands
    assert isinstance(after, RequestState)
    assert (after.status, after.token, after.request_id) == (status, 7, expected.request_id)
    assert after.attempt_number == expected.attempt_number


@outcomes
def test_a_refresh_changes_the_status_only_when_it_is_done(
    outcome: Outcome, status: Status, expected: RequestState
) -> None:
    refreshing = RUNNING._replace(status=Status.FAILED_PERMANENT, background=True)
    after, _ = finish_attempt(refreshing, FinishAttempt(ATTEMPT, outcome), NOW)
    assert isinstance(after, RequestState)
    if status.is_final:
        assert (after.status, after.background, after.updated_at) == (status, False, WALL)
    else:
        assert (after.status, after.background) == (Status.FAILED_PERMANENT, True)
        assert after.updated_at is None


requests = st.sampled_from([None, "r", "s"])
moments = st.sampled_from([None, TIME - 1, TIME + 1])
states = st.tuples(
    st.sampled_from(Status),
    st.integers(5, 9),
    requests,
    st.booleans(),
    requests,
    st.integers(0, 3),
    st.integers(0, 2),
    moments,
    moments,
    st.sampled_from([None, "wrong"]),
).map(lambda values: RequestState(*values))
EVENTS: list[tuple[Any, Any, Any]] = [
    (assume_settled, note_request, NotedRequest(request("r"), 7)),
    (assume_settled, note_request, NotedRequest(request("r", background=True), 7)),
    (assume_waiting, begin_attempt, BeginAttempt(request("r"), LEASE)),
    *((assume_running, finish_attempt, FinishAttempt(ATTEMPT, row[0])) for row in OUTCOMES),
]


@pytest.mark.parametrize(("assume", "decide", "event"), EVENTS)
@given(state=states)
def test_a_decision_changes_the_same_in_all_records_that_meet_the_conditions(
    assume: Any, decide: Any, event: Any, state: RequestState
) -> None:
    assumption = assume(event, NOW)
    state = meeting(assumption, state)
    guessed, answer = decide(assumption.state, event, NOW)
    assert (written(assumption.state, guessed, state), answer) == decide(state, event, NOW)


def meeting(assumption: Assumption, state: RequestState) -> RequestState:
    """Changed where it does not meet the conditions."""
    changes: dict[str, Any] = dict.fromkeys(assumption.unset)
    changes |= {name: getattr(state, name) or TIME for name in assumption.is_set}
    for name, value in assumption.conditions.items():
        field, _, comparison = name.partition("__")
        if not comparison:
            changes[field] = Status(value) if field == "status" else value
        elif comparison == "lt":
            changes[field] = value - 1  # with an older token, the attempt's would be another
        elif getattr(state, field) == value:
            changes[field] = "other"
    return state._replace(**changes)


def written(assumed: RequestState, after: Known, known: RequestState) -> RequestState:
    """What becomes of the known state when the changes of the assumed one are written to it."""
    assert isinstance(after, RequestState)
    rows = zip(assumed, after, known, strict=True)
    return RequestState._make(old if was == new else new for was, new, old in rows)


def test_the_attempt_of_a_refresh_is_not_guessed_and_an_unknown_url_is_new() -> None:
    assert assume_waiting(BeginAttempt(request("r", background=True), LEASE), NOW) is None
    assert assume_settled(NotedRequest(request("r"), 0), NOW) == Assumption(None)


NOTES: list[tuple[str, Known, NotedRequest, Known]] = [
    ("a new URL", None, NotedRequest(request("r"), 0), new_state("r", NOW)),
    ("a deleted URL", Tombstone("old"), NotedRequest(request("r"), 0), new_state("r", NOW)),
    ("answered and deleted", Tombstone("r"), NotedRequest(request("r"), 0), Tombstone("r")),
    ("deleted since it was seen", None, NotedRequest(request("r"), 7), None),
    ("the worker was faster", RUNNING, NotedRequest(request("r"), 6), RUNNING),
    ("joined another request", PENDING, NotedRequest(request("x"), 7), PENDING),
    ("noted again", PENDING, NotedRequest(request("r"), 7), PENDING._replace(touched=TIME)),
    (
        "reopens a readable record",
        DONE._replace(error_message="404"),
        NotedRequest(request("r"), 7),
        DONE._replace(status=Status.PENDING, request_id="r", updated_at=WALL, touched=TIME),
    ),
    (
        "a refresh",
        DONE,
        NotedRequest(request("r", background=True), 7),
        DONE._replace(request_id="r", background=True, touched=TIME),
    ),
    (
        "a person waits for a refresh now",
        REFRESH,
        NotedRequest(request("x"), 7),
        REFRESH._replace(status=Status.PENDING, background=False, updated_at=WALL, touched=TIME),
    ),
    (
        "a person waits for a refresh that runs",
        REFRESH._replace(lease_until=TIME + 5),
        NotedRequest(request("x"), 7),
        REFRESH._replace(
            status=Status.IN_PROGRESS,
            background=False,
            lease_until=TIME + 5,
            updated_at=WALL,
            touched=TIME,
        ),
    ),
    (
        "a refresh behind one that a person waits for",
        PENDING,
        NotedRequest(request("x", background=True), 7),
        PENDING,
    ),
]


@pytest.mark.parametrize(
    ("known", "event", "expected"), [row[1:] for row in NOTES], ids=[row[0] for row in NOTES]
)
def test_a_request_is_noted(known: Known, event: NotedRequest, expected: Known) -> None:
    after, _ = note_request(known, event, NOW)
    assert after == expected
    if expected == known:
        assert after is known


def test_a_lease_is_renewed_while_the_token_stands() -> None:
    event = RenewAttempt(ATTEMPT, LEASE)
    assert renew_attempt(RUNNING, event, NOW)[0] == RUNNING._replace(lease_until=TIME + LEASE)
    for other in (RUNNING._replace(token=8), DONE, None, Tombstone("r", 7)):
        assert renew_attempt(other, event, NOW)[0] is other


def test_an_attempt_without_an_answer_is_resumed_for_a_whole_lease() -> None:
    after, attempt = resume_attempt(RUNNING, BeginAttempt(request("r"), LEASE), NOW)
    assert attempt == ATTEMPT
    assert after == RUNNING._replace(lease_until=TIME + LEASE)


@pytest.mark.parametrize(
    ("known", "status"),
    [
        (PENDING, Status.PENDING),
        (RUNNING, Status.IN_PROGRESS),
        (waiting(5), Status.FAILED_RETRYABLE),
        (REFRESH, Status.PENDING),
    ],
    ids=["pending", "running", "retry", "refresh"],
)
def test_forgetting_leaves_an_outstanding_request(known: RequestState, status: Status) -> None:
    after, was_known = forget(known, None, NOW)
    assert was_known
    assert isinstance(after, RequestState)
    assert (after.status, after.request_id, after.background) == (status, "r", False)
    assert (after.is_cleared, after.updated_at) == (True, WALL)


def test_forgetting_leaves_a_tombstone() -> None:
    assert forget(DONE, None, NOW) == (Tombstone("old", 7), True)
    assert forget(None, None, NOW) == (None, False)
    assert forget(Tombstone("old"), None, NOW) == (Tombstone("old"), False)
    assert Tombstone("old", 7).is_after(ATTEMPT)
    assert Tombstone("r", 6).is_after(ATTEMPT)
    assert not Tombstone("old", 6).is_after(ATTEMPT)


def test_a_failure_without_a_response_keeps_what_an_earlier_event_set() -> None:
    cleared = RUNNING._replace(is_cleared=True)
    failed, _ = finish_attempt(cleared, FinishAttempt(ATTEMPT, FAILED), NOW)
    assert isinstance(failed, RequestState)
    assert (failed.response, failed.is_cleared) == (None, True)
    brought = replace(FAILED, received=RECEIVED)
    failed, _ = finish_attempt(cleared, FinishAttempt(ATTEMPT, brought), NOW)
    assert isinstance(failed, RequestState)
    assert (failed.response, failed.is_cleared) == (RECEIVED, False)


def test_only_completed_and_failed_for_good_are_final() -> None:
    assert [status for status in Status if status.is_final] == [
        Status.COMPLETED,
        Status.FAILED_PERMANENT,
    ]
    assert {shelf_of(status) for status in Status} == {"COMPLETED", "FAILED_PERMANENT", "OPEN"}
