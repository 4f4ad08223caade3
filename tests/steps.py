"""Work counted in steps instead of seconds, which depend on the machine and on the day.

A step is a line of Python, or ten characters that a pattern of `webloom.parsing` looks at. Not
counted: the work of other C code, and how often a pattern goes back over the same characters.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, ModuleType
from typing import Any

import pytest
import re2  # type: ignore[import-untyped]  # the package has no types

_COUNTED = "webloom.parsing"
_CHARACTERS = 10  # that a pattern looks at in one step
_PATTERNS = (re.Pattern, type(re2.compile("")))


def steps_of(action: Callable[[], object]) -> float:
    with at_most(10**12) as taken:
        action()
    return taken()


@contextmanager
def at_most(most: int) -> Iterator[Callable[[], float]]:
    """Fails as soon as the functions called inside take more steps. Yields what tells how many
    they have taken."""
    left = float(most)
    too_many = AssertionError(f"this takes more than {most:,} steps")

    def take(steps: float) -> None:
        nonlocal left
        left -= steps
        if left < 0:
            raise too_many

    def count_line(_frame: FrameType, _event: str, _value: object) -> Any:
        nonlocal left  # to call `take` would double the time
        left -= 1
        if left < 0:
            raise too_many
        return count_line

    def count_call(frame: FrameType, _event: str, _value: object) -> Any:
        return None if frame.f_code.co_filename == __file__ else count_line

    modules = [each for name, each in sys.modules.items() if name.startswith(_COUNTED)]
    _clear_caches(modules)
    before = sys.gettrace()
    with pytest.MonkeyPatch.context() as patch:
        _replace_patterns(modules, patch, take)
        sys.settrace(count_call)
        try:
            yield lambda: most - left
        finally:
            sys.settrace(before)
    if left < 0:
        raise too_many  # something caught it


def _clear_caches(modules: list[ModuleType]) -> None:
    """Or the steps would depend on the tests before."""
    for module in modules:
        for value in vars(module).values():
            if clear := getattr(value, "cache_clear", None):
                clear()


def _replace_patterns(
    modules: list[ModuleType], patch: pytest.MonkeyPatch, take: Callable[[float], None]
) -> None:
    def counting(value: Any) -> Any:
        if isinstance(value, _PATTERNS):
            return _CountingPattern(value, take)
        if type(value) is tuple:
            return tuple(map(counting, value))
        return value

    for module in modules:
        for name, value in list(vars(module).items()):
            if isinstance(value, (*_PATTERNS, tuple)):
                patch.setattr(module, name, counting(value))


class _CountingPattern:
    """Counts all but `match` and `fullmatch`, which seldom look far."""

    def __init__(self, pattern: Any, take: Callable[[float], None]) -> None:
        self._pattern = pattern
        self._take = take

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pattern, name)

    def finditer(self, text: Any, start: int = 0, end: int = sys.maxsize) -> Iterator[Any]:
        end = min(end, len(text))
        for found in self._pattern.finditer(text, start, end):
            self._look(found.end() - start)
            start = found.end()
            yield found
        self._look(end - start)

    def search(self, text: Any, *span: int) -> Any:
        return next(self.finditer(text, *span), None)

    def findall(self, text: Any, start: int = 0, end: int = sys.maxsize) -> Any:
        self._look(min(end, len(text)) - start)
        return self._pattern.findall(text, start, end)

    def split(self, text: Any, **named: Any) -> Any:
        self._look(len(text))
        return self._pattern.split(text, **named)

    def sub(self, put: Any, text: Any, **named: Any) -> Any:
        self._look(len(text))
        return self._pattern.sub(put, text, **named)

    def _look(self, characters: int) -> None:
        self._take(characters / _CHARACTERS)
