"""Resources that this process waits for because it, or its machine, has run out of them.

Descriptors, ports, processes and memory belong to the whole process, and so does this state.
"""

from __future__ import annotations

import logging
import time

from webloom.domain.errors import Exhausted

log = logging.getLogger(__name__)

QUIET_SECONDS = 60.0  # between two log lines; a shortage may come and go many times


class Shortage:
    def __init__(self) -> None:
        self._waiting: dict[object, Exhausted] = {}  # waiting work -> what is missing
        self._logged_at = float("-inf")

    @property
    def reason(self) -> Exhausted | None:
        """None: nothing waits."""
        return next(iter(self._waiting.values()), None)

    def begin(self, work: object, reason: Exhausted) -> None:
        """This work has to wait. A repeat changes nothing."""
        is_new = not self._waiting
        self._waiting.setdefault(work, reason)
        if is_new and time.monotonic() - self._logged_at >= QUIET_SECONDS:
            self._logged_at = time.monotonic()
            log.warning("waiting for resources of this machine", extra={"error": str(reason)})

    def end(self, work: object) -> None:
        """The work is done, or no longer wanted."""
        if self._waiting.pop(work, None) is not None and not self._waiting:
            log.info("the resources of this machine are enough again")


shortage = Shortage()
