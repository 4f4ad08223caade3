"""Leases, and what an attempt means for a notification; without a store."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from webloom.domain.lease import Lease, acquired, released
from webloom.domain.notification import Notification, failed, sent

NOW = datetime(2026, 5, 1, tzinfo=UTC)
LATER, EXPIRY = NOW + timedelta(hours=1), NOW + timedelta(days=14)
PENDING = Notification(
    notification_id="n",
    watch_id="w",
    target_url="json://hook.example/",
    run_id="r",
    due_at=NOW,
    attempts=2,
    error="away",
)


def test_a_notification_that_was_sent_stays_sent() -> None:
    done = sent(PENDING, at=NOW, expires_at=EXPIRY)
    expected = replace(PENDING, attempts=3, error=None, sent_at=NOW, expires_at=EXPIRY)
    assert (done, done.is_pending) == (expected, False)
    assert sent(done, at=LATER, expires_at=LATER) is done
    assert failed(done, error="no", retry_at=LATER, expires_at=LATER) is done


def test_a_failed_notification_is_due_again_or_given_up() -> None:
    again = failed(PENDING, error="busy", retry_at=LATER, expires_at=EXPIRY)
    assert again == replace(PENDING, attempts=3, error="busy", due_at=LATER)
    given_up = failed(again, error="gone", retry_at=None, expires_at=EXPIRY)
    assert (given_up.given_up, given_up.is_pending, given_up.expires_at) == (True, False, EXPIRY)
    assert (given_up.attempts, given_up.due_at) == (4, LATER)
    assert sent(given_up, at=LATER, expires_at=LATER) is given_up


def test_a_lease_and_its_fencing_token() -> None:
    taken = acquired(None, "a", now=1.0, until=5.0)
    assert taken == Lease("a", 1, 5.0)
    assert acquired(taken, "b", now=4.0, until=9.0) is None
    assert acquired(taken, "a", now=4.0, until=9.0) == Lease("a", 1, 9.0)
    assert acquired(taken, "a", now=5.0, until=9.0) == Lease("a", 2, 9.0), "it had expired"
    assert acquired(taken, "b", now=5.0, until=9.0) == Lease("b", 2, 9.0)
    assert released(taken, "b") is taken
    free = released(taken, "a")
    assert acquired(free, "b", now=2.0, until=9.0) == Lease("b", 2, 9.0)
    assert released(None, "a") is None
