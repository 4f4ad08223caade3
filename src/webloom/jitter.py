from __future__ import annotations

import random

from webloom.domain.backoff import Backoff


def jitter() -> float:
    """A random number from 0 to 1, to spread retries and schedules."""
    return random.random()  # noqa: S311 - not a secret


def jittered(seconds: float) -> float:
    """About as many, for a pause that does not grow."""
    return Backoff(base=seconds, cap=seconds, jitter=(0.5, 1.5)).delay(1, jitter=jitter())
