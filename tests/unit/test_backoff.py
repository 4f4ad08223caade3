"""How long everything that is tried again waits."""

from __future__ import annotations

import pytest

from webloom.adapters.rabbitmq import connection as rabbitmq
from webloom.adapters.sqlite import connecting as sqlite
from webloom.application import retrying
from webloom.domain import notification
from webloom.domain.backoff import RECONNECT, Backoff
from webloom.domain.retry import fetch_backoff
from webloom.entrypoints.cli import submit
from webloom.jitter import jittered

# The place; the shortest delays after 1, 2, 3 and 1000 failures; the longest one of all.
DELAYS = [
    (fetch_backoff(2.0), [2, 8, 32, 300], 450, "a URL is fetched again"),
    (notification.RETRIES, [60, 120, 240, 21_600], 21_600, "a notification is sent again"),
    (retrying.SERVER_AWAY, [0.25, 0.5, 1, 15], 45, "a store or broker is away"),
    (retrying.RESOURCES_EXHAUSTED, [0.25, 0.5, 1, 2.5], 7.5, "resources are exhausted"),
    (submit.QUEUE_FULL, [0.1, 0.2, 0.4, 2], 2, "the queue is full"),
    (RECONNECT, [0.5, 1, 2, 15], 30, "Redis, MongoDB or RabbitMQ is away"),
    (sqlite.LOCKED, [0.0002, 0.00024, 0.000288, 0.01], 0.01, "another process has the file"),
]


@pytest.mark.parametrize(
    ("backoff", "shortest", "longest"),
    [row[:3] for row in DELAYS],
    ids=[row[3] for row in DELAYS],
)
def test_how_long_each_place_waits(backoff: Backoff, shortest: list[float], longest: float) -> None:
    assert [backoff.delay(each) for each in (1, 2, 3, 1000)] == pytest.approx(shortest)
    assert backoff.delay(1000, jitter=1.0) == pytest.approx(longest)


def test_a_pause_that_does_not_grow_varies_by_half() -> None:
    pauses = [jittered(30.0) for _ in range(1000)]
    assert 15 <= min(pauses) < 20 < 40 < max(pauses) <= 45
    assert jittered(0.0) == 0.0


def test_rabbitmq_is_tried_once_more_at_once() -> None:
    assert rabbitmq.pause(1) == 0.1
    assert 0.5 <= rabbitmq.pause(2) <= 1.0
