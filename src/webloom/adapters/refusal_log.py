"""What the gate refuses: counted by reason, and logged within bounds.

The log has what the caller must not see: the address that a name leads to. It names hosts only, as
the rest of a URL may be a secret.
"""

from __future__ import annotations

import asyncio
import logging

from webloom.domain.network_policy import Refusal, RefusalReason

log = logging.getLogger(__name__)

MOST_LINES = 20  # in so many seconds; more are counted and told in one line
SECONDS = 60.0


class RefusalLog:
    """One for a process; used on its event loop."""

    def __init__(self, *, most_lines: int = MOST_LINES, seconds: float = SECONDS) -> None:
        self._most_lines = most_lines
        self._seconds = seconds
        self._counts = dict.fromkeys(RefusalReason, 0)
        self._lines = 0  # since the last summary
        self._untold = 0
        self._summary: asyncio.TimerHandle | None = None

    def counts(self) -> dict[str, int]:
        """Since the process started, by reason."""
        return {reason.value: count for reason, count in self._counts.items()}

    def note(self, refusal: Refusal, *, host: str, address: str, port: int) -> None:
        self._counts[refusal.reason] += 1
        if self._summary is None:
            self._summary = asyncio.get_running_loop().call_later(self._seconds, self._summarise)
        if self._lines >= self._most_lines:
            self._untold += 1
            return
        self._lines += 1
        log.warning(
            "refused a connection",
            extra={
                "host": host,
                "address": address,
                "port": port,
                "reason": refusal.reason.value,
                "detail": refusal.detail,
            },
        )

    def _summarise(self) -> None:
        self._summary = None
        if self._untold:
            told = {"connections": self._untold, "seconds": self._seconds}
            log.warning("refused more connections than are logged one by one", extra=told)
        self._lines = self._untold = 0
