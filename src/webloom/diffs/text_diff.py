"""What differs between two texts, as it is kept, sent and shown.

Lines are stripped and their white space collapsed; blank lines are left out.
Line numbers are those of the original texts, from 1.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Kind = Literal["equal", "delete", "insert", "replace", "move"]
WordKind = Literal["equal", "delete", "insert"]


class DiffLimits(msgspec.Struct, frozen=True, kw_only=True):
    steps: int = 3_000_000  # of work beyond reading both texts; about 0.2 µs each
    context: int = 3  # equal lines around a change
    least_moved: int = 10  # characters of a block that counts as moved
    least_alike: float = 0.35  # share of two lines' text that is equal when one replaced the other


class Operation(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A step on the way from the old text to the new one: here `lines` are equal, are deleted or
    inserted; or one line is replaced by another, and `words` says how. A move is there twice: where
    the lines were it has `moved_to`, where they are now it has `moved_from`.

    Words with what is equal or deleted are the old line, with what is equal or inserted the new
    one, each but for a blank in front.
    """

    op: Kind
    old_line: int  # where in the old text; of the next line, if none of its lines is meant
    new_line: int
    lines: list[str] = []
    words: list[tuple[WordKind, str]] = []  # of a replacement
    moved_to: int | None = None  # line of the new text
    moved_from: int | None = None  # line of the old text


class Hunk(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Changes that are close to each other. It has as many lines of either text as it shows."""

    old_line: int
    old_lines: int
    new_line: int
    new_lines: int
    operations: list[Operation]


class TextDiff(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    lines_added: int = 0  # a replaced line was removed and added, a moved one was neither
    lines_removed: int = 0
    lines_moved: int = 0
    is_coarse: bool = False  # it was too much work: replaced parts may be equal in part
    is_truncated: bool = False  # there are more changes than listed
    steps: int = 0
    hunks: list[Hunk] = []
