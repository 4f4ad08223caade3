"""What each event changes in a record: (state, event, now) -> (new state, answer).

A state that comes back as the same object is unchanged. No decision raises, and each may be asked
again about the same event.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from webloom.domain.inventory import (
    MAX_ATTEMPTS,
    AlreadyDone,
    Attempt,
    Busy,
    Completed,
    Failed,
    FetchRequest,
    GiveUp,
    Outcome,
    Received,
    RetryLater,
    Status,
)

BeginResult = Attempt | Busy | AlreadyDone | GiveUp

# For what an assumed state does not tell: no record has them, so what a decision sets is a change.
UNKNOWN_NUMBER = -1
UNKNOWN_TEXT = "\ud800 unknown"


class Now(Protocol):
    @property
    def wall(self) -> datetime: ...

    @property
    def timeline(self) -> float:
        """Seconds on the clock of leases, which all processes share."""


class RequestState(NamedTuple):
    """Where a record stands with its outstanding request.

    A tuple, because every page that is fetched makes several.
    """

    status: Status
    token: int  # fencing token: grows with every attempt; what an older one writes is ignored
    request_id: str | None = None  # the outstanding request, None when there is none
    background: bool = False
    last_request_id: str | None = None  # the last one that an attempt was begun for
    attempt_number: int = 0
    retry_count: int = 0
    lease_until: float | None = None  # of the running attempt, on the timeline
    retry_due: float | None = None  # on the timeline
    error_message: str | None = None
    # What follows is set by decisions and not loaded: None stands for what is stored.
    last_attempt_at: datetime | None = None
    updated_at: datetime | None = None  # the last change that a reader sees
    touched: float | None = None  # the last change of any kind, on the timeline
    response: Received | None = None
    is_cleared: bool = False  # the stored response is removed
    as_of: float = 0.0  # when it was loaded, on the timeline

    @property
    def in_progress_for(self) -> float | None:
        """Seconds that the running attempt's lease has left."""
        return None if self.lease_until is None else self.lease_until - self.as_of

    @property
    def waits_for(self) -> float | None:
        """Seconds until the retry is due."""
        return None if self.retry_due is None else self.retry_due - self.as_of


TOMBSTONE_SECONDS = 3600


class Tombstone(NamedTuple):
    """What is kept of a deleted record for a while, to recognise writes that come late."""

    request_id: str | None  # the last request that was answered
    token: int = 0

    def is_after(self, attempt: Attempt) -> bool:
        return self.request_id == attempt.request_id or attempt.token <= self.token


Known = RequestState | Tombstone | None


class Assumption(NamedTuple):
    """Stands in for a record that was not read.

    A decision changes the same in the state as in every record that meets the conditions: `token`
    names a field that has to be equal, `token__lt` one that is less, `token__ne` one that differs.
    """

    state: RequestState | None  # None: the record does not exist
    conditions: Mapping[str, Any] = {}
    unset: tuple[str, ...] = ()  # fields that have to be None
    is_set: tuple[str, ...] = ()  # fields that must not be None


class NotedRequest(NamedTuple):
    request: FetchRequest
    token: int  # of the state that the requester saw, 0 when the URL was unknown


class BeginAttempt(NamedTuple):
    request: FetchRequest
    lease: float  # seconds


class RenewAttempt(NamedTuple):
    attempt: Attempt
    lease: float  # seconds


class FinishAttempt(NamedTuple):
    attempt: Attempt
    outcome: Outcome


def token_at(timeline: float) -> int:
    return int(timeline * 1_000_000)


def new_state(request_id: str, now: Now) -> RequestState:
    """Tokens begin with the time: a record that is deleted and made again never has one twice."""
    token, time = token_at(now.timeline), now.timeline
    return RequestState(
        Status.PENDING, token, request_id, False, None, 0, 0, None, None, None, None, now.wall, time
    )


def note_request(state: Known, event: NotedRequest, now: Now) -> tuple[Known, None]:
    """The message of a request is durable. One that the worker was faster than changes nothing."""
    request, token = event
    if not isinstance(state, RequestState):
        is_late = state is not None and state.request_id == request.request_id
        return (state if token or is_late else new_state(request.request_id, now)), None
    if state.token != token:
        return state, None
    if state.request_id is not None and (request.background or not state.background):
        if state.request_id == request.request_id:
            return state._replace(touched=now.timeline), None
        return state, None
    if request.background:
        return state._replace(
            request_id=request.request_id, background=True, touched=now.timeline
        ), None
    return RequestState(
        _open_status(state),
        state.token,
        request.request_id if state.request_id is None else state.request_id,
        False,
        *state[4:9],
        None,
        state.last_attempt_at,
        now.wall,
        now.timeline,
        *state[13:],
    ), None


