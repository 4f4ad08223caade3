from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path


class SystemClock:
    def __init__(self) -> None:
        try:
            self._boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
            self._source = time.CLOCK_BOOTTIME
        except (OSError, AttributeError):  # not Linux: the wall clock must do
            self._boot_id = "wall"
            self._source = time.CLOCK_REALTIME

    def now(self) -> datetime:
        return datetime.now(UTC)

    def steady(self) -> float:
        return time.clock_gettime(self._source)

    def boot_id(self) -> str:
        return self._boot_id
