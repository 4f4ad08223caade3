"""Cron expressions, evaluated by cronsim."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

_SHORTHANDS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_FIELDS = {  # as cronsim names them, in their order
    "minute": "0 to 59",
    "hour": "0 to 23",
    "day-of-month": "1 to 31, in a month that has it",
    "month": "1 to 12, or jan to dec",
    "day-of-week": "0 to 7, or sun to sat",
}
# Debian's cron takes 5-5/20 as 5, cronsim as 5/20.
_ONE_VALUE_WITH_STEP = re.compile(r"\b(\w+)-\1/0*[1-9]\d*\b")


def next_match(expression: str, time_zone: str, after: datetime) -> datetime:
    """Implements the port `Cron`."""
    fields = _SHORTHANDS.get(expression.strip().lower(), expression).split()
    if len(fields) != len(_FIELDS):  # cronsim would take a sixth as seconds
        raise ValueError(
            f"cron: {expression!r} has {len(fields)} fields; "
            "it needs five: minute, hour, day of month, month, day of week"
        )
    plain = _ONE_VALUE_WITH_STEP.sub(r"\1", " ".join(fields))
    try:
        for match in CronSim(plain, after.astimezone(_zone(time_zone))):
            due = match.astimezone(UTC)
            if due > after:  # in an hour that comes again, cronsim starts from the first one
                return due
    except CronSimError as error:
        raise ValueError(f"cron: {_reason(str(error), fields)}") from error
    raise ValueError(f"cron: {expression!r} is never due")


def _reason(error: str, fields: list[str]) -> str:
    """`Bad minute` with the invalid value."""
    name = error.removeprefix("Bad ")
    for field, (known, values) in zip(fields, _FIELDS.items(), strict=True):
        if name == known:
            return f"{field!r} is not a valid {name.replace('-', ' ')} ({values})"
    return error


@lru_cache(maxsize=1000)
def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise ValueError(f"time zone: {name!r} is not known; for instance Europe/Paris") from error