def assume_settled(event: NotedRequest, now: Now) -> Assumption:
    """The usual state when a request is noted: unknown, or no other request is outstanding."""
    request, token = event
    if not token:
        return Assumption(None)
    is_other = not request.background  # than what will be noted
    state = RequestState(Status.COMPLETED, token, None, is_other, error_message=UNKNOWN_TEXT)
    return Assumption(state, {"token": token}, ("request_id", "lease_until", "retry_due"))


def begin_attempt(state: Known, event: BeginAttempt, now: Now) -> tuple[RequestState, BeginResult]:
    """May an attempt for this request begin now?

    A background refresh leaves the record as its readers see it.
    """
    (request, lease), time = event, now.timeline
    if not isinstance(state, RequestState):
        state = new_state(request.request_id, now)
    number, failures = state.attempt_number + 1, state.retry_count
    if state.lease_until is not None:
        if state.lease_until > time:
            return state, Busy(seconds=state.lease_until - time)
        failures += 1
        if failures >= MAX_ATTEMPTS:
            return _given_up(state, failures, now)
    elif state.retry_due is not None:
        if state.retry_due > time:
            return state, Busy(seconds=state.retry_due - time)
    elif state.request_id is None and state.last_request_id == request.request_id:
        # The token grows, so that a note which comes late finds that the message was served.
        return state._replace(token=_next_token(state, time)), AlreadyDone()
    elif state.request_id is None or state.last_request_id != state.request_id:
        number, failures = 1, 0
    token = _next_token(state, time)
    request_id = state.request_id or request.request_id
    background = request.background and state.status.is_final
    begun = RequestState(
        state.status if background else Status.IN_PROGRESS,
        token,
        request_id,
        background,
        request_id,
        number,
        failures,
        time + lease,
        None,
        state.error_message,
        now.wall,
        state.updated_at if background else now.wall,
        time,
        state.response,
        state.is_cleared,
    )
    return begun, Attempt(request.url, request_id, token, number, failures)


def _next_token(state: RequestState, time: float) -> int:
    return max(state.token + 1, token_at(time))


def _given_up(state: RequestState, failures: int, now: Now) -> tuple[RequestState, GiveUp]:
    """No attempt is left: the workers that held them died."""
    reason = f"the worker stopped during each of {failures} attempts"
    return state._replace(
        status=Status.FAILED_PERMANENT,
        token=_next_token(state, now.timeline),
        request_id=None,
        background=False,
        retry_count=failures,
        lease_until=None,
        error_message=reason,
        updated_at=now.wall,
        touched=now.timeline,
    ), GiveUp(reason=reason, retry_count=failures)


def assume_waiting(event: BeginAttempt, now: Now) -> Assumption | None:
    """The usual state when a worker asks: noted, and its last attempt was for another request.

    None: a background refresh, which leaves the status as it is, is not guessed.
    """
    request_id, token = event.request.request_id, token_at(now.timeline)
    if event.request.background:
        return None
    state = RequestState(
        Status.PENDING,
        token,  # or older
        request_id,
        True,  # not known; a first attempt of an open record is never in the background
        UNKNOWN_TEXT,
        UNKNOWN_NUMBER,
        UNKNOWN_NUMBER,
    )
    return Assumption(
        state,
        {
            "status": Status.PENDING.value,
            "token__lt": token + 1,
            "request_id": request_id,
            "last_request_id__ne": request_id,
        },
        ("lease_until", "retry_due"),
    )


def resume_attempt(state: RequestState, event: BeginAttempt, now: Now) -> tuple[Known, BeginResult]:
    """As `begin_attempt`, for the caller who began the last attempt and got no answer."""
    if state.lease_until is None:
        return begin_attempt(state, event, now)
    attempt = Attempt(
        event.request.url,
        state.request_id or "",
        state.token,
        state.attempt_number,
        state.retry_count,
    )
    return state._replace(lease_until=now.timeline + event.lease), attempt


