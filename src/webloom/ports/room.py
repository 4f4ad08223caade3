from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectionSize:
    name: str
    bytes: int
    is_ours: bool  # False: another program keeps it in the same database


@dataclass(frozen=True, kw_only=True, slots=True)
class DatabaseSize:
    bytes: int  # of all that is in use, other programs' collections too
    limit: int | None
    full: str | None  # as `Room.full`
    collections: list[CollectionSize]  # the largest first; empty where the store can't tell


class Room(Protocol):
    """Whether the store has room. Every process learns that from its own writes; the heartbeat is
    the most regular one."""

    @property
    def full(self) -> str | None:
        """What is full and what to do about it; None: there is room, as far as is known."""

    @property
    def is_scarce(self) -> bool:
        """It is full, or so close to its limit that pruning should not wait."""


class DatabaseSizes(Protocol):
    async def size(self) -> DatabaseSize:
        """What uses how much. Raises StoreUnavailable."""
