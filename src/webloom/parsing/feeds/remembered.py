from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

Made = TypeVar("Made")

_MOST: Final = 2_000
_LONGEST: Final = 200  # characters


class Remembered(dict[str, Made], Generic[Made]):
    """What was made of texts, as many records have the same. It is made by what has no other
    effect."""

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
