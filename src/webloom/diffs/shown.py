"""A diff as lines for a person: what each part of a line is, so that it can be coloured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import NamedTuple

from webloom.diffs.summary import new_lines, old_lines
from webloom.diffs.text_diff import Hunk, Operation, WordKind


class Role(StrEnum):
    PLAIN = "plain"
    HEADING = "heading"
    REMOVED = "removed"
    REMOVED_WORD = "removed_word"  # within a line whose rest stayed
    ADDED = "added"
    ADDED_WORD = "added_word"
    MOVED = "moved"


class Piece(NamedTuple):
    role: Role
    text: str


Line = list[Piece]
Shown = Callable[[str], str]  # makes a text from outside harmless where it is shown


def text_of(lines: Iterator[Line]) -> str:
    return "".join("".join(piece.text for piece in line) + "\n" for line in lines)


def heading(hunk: Hunk) -> Line:
    """As in a unified diff, followed by the moves."""
    old, new = _span(hunk.old_line, hunk.old_lines), _span(hunk.new_line, hunk.new_lines)
    moves = ", ".join(_moves(hunk))
    return [Piece(Role.HEADING, f"@@ -{old} +{new} @@" + (f" {moves}" if moves else ""))]


def _span(start: int, length: int) -> str:
    if not length:
        start -= 1  # the line that it comes after
    return f"{start}" if length == 1 else f"{start},{length}"


def _moves(hunk: Hunk) -> Iterator[str]:
    for each in hunk.operations:
        lines = "line" if len(each.lines) == 1 else f"{len(each.lines)} lines"
        if each.moved_to is not None:
            yield f"{lines} at -{each.old_line} moved to +{each.moved_to}"
        elif each.moved_from is not None:
            yield f"{lines} at +{each.new_line} moved from -{each.moved_from}"


def old_side(operation: Operation, shown: Shown) -> Iterator[Line]:
    """The lines of the old text."""
    if old_lines(operation):
        yield from _side(operation, "delete", Role.REMOVED, Role.REMOVED_WORD, shown)


def new_side(operation: Operation, shown: Shown) -> Iterator[Line]:
    if new_lines(operation):
        yield from _side(operation, "insert", Role.ADDED, Role.ADDED_WORD, shown)


def _side(
    operation: Operation, changed: WordKind, role: Role, word_role: Role, shown: Shown
) -> Iterator[Line]:
    if operation.op == "replace":
        line: Line = []
        for kind, text in operation.words:
            if kind in ("equal", changed):
                mine = text if line else text.removeprefix(" ")
                line.append(Piece(word_role if kind == changed else role, shown(mine)))
        yield line or [Piece(role, "")]  # its words did not fit into a summary
    role = {"equal": Role.PLAIN, "move": Role.MOVED}.get(operation.op, role)
    for each in operation.lines:
        yield [Piece(role, shown(each))]
