from __future__ import annotations

import logging

log = logging.getLogger(__name__)


class Room:
    """See ports/room.py."""

    def __init__(self) -> None:
        self._refusal: str | None = None

    @property
    def full(self) -> str | None:
        return self._refusal

    def note_refusal(self, reason: str) -> None:
        """A write was refused for want of room."""
        if self._refusal is None:
            log.error("the database is full", extra={"error": reason})
        self._refusal = reason

    def note_written(self) -> None:
        """A write was made that needs room."""
        if self._refusal is not None:
            log.info("the database has room again")
        self._refusal = None
