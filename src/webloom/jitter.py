from __future__ import annotations

import random


def jitter() -> float:
    """From 0 to 1, so that what happens together does not happen together again."""
    return random.random()  # noqa: S311 - not a secret
