"""Rate-limited logging of what clients do: the first event at once, then one line per minute."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter

log = logging.getLogger(__name__)

SECONDS = 60.0
MOST_CLIENTS = 10_000
MOST_NAMED = 10  # clients in one line


class ClientLog:
    def __init__(self, message: str) -> None:
        self._message = message
        self._counts: Counter[str] = Counter()  # since the last line
        self._others = 0  # of clients beyond those that are counted
        self._timer: asyncio.TimerHandle | None = None

    def note(self, client: str) -> None:
        if self._timer is None:
            log.warning(self._message, extra={"client": client})
            self._wait()
        elif client in self._counts or len(self._counts) < MOST_CLIENTS:
            self._counts[client] += 1
        else:
            self._others += 1

    def _wait(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(SECONDS, self.flush)

    def flush(self) -> None:
        """Log what has been counted, if anything."""
        self._timer = None
        if not self._counts:
            return
        counts = {
            "times": self._counts.total() + self._others,
            "clients": len(self._counts),
            "most_from": dict(self._counts.most_common(MOST_NAMED)),
        }
        log.warning(self._message, extra=counts)
        self._counts.clear()
        self._others = 0
        self._wait()
