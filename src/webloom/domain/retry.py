"""Whether and when to retry a fetch."""

from __future__ import annotations

from webloom.domain.backoff import Backoff
from webloom.domain.errors import FetchFailed
from webloom.domain.inventory import MAX_ATTEMPTS, Completed, Failed, Outcome, Received, RetryLater

MAX_RETRY_AFTER = 3600.0  # seconds; a server may ask for more


def fetch_backoff(first_delay: float) -> Backoff:
    """Between two attempts to fetch a URL."""
    return Backoff(
        base=first_delay,
        factor=4.0,
        cap=300.0,
        jitter=(1.0, 1.5),
        longest_retry_after=MAX_RETRY_AFTER,
    )


def is_retryable(status: int) -> bool:
    """Whether the server may answer otherwise soon."""
    return status == 429 or status >= 500


def decide_outcome(
    result: Received | FetchFailed, *, retry_count: int, backoff: Backoff, jitter: float
) -> Outcome:
    """What an attempt's result means for its request."""
    received = result if isinstance(result, Received) else None
    retry_after = None
    if received is None:
        assert isinstance(result, FetchFailed)  # noqa: S101 - narrows the union for mypy
        reason, retryable = result.reason, result.retryable
    elif received.status_code < 400:
        return Completed(received=received)
    else:
        reason = f"the server answered {received.status_code}"
        retryable = is_retryable(received.status_code)
        retry_after = received.retry_after
    if not retryable:
        return Failed(reason=reason, retry_count=retry_count, received=received)
    failures = retry_count + 1
    if failures >= MAX_ATTEMPTS:
        return Failed(reason=reason, retry_count=failures, received=received)
    return RetryLater(
        reason=reason,
        retry_count=failures,
        seconds=backoff.delay(failures, jitter=jitter, retry_after=retry_after),
        received=received,
    )
