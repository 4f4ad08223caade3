"""Tables of many short names, written as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

Value = TypeVar("Value")


def words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def by_word(table: Mapping[Value, str]) -> dict[str, Value]:
    """Each word, with the value in whose row it stands."""
    return {word: value for value, row in table.items() for word in row.split()}
