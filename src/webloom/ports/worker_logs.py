from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from webloom.domain.worker_log import Level, LogEntry


@dataclass(frozen=True, kw_only=True, slots=True)
class LogFilter:
    level: Level = Level.INFO  # this one and those above it
    role: str | None = None
    since: datetime | None = None


class WorkerLogs(Protocol):
    """Log entries of all processes. Raises StoreUnavailable."""

    async def add(self, entries: Sequence[LogEntry]) -> None:
        """Store entries of one process, in their order. A repeated call stores them twice. At most
        `MOST_STORED` stay, and a tenth more for a while; the oldest go. Raises StoreFull."""

    async def entries(
        self, chosen: LogFilter, *, limit: int, cursor: str | None = None
    ) -> tuple[list[LogEntry], str | None]:
        """The latest first, and the cursor of the next page. Expired entries are not shown. Raises
        BadCursor."""
