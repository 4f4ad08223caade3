"""What a price did, in one line."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

_BARS = "▁▂▃▄▅▆▇█"


def price_curve(amounts: Sequence[Decimal]) -> str:
    """One bar for each, in the order given; the lowest is the least high."""
    low, high = min(amounts), max(amounts)
    span = high - low or Decimal(1)
    return "".join(_BARS[int((each - low) / span * (len(_BARS) - 1))] for each in amounts)
