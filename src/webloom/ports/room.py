from __future__ import annotations

from typing import Protocol


class Room(Protocol):
    """Whether the store has room. Every process finds that out by its own writes, of which the
    heartbeat is the most regular."""

    @property
    def full(self) -> str | None:
        """What is full and what to do about it; None: there is room, as far as is known."""
