from __future__ import annotations

import random


def jitter() -> float:
    """A random number from 0 to 1, to spread retries and schedules."""
    return random.random()  # noqa: S311 - not a secret
