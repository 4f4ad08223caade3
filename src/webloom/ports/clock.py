from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The wall clock, UTC-aware. It may jump in either direction."""

    def steady(self) -> float:
        """Seconds on a clock that only goes forward, the same for every process of this machine
        until it restarts. It counts while the machine sleeps."""

    def boot_id(self) -> str:
        """Changes when `steady` restarts."""
