"""What is remembered while a feed is read, as its records are alike."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

Made = TypeVar("Made")

_MOST: Final = 2_000
_LONGEST: Final = 200  # characters
_COMPARED: Final = 2_000
_OFTEN: Final = 20
_MOST_SHAPES: Final = 200


class Memo(dict[str, Made], Generic[Made]):
    """What a function without side effects made of short texts."""

    def __init__(self, make: Callable[[str], Made]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, text: str) -> Made:
        made = self._make(text)
        if len(text) <= _LONGEST:
            if len(self) >= _MOST:
                self.clear()
            self[text] = made
        return made


class Frequent:
    """Finds the shapes that come often enough to deserve an expression of their own. `left` is how
    many more are compared."""

    def __init__(self) -> None:
        self.left = _COMPARED
        self._times: dict[Hashable, int] = {}

    def came_often(self, shape: Hashable) -> bool:
        self.left -= 1
        if len(self._times) >= _MOST_SHAPES:
            self._times.clear()
        self._times[shape] = self._times.get(shape, 0) + 1
        if self._times[shape] < _OFTEN:
            return False
        del self._times[shape]
        return True