def renew_attempt(state: Known, event: RenewAttempt, now: Now) -> tuple[Known, None]:
    if (
        not isinstance(state, RequestState)
        or state.token != event.attempt.token
        or state.lease_until is None
    ):
        return state, None
    return state._replace(lease_until=now.timeline + event.lease), None


def finish_attempt(state: Known, event: FinishAttempt, now: Now) -> tuple[Known, bool]:
    """The outcome counts unless a newer attempt has begun or this one was finished before.

    An older token than the attempt's, or no record: a crash of the server has undone the attempt's
    beginning.
    """
    attempt, outcome = event
    if not isinstance(state, RequestState):
        if state is not None and state.is_after(attempt):
            return state, False
        state = new_state(attempt.request_id, now)._replace(token=attempt.token - 1)
    if state.token > attempt.token:
        return state, False
    if state.token == attempt.token and state.lease_until is None:
        return state, False
    if isinstance(outcome, Completed):
        return _ended(state, attempt, Status.COMPLETED, attempt.retry_count, None, outcome, now)
    if isinstance(outcome, Failed):
        failures = outcome.retry_count
        return _ended(
            state, attempt, Status.FAILED_PERMANENT, failures, outcome.reason, outcome, now
        )
    # A background refresh that is not done yet leaves the status as it is.
    is_shown = state.status is Status.IN_PROGRESS or state.status is Status.PENDING
    state = state._replace(
        token=attempt.token,
        lease_until=None,
        updated_at=now.wall if is_shown else state.updated_at,
        touched=now.timeline,
    )
    if isinstance(outcome, RetryLater):
        return state._replace(
            status=Status.FAILED_RETRYABLE if is_shown else state.status,
            last_request_id=attempt.request_id,
            attempt_number=attempt.number,
            retry_count=outcome.retry_count,
            retry_due=now.timeline + outcome.seconds,
            error_message=outcome.reason,
        ), True
    status = Status.PENDING if is_shown else state.status
    return state._replace(status=status, attempt_number=attempt.number - 1), True


def _ended(
    state: RequestState,
    attempt: Attempt,
    status: Status,
    failures: int,
    reason: str | None,
    outcome: Completed | Failed,
    now: Now,
) -> tuple[RequestState, bool]:
    """Without a response, what an earlier one brought stays."""
    has_response = outcome.received is not None
    return RequestState(
        status,
        attempt.token,
        None,
        False,
        attempt.request_id,
        attempt.number,
        failures,
        None,
        None,
        reason,
        state.last_attempt_at,
        now.wall,
        now.timeline,
        outcome.received if has_response else state.response,
        False if has_response else state.is_cleared,
    ), True


def assume_running(event: FinishAttempt, now: Now) -> Assumption:
    """The usual state when an attempt ends: in progress, as its beginning has left it."""
    attempt = event.attempt
    state = RequestState(
        Status.IN_PROGRESS,
        attempt.token,
        attempt.request_id,
        True,
        UNKNOWN_TEXT,
        UNKNOWN_NUMBER,
        UNKNOWN_NUMBER,
        0.0,
        0.0,
        UNKNOWN_TEXT,
    )
    conditions: dict[str, Any] = {"token": attempt.token}
    if not isinstance(event.outcome, (Completed, Failed)):
        conditions["status"] = Status.IN_PROGRESS.value  # a background refresh keeps its own
    return Assumption(state, conditions, is_set=("lease_until",))


def finish_again(state: RequestState, event: FinishAttempt, now: Now) -> tuple[Known, bool]:
    """As `finish_attempt`, for the caller who did so and got no answer."""
    return state, True


def forget(state: Known, event: None, now: Now) -> tuple[Known, bool]:
    """A record with an outstanding request stays, so that the request still gets its answer."""
    if not isinstance(state, RequestState):
        return state, False
    if state.request_id is None:
        return Tombstone(state.last_request_id, state.token), True
    return state._replace(
        status=_open_status(state),
        background=False,
        updated_at=now.wall,
        touched=now.timeline,
        response=None,
        is_cleared=True,
    ), True


def _open_status(state: RequestState) -> Status:
    if state.lease_until is not None:
        return Status.IN_PROGRESS
    return Status.PENDING if state.retry_due is None else Status.FAILED_RETRYABLE
