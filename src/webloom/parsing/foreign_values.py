"""Values as other programs write them: a number may be a fraction, a date may be a string."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime

LONGEST_TEXT = 2000
_MILLISECONDS = 1000


def number_of(value: object) -> int:
    """0 if it is not a number."""
    if isinstance(value, int | float):
        with suppress(ValueError, OverflowError):  # not a number, infinite
            return int(value)
    return 0


def moment_of(value: object) -> datetime | None:
    """Of a BSON date, an ISO 8601 string, or milliseconds since 1970; None: it is none of these."""
    with suppress(ValueError, OverflowError, OSError):
        if isinstance(value, datetime):
            return value if value.tzinfo else value.replace(tzinfo=UTC)
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / _MILLISECONDS, UTC)
    return None


def text_of(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value[:LONGEST_TEXT]
    return json.dumps(value, default=str, ensure_ascii=False)[:LONGEST_TEXT]
