from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

from webloom.domain.inventory import Metadata, Processing, Record, Status
from webloom.domain.request_state import RequestState

Item = TypeVar("Item")

LARGE_SLICE = 16_000_000  # characters of page sources, after which a slice ends


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredRecord:
    """A record of the inventory as it can be carried to another store.

    A running attempt is not carried: the record is told as if the attempt had been given back.
    """

    url: str
    status: Status
    metadata: Metadata
    processing: Processing  # last_request_id is the last one that an attempt was begun for
    additional_details: dict[str, Any] | None
    created_at: datetime
    updated_at: datetime
    token: int
    request_id: str | None  # the outstanding request
    background: bool
    waits: bool  # for its retry

    @classmethod
    def of(cls, record: Record, state: RequestState) -> StoredRecord:
        status, attempts = record.status, record.processing.attempt_number
        error = record.processing.error_message
        if state.in_progress_for is not None:
            attempts -= 1
            status = Status.PENDING if status is Status.IN_PROGRESS else status
        return cls(
            url=record.url,
            status=status,
            metadata=record.metadata,
            processing=replace(
                record.processing,
                attempt_number=attempts,
                error_message=error and error.replace("\0", "\ufffd"),  # SQLite can't hold a NUL
                last_request_id=state.last_request_id,
            ),
            additional_details=record.additional_details,
            created_at=record.created_at,
            updated_at=record.updated_at,
            token=int(state.token),  # a driver may have a type of its own for it
            request_id=state.request_id,
            background=state.background,
            waits=state.waits_for is not None,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Slice(Generic[Item]):
    items: list[Item]
    position: str | None  # where the next one begins; None: this was the last


@dataclass(frozen=True, kw_only=True, slots=True)
class Fingerprint:
    """Of items as a store keeps them, in whatever order they come."""

    items: int = 0
    hash: int = 0  # the sum of the items' hashes, 128 bits

    def __add__(self, other: Fingerprint) -> Fingerprint:
        return Fingerprint(
            items=self.items + other.items, hash=(self.hash + other.hash) & ((1 << 128) - 1)
        )


class Archive(Protocol[Item]):
    """One collection of a store, whole. Raises StoreUnavailable."""

    async def count(self) -> int: ...

    async def read(self, position: str | None, limit: int) -> Slice[Item]:
        """All items in an order of the store's own, each once, whatever is written meanwhile.

        `limit` at a time, or fewer where they are large."""

    async def same_as(self, items: Sequence[Item]) -> list[Item | None]:
        """For each item the one in this store with its key, in order."""

    async def write(self, items: Sequence[Item]) -> Fingerprint:
        """Add them; an item that is here already is replaced, unless the one here is newer.

        The same call again changes nothing. Returns the fingerprint that they have here if none
        was newer."""

    async def fingerprint(self, progress: Callable[[int], None]) -> Fingerprint:
        """Of everything that is stored now, read anew; `progress` hears of so many items more."""

    def is_newer(self, one: Item, other: Item) -> bool: ...

    async def copied_until(self, source: str) -> str | None:
        """The position in `source` up to which everything is here."""

    async def note_copied(self, source: str, position: str | None) -> None:
        """None: forget it."""
