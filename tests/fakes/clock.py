from __future__ import annotations

from datetime import UTC, datetime, timedelta

NOON = datetime(2026, 3, 1, 12, 0, 0, 123_000, tzinfo=UTC)


class FakeClock:
    """A Clock that stands still until a test moves it; wall and steady clock move apart."""

    def __init__(self, now: datetime = NOON, steady: float = 5000.0) -> None:
        self._now = now
        self._steady = steady
        self._boot_id = "first boot"

    def now(self) -> datetime:
        return self._now

    def steady(self) -> float:
        return self._steady

    def boot_id(self) -> str:
        return self._boot_id

    def advance(self, seconds: float) -> None:
        """Time passes, on both clocks."""
        self.jump_wall(seconds)
        self._steady += seconds

    def jump_wall(self, seconds: float) -> None:
        """The wall clock is set; no time passes."""
        self._now += timedelta(seconds=seconds)

    def restart_machine(self) -> None:
        """The steady clock starts again from near zero, as after a boot."""
        self._boot_id += " and another"
        self._steady = 1.0
