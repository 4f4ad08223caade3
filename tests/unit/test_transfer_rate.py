from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webloom.domain.transfer_rate import TransferRate

KILOBYTE, WINDOW = 1024, 30.0


def rate(minimum: float = KILOBYTE) -> TransferRate:
    return TransferRate(minimum, now=100.0, window=WINDOW)


def test_a_transfer_that_sends_too_little_is_ended_with_the_window() -> None:
    slow = rate()
    for second in range(30):
        slow.received(1, 100.0 + second)
    assert slow.deadline == 130.0
    assert slow.failure(129.9) is None
    assert slow.failure(130.0) == (
        "the server sent 30 bytes in 30 s, less than 1 KB/s (WEBLOOM_MIN_RATE)"
    )


def test_a_transfer_at_the_minimum_continues() -> None:
    steady = rate()
    for second in range(300):
        assert steady.deadline > 100.0 + second
        steady.received(KILOBYTE, 100.0 + second)


def test_one_that_becomes_slow_is_ended_with_a_later_window() -> None:
    fading = rate()
    fading.received(KILOBYTE * 30, 129.0)
    assert fading.deadline == 160.0, "the window after the one in which enough came"
    assert fading.failure(160.0) == (
        "the server sent 0 bytes in 30 s, less than 1 KB/s (WEBLOOM_MIN_RATE)"
    )
    fading.received(1, 131.0)
    assert fading.deadline == 160.0
    assert "sent 1 byte in" in (fading.failure(160.0) or "")


def test_what_came_too_much_in_one_window_does_not_count_in_the_next() -> None:
    burst = rate()
    burst.received(KILOBYTE * 10_000, 101.0)
    burst.received(5, 135.0)
    assert burst.deadline == 160.0


def test_our_own_time_is_not_the_servers() -> None:
    waiting = rate()
    waiting.received(10, 110.0)
    waiting.pause(111.0)
    waiting.pause(500.0)
    assert (waiting.deadline, waiting.failure(1e9)) == (math.inf, None)
    waiting.resume(1111.0)
    assert waiting.deadline == 1130.0
    waiting.resume(2000.0)
    assert waiting.deadline == 1130.0


def test_what_is_seen_late_begins_a_window_that_is_not_over() -> None:
    late = rate()
    late.received(1, 1000.0)
    assert 1000.0 < late.deadline <= 1030.0


def test_without_a_minimum_nothing_is_too_slow() -> None:
    assert (rate(0).deadline, rate(0).failure(1e9)) == (math.inf, None)


@pytest.mark.parametrize(("minimum", "shown"), [(1536, "1.5 KB/s"), (100, "100 bytes/s")])
def test_the_reason_says_what_the_setting_is(minimum: float, shown: str) -> None:
    assert f"less than {shown} (" in (rate(minimum).failure(130.0) or "")


@given(st.lists(st.floats(0.0, 29.9), max_size=20))
def test_a_body_that_ends_within_the_first_window_is_never_refused(moments: list[float]) -> None:
    small = rate()
    for moment in sorted(moments):
        assert small.deadline > 100.0 + moment
        small.received(1, 100.0 + moment)
