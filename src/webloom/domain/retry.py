"""When, if ever, to try again."""

from __future__ import annotations

from dataclasses import dataclass

from webloom.domain.errors import FetchFailed
from webloom.domain.inventory import MAX_ATTEMPTS, Completed, Failed, Outcome, Received, RetryLater

MAX_RETRY_AFTER = 3600.0  # a server may ask for more; an hour is what it gets


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryPolicy:
    first_delay: float
    growth: float = 4.0
    longest_delay: float = 300.0

    def delay(self, failures: int, *, jitter: float, retry_after: float | None = None) -> float:
        """Seconds to wait after the given number of failures.

        `jitter`, from 0 to 1, is the caller's randomness: it lengthens the delay by up to half, so
        that what failed together does not come back together.
        """
        steps = min(failures - 1, 50)  # far past the longest delay
        grown = min(self.first_delay * self.growth**steps, self.longest_delay)
        return max(grown * (1 + jitter / 2), min(retry_after or 0.0, MAX_RETRY_AFTER))


def decide_outcome(
    result: Received | FetchFailed, *, retry_count: int, policy: RetryPolicy, jitter: float
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
        retryable = received.status_code == 429 or received.status_code >= 500
        retry_after = received.retry_after
    if not retryable:
        return Failed(reason=reason, retry_count=retry_count, received=received)
    failures = retry_count + 1
    if failures >= MAX_ATTEMPTS:
        return Failed(reason=reason, retry_count=failures, received=received)
    return RetryLater(
        reason=reason,
        retry_count=failures,
        seconds=policy.delay(failures, jitter=jitter, retry_after=retry_after),
        received=received,
    )
