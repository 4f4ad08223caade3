from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Cron(Protocol):
    def __call__(self, expression: str, time_zone: str, after: datetime) -> datetime:
        """The first time later than `after` that matches five fields or a shorthand such as
        `@daily`, in UTC.

        Clock changes, as in Debian's cron: an expression whose minute or hour starts with `*`
        follows the clock, through both hours when one comes twice. Any other matches once: the
        first of two equal local times, or right after the gap if its local time is skipped.

        Raises ValueError with a sentence about what is wrong with the expression or the time zone.
        """
