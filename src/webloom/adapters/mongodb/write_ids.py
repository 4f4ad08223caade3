from __future__ import annotations

import secrets
from itertools import count
from typing import Generic, TypeVar

What = TypeVar("What")

MOST_REMEMBERED = 10_000


class WriteIds:
    """Ids of writes, unique across processes."""

    def __init__(self) -> None:
        self._process = secrets.token_hex(8)
        self._numbers = count(1)

    def next(self) -> str:
        return f"{self._process}.{next(self._numbers)}"


class Unanswered(Generic[What]):
    """Ids of writes whose answer was lost, with their purpose; the oldest are dropped."""

    def __init__(self) -> None:
        self._writes: dict[str, What] = {}

    def remember(self, write_id: str, what: What) -> None:
        self._writes[write_id] = what
        if len(self._writes) > MOST_REMEMBERED:
            del self._writes[next(iter(self._writes))]

    def get(self, write_id: str | None) -> What | None:
        return None if write_id is None else self._writes.get(write_id)

    def is_for(self, write_id: str | None, what: What) -> bool:
        return self.get(write_id) == what
