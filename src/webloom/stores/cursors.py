"""Cursors of listings: the place of the last item, packed."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from webloom.domain.errors import BadCursor

Item = TypeVar("Item")

_LARGEST = 1 << 63


def cursor_of(*values: int | str) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(values)).decode().rstrip("=")


def page_of(
    found: Sequence[Item], limit: int, place: Callable[[Item], Iterable[int | str]]
) -> tuple[Sequence[Item], str | None]:
    """Of `limit` items and one more, if there is one: a page, and the cursor of the next."""
    following = cursor_of(*place(found[limit - 1])) if len(found) > limit else None
    return found[:limit], following


def values_of(cursor: str, *kinds: type[int] | type[str]) -> tuple[Any, ...]:
    """Raises BadCursor."""
    try:
        raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        values: tuple[Any, ...] = msgspec.json.decode(raw, type=tuple[kinds])  # type: ignore[valid-type] # kinds are known when it runs
    except (ValueError, msgspec.MsgspecError) as error:
        raise bad_cursor(cursor) from error
    if any(isinstance(value, int) and not -_LARGEST <= value < _LARGEST for value in values):
        raise bad_cursor(cursor)
    return values


def bad_cursor(cursor: str) -> BadCursor:
    return BadCursor(f"{cursor!r} is not a cursor of this listing")
