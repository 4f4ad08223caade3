"""The minimum rate at which a server has to send a body."""

from __future__ import annotations

import math

RATE_WINDOW = 30.0  # seconds over which the rate is measured
USUAL_MIN_RATE = 1024  # bytes per second


class TransferRate:
    """Measures one transfer in consecutive windows, on the caller's clock.

    A window below the `minimum` rate ends the transfer. An incomplete window does not count, so a
    body that ends within the first is never refused.
    """

    def __init__(self, minimum: float, *, now: float, window: float = RATE_WINDOW) -> None:
        """`minimum`: bytes per second, 0 for none."""
        self.minimum = minimum
        self.window = window
        self._ends = now + window  # the current window
        self._bytes = 0  # received in it
        self._paused_at: float | None = None

    @property
    def deadline(self) -> float:
        """When the transfer is too slow, unless more arrives before."""
        if self.minimum <= 0 or self._paused_at is not None:
            return math.inf
        return self._ends + self.window if self._is_enough else self._ends

    def received(self, count: int, now: float) -> None:
        """May be called after the deadline, if the caller was busy: that is not the server's
        fault."""
        if now >= self._ends:
            self._ends += self.window * (1 + (now - self._ends) // self.window)
            self._bytes = 0
        self._bytes += count

    def pause(self, now: float) -> None:
        """The caller reads nothing until `resume`."""
        if self._paused_at is None:
            self._paused_at = now

    def resume(self, now: float) -> None:
        if self._paused_at is not None:
            self._ends += now - self._paused_at
            self._paused_at = None

    def failure(self, now: float) -> str | None:
        """What was too slow, once the deadline has passed."""
        if now < self.deadline:
            return None
        sent = 0 if self._is_enough else self._bytes  # enough came in the window before this one
        return (
            f"the server sent {sent} byte{'' if sent == 1 else 's'} in {self.window:g} s, less "
            f"than {_shown(self.minimum)} (WEBLOOM_MIN_RATE)"
        )

    @property
    def _is_enough(self) -> bool:
        return self._bytes >= self.minimum * self.window


def _shown(rate: float) -> str:
    return f"{rate / 1024:g} KB/s" if rate >= 1024 else f"{rate:g} bytes/s"
