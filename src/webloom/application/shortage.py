"""What this process waits for because the machine, or its own limits, have run out of it.

Descriptors, ports, processes and memory are the process's, not those of one piece of work: so is
what is known of them.
"""

from __future__ import annotations

import logging
import time

log = logging.getLogger(__name__)

QUIET_SECONDS = 60.0  # between two lines; one outage may come and go many times


class Shortage:
    def __init__(self) -> None:
        self._waiting: dict[object, str] = {}  # what is waited with -> what is missing
        self._logged_at = float("-inf")

    @property
    def reason(self) -> str | None:
        """What is missing and what to do about it; None: nothing waits now."""
        return next(iter(self._waiting.values()), None)

    def begin(self, work: object, reason: str) -> None:
        """It can't be done now. Repeated for the same work, it changes nothing."""
        is_new = not self._waiting
        self._waiting.setdefault(work, reason)
        if is_new and time.monotonic() - self._logged_at >= QUIET_SECONDS:
            self._logged_at = time.monotonic()
            log.warning("waiting for resources of this machine", extra={"error": reason})

    def end(self, work: object) -> None:
        """It was done, or is not wanted any more."""
        if self._waiting.pop(work, None) is not None and not self._waiting:
            log.info("the resources of this machine are enough again")


shortage = Shortage()
