"""When something is due: every so many minutes, or as a cron expression says in a time zone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

SHORTEST_MINUTES, LONGEST_MINUTES = 0.05, 525_600.0
LONGEST_CRON = 200

# (expression, time zone, after) -> the next time that matches, in UTC: the port `Cron`.
NextMatch = Callable[[str, str, datetime], datetime]


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule:
    every_minutes: float | None = None
    cron: str | None = None  # five fields; either this or `every_minutes`
    time_zone: str = "UTC"  # for `cron`

    def refuse_bad(self, next_match: NextMatch) -> None:
        """Raises ValueError with a sentence that says what is wrong."""
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
