"""Refused connections: counted by reason, and logged with a rate limit.

The log has what the caller must not see: the address of a host name. It has the host only, because
the rest of a URL may be a secret.
"""

from __future__ import annotations

import asyncio
import logging

from webloom.domain.network_policy import Refusal, RefusalReason

log = logging.getLogger(__name__)

MOST_LINES = 20  # per period; the rest is summarised in one line
SECONDS = 60.0


class RefusalLog:
    """One per process; used on its event loop."""

    def __init__(self, *, most_lines: int = MOST_LINES, seconds: float = SECONDS) -> None:
        self._most_lines = most_lines
        self._seconds = seconds
        self._counts = dict.fromkeys(RefusalReason, 0)
        self._lines = 0  # since the last summary
        self._unlogged = 0
        self._summary: asyncio.TimerHandle | None = None

    def counts(self) -> dict[str, int]:
        """Since the process started, by reason."""
        return {reason.value: count for reason, count in self._counts.items()}

    def note(self, refusal: Refusal, *, host: str, address: str, port: int) -> None:
        self._counts[refusal.reason] += 1
        if self._summary is None:
            self._summary = asyncio.get_running_loop().call_later(self._seconds, self._summarise)
        if self._lines >= self._most_lines:
            self._unlogged += 1
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
        if self._unlogged:
            fields = {"connections": self._unlogged, "seconds": self._seconds}
            log.warning("refused more connections than are logged one by one", extra=fields)
        self._lines = self._unlogged = 0
