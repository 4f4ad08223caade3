from __future__ import annotations

import secrets
from datetime import datetime
from itertools import count
from typing import Generic, TypeVar

from webloom.adapters.mongodb.documents import PLACES_IN_A_MILLISECOND, first_place_of

What = TypeVar("What")

MOST_REMEMBERED = 10_000


class Marks:
    """Names for writes, no two alike in any process."""

    def __init__(self) -> None:
        self._process = secrets.token_hex(8)
        self._numbers = count(1)

    def next(self) -> str:
        return f"{self._process}.{next(self._numbers)}"


class Places:
    """Places in the listing, so that what one process makes in a millisecond stays in order."""

    def __init__(self) -> None:
        self._moment: datetime | None = None
        self._number = 0

    def next(self, created_at: datetime) -> int:
        is_same = created_at == self._moment
        self._number = min(self._number + 1, PLACES_IN_A_MILLISECOND - 1) if is_same else 0
        self._moment = created_at
        return first_place_of(created_at) + self._number


class Unanswered(Generic[What]):
    """Marks of writes whose answer was lost, with what they were for; the oldest give way."""

    def __init__(self) -> None:
        self._writes: dict[str, What] = {}

    def remember(self, mark: str, what: What) -> None:
        self._writes[mark] = what
        if len(self._writes) > MOST_REMEMBERED:
            del self._writes[next(iter(self._writes))]

    def is_for(self, mark: str | None, what: What) -> bool:
        return mark is not None and self._writes.get(mark) == what
