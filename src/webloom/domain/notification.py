"""Notifications, which wait in an outbox until they are sent, or given up after many attempts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from webloom.domain.backoff import Backoff
from webloom.domain.errors import NotSent
from webloom.domain.reason import PlainReason

MOST_ATTEMPTS = 12
RETRIES = Backoff(base=60.0, cap=6 * 3600.0, longest_retry_after=24 * 3600.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class NotifiedChange:
    url: str
    reasons: list[PlainReason]  # empty: only its line is known


@dataclass(frozen=True, kw_only=True, slots=True)
class Notification:
    """A message to one target of a watch."""

    notification_id: str  # derived from content and target, so a repeat is the same one
    watch_id: str
    target_url: str
    run_id: str
    due_at: datetime
    # A text for each change, and how many more there are: for changes without reasons, and for
    # processes of the previous version, which know no reasons. From the next version on, those of
    # changes with reasons need not be stored.
    lines: list[str] = field(default_factory=list)
    # Of the first lines, in their order. Empty: the previous version wrote it.
    changes: list[NotifiedChange] = field(default_factory=list)
    batch: str | None = None  # of the change logs that it reports
    attempts: int = 0
    error: str | None = None  # of the latest attempt
    sent_at: datetime | None = None
    given_up: bool = False
    expires_at: datetime | None = None  # when the store may remove it; None: it is pending

    @property
    def is_pending(self) -> bool:
        return self.sent_at is None and not self.given_up


def next_attempt(notification: Notification, failure: NotSent, now: datetime) -> datetime | None:
    """When to try again after a failure now; None: give up."""
    if not failure.retryable or notification.attempts + 1 >= MOST_ATTEMPTS:
        return None
    seconds = RETRIES.delay(notification.attempts + 1, retry_after=failure.retry_after)
    return now + timedelta(seconds=seconds)


def sent(notification: Notification, *, at: datetime, expires_at: datetime) -> Notification:
    """Unchanged unless it is pending."""
    if not notification.is_pending:
        return notification
    return replace(
        notification,
        attempts=notification.attempts + 1,
        error=None,
        sent_at=at,
        expires_at=expires_at,
    )


def failed(
    notification: Notification, *, error: str, retry_at: datetime | None, expires_at: datetime
) -> Notification:
    """Due again at `retry_at`, or given up without one. Unchanged unless it is pending."""
    if not notification.is_pending:
        return notification
    tried = replace(notification, attempts=notification.attempts + 1, error=error)
    if retry_at is None:
        return replace(tried, given_up=True, expires_at=expires_at)
    return replace(tried, due_at=retry_at)
