"""Schedules: an interval in minutes, or a cron expression in a time zone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from webloom.domain.backoff import Backoff

SHORTEST_MINUTES, LONGEST_MINUTES = 0.05, 525_600.0
MOST_JITTER = 300.0  # seconds
LONGEST_BACKOFF = timedelta(hours=24)
LONGEST_CRON = 200
MANY_FAILURES = 100  # in a row; more do not delay the next run further

# (expression, time zone, after) -> the next time that matches, in UTC: the port `Cron`.
NextMatch = Callable[[str, str, datetime], datetime]


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule:
    every_minutes: float | None = None
    cron: str | None = None  # five fields; either this or `every_minutes`
    time_zone: str = "UTC"  # for `cron`

    @property
    def words(self) -> str:
        if self.cron is not None:
            return f"{self.cron} {self.time_zone}"
        return f"every {self.every_minutes:g} min"

    def refuse_bad(self, next_match: NextMatch) -> None:
        """Raises ValueError, whose text says what is wrong."""
        if (self.every_minutes is None) == (self.cron is None):
            raise ValueError("a schedule has either an interval or a cron line")
        if self.cron is not None and len(self.cron) > LONGEST_CRON:
            raise ValueError(f"cron: longer than {LONGEST_CRON} characters")
        minutes = self.every_minutes
        if minutes is not None and not SHORTEST_MINUTES <= minutes <= LONGEST_MINUTES:
            raise ValueError(
                f"an interval of {minutes:g} minutes; "
                f"{SHORTEST_MINUTES:g} to {LONGEST_MINUTES:.0f} is possible"
            )
        self.next_after(datetime(2026, 1, 1, tzinfo=UTC), next_match)

    def next_after(self, moment: datetime, next_match: NextMatch) -> datetime:
        """In UTC, later than `moment`. Raises ValueError as `refuse_bad` does."""
        if self.cron is None:
            return moment + timedelta(minutes=self.every_minutes or 0.0)
        return next_match(self.cron, self.time_zone, moment)


def next_due(
    now: datetime,
    interval: timedelta,
    *,
    failures: int,
    jitter: float,
    retry_after: float | None = None,
) -> datetime:
    """The time of the next run, after `failures` failed runs in a row.

    The interval doubles with each of them, up to a day; it is never given up. `jitter`, from 0 to
    1, is the caller's randomness; `retry_after` the seconds that a server asked for.
    """
    longest = max(LONGEST_BACKOFF, interval).total_seconds()
    backoff = Backoff(base=interval.total_seconds(), cap=longest, longest_retry_after=longest)
    wait = backoff.delay(failures + 1, retry_after=retry_after)
    return now + timedelta(seconds=wait + jitter * min(wait / 10, MOST_JITTER))


def restored_due(before: datetime, now: datetime, *, latest: datetime | None) -> datetime | None:
    """When something is due again that was due at `before`: at once if that has passed meanwhile.
    `latest` is the time after MANY_FAILURES; None: it is paused."""
    return None if latest is None else max(now, min(before, latest))
