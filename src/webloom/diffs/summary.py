from __future__ import annotations

from collections.abc import Iterator

import msgspec

from webloom.diffs.text_diff import Hunk, Operation, TextDiff, WordKind

MOST_HUNKS = 20
MOST_BYTES = 16_000
LONGEST_TEXT = 500  # characters of a line, or of words that are equal or changed together
_FRAME_BYTES = 110  # of a hunk or an operation in JSON, without its texts


def bounded(
    diff: TextDiff, *, most_hunks: int = MOST_HUNKS, most_bytes: int = MOST_BYTES
) -> TextDiff:
    """The diff with as many of its first changes as fit. The counts stay those of all changes."""
    room = _Room(most_bytes)
    hunks = [
        hunk for each in diff.hunks[:most_hunks] if (hunk := _cut_hunk(each, room)) is not None
    ]
    is_whole = room.is_enough and len(diff.hunks) <= most_hunks
    return msgspec.structs.replace(
        diff, hunks=hunks, is_truncated=diff.is_truncated or not is_whole
    )


class _Room:
    def __init__(self, size: int) -> None:
        self.left = size
        self.is_enough = True

    def frame(self) -> bool:
        return self._take(_FRAME_BYTES)

    def fitted(self, text: str) -> str | None:
        """The text, shortened if it is long; None if there is no more room."""
        if len(text) > LONGEST_TEXT:
            self.is_enough = False
            text = f"{text[:LONGEST_TEXT]}…"
        return text if self._take(len(msgspec.json.encode(text)) + 12) else None

    def _take(self, size: int) -> bool:
        if size > self.left:
            self.left = 0  # what comes later does not slip in before what is missing
            self.is_enough = False
            return False
        self.left -= size
        return True


def _cut_hunk(hunk: Hunk, room: _Room) -> Hunk | None:
    if not room.frame():
        return None
    operations = list(_cut_operations(hunk.operations, room))
    if all(each.op == "equal" for each in operations):
        return None
    if operations == hunk.operations:
        return hunk
    return Hunk(
        old_line=hunk.old_line,
        old_lines=sum(old_lines(each) for each in operations),
        new_line=hunk.new_line,
        new_lines=sum(new_lines(each) for each in operations),
        operations=operations,
    )


def _cut_operations(operations: list[Operation], room: _Room) -> Iterator[Operation]:
    for each in operations:
        if not room.frame():
            return
        lines = list(_cut_lines(each.lines, room))
        words = list(_cut_words(each.words, room))
        if lines or words:
            yield msgspec.structs.replace(each, lines=lines, words=words)


def _cut_lines(lines: list[str], room: _Room) -> Iterator[str]:
    for line in lines:
        if (text := room.fitted(line)) is None:
            return
        yield text


def _cut_words(words: list[tuple[WordKind, str]], room: _Room) -> Iterator[tuple[WordKind, str]]:
    for kind, each in words:
        if (text := room.fitted(each)) is None:
            return
        yield kind, text


def old_lines(operation: Operation) -> int:
    if operation.op == "insert" or operation.moved_from is not None:
        return 0
    return len(operation.lines) or 1


def new_lines(operation: Operation) -> int:
    if operation.op == "delete" or operation.moved_to is not None:
        return 0
    return len(operation.lines) or 1
