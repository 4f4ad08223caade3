from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from webloom.domain.errors import Exhausted


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectionSize:
    name: str  # as MongoDB's collection of the same things
    bytes: int
    is_ours: bool  # False: it belongs to another program that shares the database


@dataclass(frozen=True, kw_only=True, slots=True)
class DatabaseSize:
    bytes: int  # of all that is in use, other programs' collections too
    limit: int | None
    full: Exhausted | None  # as `Room.full`
    collections: list[CollectionSize]  # the largest first; empty where the store can't tell


class Room(Protocol):
    """Whether the store has room. Each process learns this from its own writes, above all from its
    heartbeats."""

    @property
    def full(self) -> Exhausted | None:
        """None: there is room, as far as is known."""

    @property
    def is_scarce(self) -> bool:
        """Whether it is full, or so close to its limit that pruning should not wait."""


class DatabaseSizes(Protocol):
    async def size(self) -> DatabaseSize:
        """What uses how much. Raises StoreUnavailable."""
