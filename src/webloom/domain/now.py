from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Now(Protocol):
    """The time at which something is decided."""

    @property
    def wall(self) -> datetime:
        """The wall clock."""

    @property
    def expiry(self) -> datetime:
        """The store's own clock."""

    @property
    def timeline(self) -> float:
        """Seconds on the clock of leases."""
