"""An entry of a list of pages to watch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Note(NamedTuple):
    """Something that the list has and a watch can't take over."""

    what: str  # from a fixed set, so that notes can be counted
    detail: str | None = None

    def __str__(self) -> str:
        return self.what if self.detail is None else f"{self.what}: {self.detail}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    given: dict[str, Any]  # what a watch is made of: `url`, and `name` or more where it is given
    written: str | None = None  # as the list has it, where that is something else
    notes: list[Note] = field(default_factory=list)
    refused: str | None = None  # why no watch can be made of it
    is_foreign: bool = False  # of another program: parts that Webloom can't use are left out
