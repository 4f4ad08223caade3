"""How long everything that is tried again waits."""

from __future__ import annotations

import pytest

from webloom.adapters.bullmq import server as bullmq
from webloom.adapters.mongodb import client as mongodb
from webloom.adapters.rabbitmq import connection as rabbitmq
from webloom.adapters.sqlite import connecting as sqlite
from webloom.application import retrying
from webloom.domain import notification
from webloom.domain.backoff import Backoff
from webloom.domain.retry import fetch_backoff
from webloom.entrypoints.cli import submit

# The place; the shortest delays after 1, 2, 3 and 1000 failures; the longest one of all.
DELAYS = [
    (fetch_backoff(2.0), [2, 8, 32, 300], 450, "a URL is fetched again"),
    (notification.RETRIES, [60, 120, 240, 21_600], 21_600, "a notification is sent again"),
    (retrying.SERVER_AWAY, [0.25, 0.5, 1, 15], 45, "a store or broker is away"),
    (retrying.RESOURCES_EXHAUSTED, [0.25, 0.5, 1, 2.5], 7.5, "resources are exhausted"),
    (submit.QUEUE_FULL, [0.1, 0.2, 0.4, 2], 2, "the queue is full"),
    (bullmq.RECONNECT, [0.5, 1, 2, 15], 30, "Redis is away"),
    (mongodb.RECONNECT, [0.8, 1.6, 3.2, 24], 36, "MongoDB is away"),
    (rabbitmq.RECONNECT, [0.5, 1, 2, 15], 30, "RabbitMQ is away"),
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


def test_rabbitmq_is_tried_once_more_at_once() -> None:
    assert rabbitmq.pause(1) == 0.1
    assert 0.5 <= rabbitmq.pause(2) <= 1.0
