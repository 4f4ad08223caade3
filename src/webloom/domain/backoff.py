"""How long to wait before something that failed is tried again."""

from __future__ import annotations

from dataclasses import dataclass

_STEPS = 60  # past which a delay grows no further, so that no number overflows


@dataclass(frozen=True, kw_only=True, slots=True)
class Backoff:
    """Exponential, capped, with jitter."""

    base: float  # seconds after the first failure
    cap: float  # seconds; jitter may go beyond
    factor: float = 2.0
    jitter: tuple[float, float] = (1.0, 1.0)  # bounds of what a delay is multiplied by
    longest_retry_after: float = 0.0  # seconds; what a server asks for beyond is not waited

    def delay(
        self, failures: int, *, jitter: float = 0.0, retry_after: float | None = None
    ) -> float:
        """Seconds to wait after that many failures in a row.

        `jitter`, from 0 to 1, is the caller's randomness. `retry_after` is what a server asked for:
        the delay is not shorter.
        """
        grown = min(self.base * self.factor ** min(max(failures - 1, 0), _STEPS), self.cap)
        low, high = self.jitter
        requested = min(retry_after or 0.0, self.longest_retry_after)
        return max(grown * (low + (high - low) * jitter), requested)


RECONNECT = Backoff(base=1.0, cap=30.0, jitter=(0.5, 1.0))  # to a server
