from __future__ import annotations


def words(text: str) -> tuple[str, ...]:
    """For tables of many short names."""
    return tuple(text.split())
