"""What events say of a page apart from its content. Of each part, the latest counts."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from webloom.domain.storage_event import EventPrice, Place, StorageEvent

PARTS = ("classification", "price", "availability")


class Part(Protocol):
    @property
    def place(self) -> Place:
        """Of the event that it came with."""

    @property
    def value(self) -> Any: ...


AnyPart = TypeVar("AnyPart", bound=Part)


def parts_of(event: StorageEvent) -> dict[str, Any]:
    """The values that it has, by name."""
    return {name: value for name in PARTS if (value := getattr(event, name)) is not None}


def tie_of(value: Any) -> str:
    """The highest counts of parts that have one place: it is the highest price. All others are the
    same, and the first stays."""
    return f"{value.current.normalize():040f}" if isinstance(value, EventPrice) else ""


def latest(known: AnyPart | None, new: AnyPart | None) -> AnyPart | None:
    if known is None or new is None:
        return new if known is None else known
    if known.place == new.place:
        return new if tie_of(new.value) > tie_of(known.value) else known
    return new if new.place > known.place else known
