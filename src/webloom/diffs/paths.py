"""The way from one sequence to another by the fewest edits, REACH edits at a time.

The path that got furthest within REACH edits is kept, and the next one begins where it ended: so
the work grows with the length of a gap and not with its square, and the result is still a valid
alignment, if not always the shortest.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import compress, count
from operator import ne
from typing import NamedTuple

from webloom.diffs.steps import Steps

REACH = 100
FEW = 8  # items compared one by one before slices are
_PER_STEP = 64  # items of equal slices that cost one step
_LIKELY_IN_PLACE = 4  # at most one in so many items differs
_DEAD = -(1 << 60)  # a diagonal that no path is on

Items = Sequence[Hashable]


class Block(NamedTuple):
    old: int
    new: int
    length: int


class Gap(NamedTuple):
    old: int
    old_end: int
    new: int
    new_end: int


def walked(old: Items, new: Items, gap: Gap, steps: Steps) -> list[Block]:
    found: list[Block] = []
    rest = gap
    while rest.old < rest.old_end and rest.new < rest.new_end and not steps.is_used_up:
        path, is_whole = _path(old, new, rest, steps)
        if not is_whole and not found and (in_place := _in_place(old, new, gap, steps)):
            return in_place
        found.extend(path.blocks)
        if is_whole:
            break
        rest = rest._replace(old=path.old, new=path.new)
    return found


class _Path(NamedTuple):
    blocks: list[Block]
    old: int  # where it ends
    new: int


def _path(old: Items, new: Items, gap: Gap, steps: Steps) -> tuple[_Path, bool]:
    """The shortest path to the end of the gap, or the one that is furthest after REACH edits."""
    a, a_end, b, b_end = gap
    width, height = a_end - a, b_end - b
    middle = REACH + 1
    reached = [_DEAD] * (2 * middle + 1)  # by diagonal, old minus new: how far in old
    reached[middle + 1] = 0
    history: list[list[int]] = []
    goal = width - height
    for edits in range(REACH + 1):
        if not steps.take(1 + edits):
            break
        history.append(reached.copy())
        equal = 0
        for diagonal in range(-edits, edits + 1, 2):
            at = middle + diagonal
            # As _entered, without the cost of a call.
            right, x = reached[at - 1] + 1, reached[at + 1]
            if x - diagonal > height or (x < right <= width):
                x = right if right <= width else _DEAD
            if x >= 0:
                y = x - diagonal
                if x < width and y < height and old[a + x] == new[b + y]:
                    length = equal_from(old, a + x, a_end, new, b + y, b_end)
                    equal += length
                    x += length
            reached[at] = x
            if diagonal == goal and x >= width:
                return _followed(history, gap, x, diagonal), True
        steps.taken += equal // _PER_STEP
        if steps.taken > steps.limit:
            steps.taken, steps.is_used_up = steps.limit, True
            break
    if not history:
        return _Path([], a, b), False
    last = len(history) - 1
    furthest = max(range(-last, last + 1, 2), key=lambda each: 2 * reached[middle + each] - each)
    return _followed(history, gap, reached[middle + furthest], furthest), False


def _entered(reached: list[int], at: int, diagonal: int, width: int, height: int) -> int:
    """How far in old a path is that has just come to the diagonal; below 0 if none can."""
    right, down = reached[at - 1] + 1, reached[at + 1]
    if right > width:
        right = _DEAD
    if down - diagonal > height:
        down = _DEAD
    return down if down >= right else right


def _followed(history: list[list[int]], gap: Gap, x: int, diagonal: int) -> _Path:
    """The path that ends there, walked back to its beginning."""
    a, a_end, b, b_end = gap
    width, height, middle = a_end - a, b_end - b, REACH + 1
    blocks: list[Block] = []
    end = (a + x, b + x - diagonal)
    for reached in reversed(history):
        at = middle + diagonal
        entered = _entered(reached, at, diagonal, width, height)
        if x > entered:
            blocks.append(Block(a + entered, b + entered - diagonal, x - entered))
        came_down = reached[at + 1] == entered
        diagonal += 1 if came_down else -1
        x = entered if came_down else entered - 1
    return _Path(blocks[::-1], *end)


def _in_place(old: Items, new: Items, gap: Gap, steps: Steps) -> list[Block]:
    """The equal items of two parts of the same length with few differences; else nothing."""
    a, a_end, b, b_end = gap
    length = a_end - a
    if length != b_end - b or not steps.take(length // _PER_STEP):
        return []
    unequal = list(map(ne, old[a:a_end], new[b:b_end]))
    if sum(unequal) * _LIKELY_IN_PLACE > length:
        return []
    return blocks_between(compress(count(), unequal), length, a, b)


def blocks_between(differing: Iterable[int], length: int, a: int = 0, b: int = 0) -> list[Block]:
    """What is equal at the same place, given the places that differ."""
    found, start = [], 0
    for end in (*differing, length):
        if end > start:
            found.append(Block(a + start, b + start, end - start))
        start = end + 1
    return found


def equal_from(old: Items, a: int, a_end: int, new: Items, b: int, b_end: int) -> int:
    """How many items are equal from here on."""
    most = min(a_end - a, b_end - b)
    length, few = 0, min(most, FEW)
    while length < few and old[a + length] == new[b + length]:
        length += 1
    if length < few:
        return length

    def is_equal(done: int, size: int) -> bool:
        at, there = a + done, b + done
        return old[at : at + size] == new[there : there + size]

    return equal_length(length, most, is_equal)


def equal_length(length: int, most: int, is_equal: Callable[[int, int], bool]) -> int:
    """How long an equal run is that begins with `length` equal items: by slices that double, and
    are halved after the first that differs. `is_equal(done, size)` compares `size` items."""
    size, grows = FEW, True
    while length < most:
        size = min(size, most - length)
        if is_equal(length, size):
            length += size
            if grows:
                size *= 2
                continue
        elif size == 1:
            break
        grows = False
        size = (size + 1) // 2
    return length
