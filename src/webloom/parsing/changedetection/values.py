"""Values of changedetection.io's JSON, which has other types in other versions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from webloom.domain.names import is_control

MOST_TEXTS = 200  # of one list
LONGEST_TEXT = 4000

_SECONDS = {"weeks": 604_800, "days": 86_400, "hours": 3600, "minutes": 60, "seconds": 1}


def text(value: object) -> str:
    """On one line; empty if it is not a text."""
    return " ".join(value[:LONGEST_TEXT].split()) if isinstance(value, str) else ""


def shown(value: object) -> str:
    """As a name or the detail of a note."""
    kept = (each for each in text(value) if not is_control(each))
    return "".join(kept)[:200].strip()


def texts(value: object) -> list[str]:
    """A list, or a text of several lines."""
    given = value.splitlines() if isinstance(value, str) else value
    if not isinstance(given, list):
        return []
    found = (each[:LONGEST_TEXT].strip() for each in given[:MOST_TEXTS] if isinstance(each, str))
    return [each for each in found if each]


def mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def minutes(value: object) -> float | None:
    """Of an interval in weeks, days, hours, minutes and seconds; None: there is none."""
    parts = mapping(value)
    seconds = sum(_number(parts.get(unit)) * each for unit, each in _SECONDS.items())
    return seconds / 60 if 0 < seconds < math.inf else None


def amount(value: object) -> Decimal | None:
    """Above 0; None: there is none."""
    try:
        found = Decimal(str(value)) if isinstance(value, int | float | str) else None
    except InvalidOperation:
        return None
    if isinstance(value, bool) or found is None or not found.is_finite() or found <= 0:
        return None
    return found


def _number(value: object) -> float:
    try:
        found = float(value) if isinstance(value, int | float | str) else 0.0
    except (ValueError, OverflowError):
        return 0.0
    return found if math.isfinite(found) and found > 0 else 0.0
