"""When something is due: every so many minutes, or as a cron line says in a time zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

SHORTEST_MINUTES, LONGEST_MINUTES = 0.05, 525_600.0
LONGEST_CRON = 200
_SEARCHED_DAYS = 366 * 9  # 29 February may be eight years away

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_SHORTHANDS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    low: int
    high: int
    words: tuple[str, ...] = ()


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of week", 0, 7, _DAYS),
)


@dataclass(frozen=True, slots=True)
class _Cron:
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]  # 0 is Sunday
    any_day: bool  # `*` in the day of month
    any_weekday: bool

    def has_day(self, day: datetime) -> bool:
        """As cron has it: where both days are restricted, either will do."""
        if day.month not in self.months:
            return False
        in_month, in_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        if self.any_day or self.any_weekday:
            return in_month and in_week
        return in_month or in_week


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule:
    every_minutes: float | None = None
    cron: str | None = None  # five fields; either this or `every_minutes`
    time_zone: str = "UTC"  # in which `cron` is meant

    def refuse_bad(self) -> None:
        """Raises ValueError with a sentence that says what is wrong."""
        if (self.every_minutes is None) == (self.cron is None):
            raise ValueError("a schedule has either an interval or a cron line")
        if self.every_minutes is not None:
            if not SHORTEST_MINUTES <= self.every_minutes <= LONGEST_MINUTES:
                raise ValueError(
                    f"an interval of {self.every_minutes:g} minutes; "
                    f"{SHORTEST_MINUTES:g} to {LONGEST_MINUTES:.0f} is possible"
                )
            return
        _zone(self.time_zone)
        self.next_after(datetime(2026, 1, 1, tzinfo=UTC))

    def next_after(self, moment: datetime) -> datetime:
        """In UTC, later than `moment`. A local time that a clock change skips is made up for right
        behind it; one that comes twice counts once. Raises ValueError as `refuse_bad` does."""
        if self.cron is None:
            return moment + timedelta(minutes=self.every_minutes or 0.0)
        line = _parsed(self.cron)
        zone = _zone(self.time_zone)
        start = moment.astimezone(zone)
        day = start.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
        for _ in range(_SEARCHED_DAYS):
            if line.has_day(day):
                for hour in sorted(line.hours):
                    for minute in sorted(line.minutes):
                        local = day.replace(hour=hour, minute=minute, tzinfo=zone)
                        due = local.astimezone(UTC)
                        if due > moment:
                            return due
            day += timedelta(days=1)
        raise ValueError(f"cron: {self.cron!r} is never due")


@lru_cache(maxsize=1000)
def _parsed(text: str) -> _Cron:
    if len(text) > LONGEST_CRON:
        raise ValueError(f"cron: longer than {LONGEST_CRON} characters")
    parts = _SHORTHANDS.get(text.strip().lower(), text).split()
    if len(parts) != len(_FIELDS):
        raise ValueError(
            f"cron: {text!r} has {len(parts)} fields; "
            "five are wanted: minute, hour, day of month, month, day of week"
        )
    minutes, hours, days, months, weekdays = (
        _values(part.lower(), field) for part, field in zip(parts, _FIELDS, strict=True)
    )
    return _Cron(
        minutes=minutes,
        hours=hours,
        days=days,
        months=months,
        weekdays=frozenset(day % 7 for day in weekdays),
        any_day=parts[2].startswith("*"),
        any_weekday=parts[4].startswith("*"),
    )


def _values(text: str, field: _Field) -> frozenset[int]:
    values: set[int] = set()
    for part in text.split(","):
        span, slash, step_text = part.partition("/")
        step = _number(step_text, field, text) if slash else 1
        if step < 1:
            raise ValueError(f"cron: {text!r} is no {field.name}: a step is 1 or more")
        if span == "*":
            low, high = field.low, field.high
        else:
            first, dash, last = span.partition("-")
            low = _value(first, field, text)
            high = _value(last, field, text) if dash else (field.high if slash else low)
        if low > high:
            raise ValueError(f"cron: {text!r} is no {field.name}: {span} goes backwards")
        values.update(range(low, high + 1, step))
    return frozenset(values)


def _value(text: str, field: _Field, whole: str) -> int:
    if text in field.words:
        return field.words.index(text) + field.low
    number = _number(text, field, whole)
    if not field.low <= number <= field.high:
        raise ValueError(
            f"cron: {whole!r} is no {field.name}, which goes from {field.low} to {field.high}"
        )
    return number


def _number(text: str, field: _Field, whole: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 4):
        raise ValueError(f"cron: {whole!r} is no {field.name}")
    return int(text)


@lru_cache(maxsize=1000)
def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise ValueError(f"time zone: {name!r} is not known; for instance Europe/Paris") from error
