from __future__ import annotations

import logging
import time

from webloom.domain.errors import Exhausted, StoreFull

log = logging.getLogger(__name__)

PRUNED_FROM, PRUNED_TO = 0.80, 0.75  # of the limit


class Room:
    """See ports/room.py. `limit` is in bytes, for the whole database; None: no limit."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self._size = 0
        self._measured_at = float("-inf")
        self._refusal: Exhausted | None = None

    @property
    def full(self) -> Exhausted | None:
        return self._refusal or self._beyond_limit()

    @property
    def is_scarce(self) -> bool:
        return self._refusal is not None or self.excess > 0

    def is_measured(self, within: float) -> bool:
        """Also if there is no limit."""
        return self.limit is None or time.monotonic() - self._measured_at < within

    @property
    def excess(self) -> int:
        """Bytes that pruning should free to stay below the limit."""
        if self.limit is None or self._size <= PRUNED_FROM * self.limit:
            return 0
        return int(self._size - PRUNED_TO * self.limit)

    def check(self, share: float = 1.0) -> None:
        """Before a write that needs space. Raises StoreFull if that share of the limit is used."""
        if (reason := self._beyond_limit(share)) is not None:
            raise StoreFull(reason)

    def note_size(self, size: int) -> None:
        """Of the whole database."""
        before, self._size = self._beyond_limit(), size
        self._measured_at = time.monotonic()
        if before is None and (reason := self._beyond_limit()) is not None:
            log.warning("the database has reached its limit", extra={"error": str(reason)})

    def note_refusal(self, reason: Exhausted) -> None:
        """A write was refused for lack of space."""
        if self._refusal is None:
            log.warning("the database is full", extra={"error": str(reason)})
        self._refusal = reason

    def note_written(self) -> None:
        """A write that needs space succeeded."""
        if self._refusal is not None:
            log.info("the database has room again")
        self._refusal = None

    def _beyond_limit(self, share: float = 1.0) -> Exhausted | None:
        if self.limit is None or self._size < share * self.limit:
            return None
        return Exhausted(
            f"the database takes {self._size:,} bytes, and WEBLOOM_DATABASE_LIMIT is "
            f"{self.limit:,}",
            "superseded versions are being pruned; if that is not enough, remove watches, feeds or "
            "records, or raise the limit",
        )
