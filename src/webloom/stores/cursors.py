"""Cursors of listings: the place of the last item, packed."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec

from webloom.domain.errors import BadCursor
from webloom.domain.listing import SortField

Item = TypeVar("Item")

_LARGEST = 1 << 63
_OldestFirst = Literal["oldest first"]


def cursor_of(*values: int | str, oldest_first: bool = False) -> str:
    """One of a list that is read from its other end says so: it is good for that direction only."""
    packed = (*values, "oldest first") if oldest_first else values
    return base64.urlsafe_b64encode(msgspec.json.encode(packed)).decode().rstrip("=")


def page_of(
    found: Sequence[Item], limit: int, place: Callable[[Item], Iterable[int | str]]
) -> tuple[Sequence[Item], str | None]:
    """Of `limit` items and one more, if there is one: a page, and the cursor of the next."""
    following = cursor_of(*place(found[limit - 1])) if len(found) > limit else None
    return found[:limit], following


def values_of(
    cursor: str, *kinds: type[int] | type[str], oldest_first: bool = False
) -> tuple[Any, ...]:
    """Raises BadCursor, also for a cursor of the other direction."""
    packed = (*kinds, _OldestFirst) if oldest_first else kinds
    try:
        raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        values: tuple[Any, ...] = msgspec.json.decode(raw, type=tuple[packed])  # type: ignore[valid-type] # known when it runs
    except (ValueError, msgspec.MsgspecError) as error:
        raise bad_cursor(cursor) from error
    if any(isinstance(value, int) and not -_LARGEST <= value < _LARGEST for value in values):
        raise bad_cursor(cursor)
    return values[: len(kinds)]


def bad_cursor(cursor: str) -> BadCursor:
    return BadCursor(f"{cursor!r} is not a cursor of this listing")


# Cursors of lists that can be sorted by several fields


class ListPlace(NamedTuple):
    value: int | str | None  # that the list is sorted by
    key: str


def kind_of(field: SortField) -> type[int] | type[str]:
    """Moments are milliseconds since 1970."""
    return str if field is SortField.NAME else int


class Part(NamedTuple):
    """Of a list that is sorted by a field: the items that have a value, or those that have none."""

    has_value: bool
    after: ListPlace | None  # behind which it is read


def parts_after(place: ListPlace | None) -> list[Part]:
    """What is left of a list, in its order (`Order`)."""
    if place is not None and place.value is None:
        return [Part(False, place)]
    return [Part(True, place), Part(False, None)]


def place_of(cursor: str, kind: type[int] | type[str]) -> ListPlace:
    """Behind which the next page begins; one without a value has its key alone. Raises
    BadCursor."""
    try:
        return ListPlace(*values_of(cursor, kind, str))
    except BadCursor:
        return ListPlace(None, *values_of(cursor, str))


def cursor_at(place: ListPlace) -> str:
    return cursor_of(place.key) if place.value is None else cursor_of(place.value, place.key)
