"""A diff for people: unified or side by side."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from itertools import groupby, zip_longest

from webloom.diffs.shown import (
    Line,
    Piece,
    Role,
    Shown,
    heading,
    new_side,
    old_side,
)
from webloom.diffs.text_diff import Operation, TextDiff

_LEAST_COLUMN = 10
_GUTTER = 3


def unified_lines(
    diff: TextDiff, *, old_name: str, new_name: str, shown: Shown = str
) -> Iterator[Line]:
    """The classic form: in a change, old lines come before new ones. Nothing if none differs."""
    if not diff.hunks:
        return
    yield [Piece(Role.HEADING, f"--- {shown(old_name)}")]
    yield [Piece(Role.HEADING, f"+++ {shown(new_name)}")]
    for hunk in diff.hunks:
        yield heading(hunk)
        for is_equal, group in groupby(hunk.operations, lambda each: each.op == "equal"):
            operations = list(group)
            for each in operations:
                for line in old_side(each, shown):
                    yield [Piece(line[0].role, " " if is_equal else "-"), *line]
            if not is_equal:
                for each in operations:
                    for line in new_side(each, shown):
                        yield [Piece(line[0].role, "+"), *line]


def side_by_side_lines(diff: TextDiff, width: int, *, shown: Shown = str) -> Iterator[Line]:
    """The old text on the left, the new one on the right; long lines are folded. Between them: <
    is gone, > has come, | is replaced, and ( and ) are moved away and moved here."""
    column = max(_LEAST_COLUMN, (width - _GUTTER) // 2)
    for hunk in diff.hunks:
        yield heading(hunk)
        for operation in hunk.operations:
            mark = _mark(operation)
            for old, new in zip_longest(
                old_side(operation, shown), new_side(operation, shown), fillvalue=list[Piece]()
            ):
                yield from _row(old, mark, new, column)


def _mark(operation: Operation) -> str:
    if operation.op == "move":
        return "(" if operation.moved_to is not None else ")"
    return {"equal": " ", "delete": "<", "insert": ">", "replace": "|"}[operation.op]


def _row(old: Line, mark: str, new: Line, column: int) -> Iterator[Line]:
    for left, right in zip_longest(
        _folded(old, column), _folded(new, column), fillvalue=list[Piece]()
    ):
        blanks = column - sum(_cells(piece.text) for piece in left)
        gutter = f"{' ' * blanks} {mark}"
        if right:
            yield [*left, Piece(Role.PLAIN, f"{gutter} "), *right]
        else:
            yield [*left, Piece(Role.PLAIN, gutter.rstrip() if not left else gutter)]


def _folded(line: Line, column: int) -> Iterator[Line]:
    """The line in parts that fit into the column."""
    part: Line = []
    room = column
    for role, text in line:
        start = 0
        while start < len(text):
            end, used = _fitting(text, start, room)
            if end == start:
                yield part
                part, room = [], column
                continue
            part.append(Piece(role, text[start:end]))
            start, room = end, room - used
    if part:
        yield part


def _fitting(text: str, start: int, room: int) -> tuple[int, int]:
    """Up to where the text fits, and how many cells that takes."""
    if text.isascii():
        end = min(len(text), start + room)
        return end, end - start
    used = 0
    for place in range(start, len(text)):
        cells = _cells(text[place])
        if used + cells > room:
            return place, used
        used += cells
    return len(text), used


def _cells(text: str) -> int:
    """How many columns of a terminal it takes."""
    if text.isascii():
        return len(text)
    return sum(map(_width, text))


def _width(character: str) -> int:
    if unicodedata.east_asian_width(character) in "WF":
        return 2
    return 0 if unicodedata.category(character) in ("Mn", "Me", "Cf") else 1
