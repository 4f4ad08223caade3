"""What two sequences have in common, in order, by work that is bounded on any input.

all ── changed in place only, see `_in_place`
gap ── what is equal at both ends is cut off
    ── items that are once in either: the longest run of them that is in order in both ──> gaps
    ── none: shortest edit paths, by Myers' greedy algorithm, see `paths`
    ── no steps left: nothing of the gap is said to be equal
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from itertools import compress, count
from operator import lt, ne

from webloom.diffs.paths import (
    Block,
    Gap,
    Items,
    blocks_between,
    equal_from,
    equal_length,
    walked,
)
from webloom.diffs.steps import Steps

_READ_PER_STEP = 4  # items that are counted and looked up for one step
_STEPS_PER_ANCHOR = 6  # for those that are not in order


def aligned(old: Items, new: Items, steps: Steps) -> list[Block]:
    """Blocks of equal items, in order; neighbours never touch in both sequences."""
    if len(old) == len(new) and (in_place := _in_place(old, new, steps)) is not None:
        return in_place
    found: list[Block] = []
    gaps = [Gap(0, len(old), 0, len(new))]
    while gaps:
        gap = _trimmed(old, new, gaps.pop(), found)
        if gap.old == gap.old_end or gap.new == gap.new_end:
            continue
        length = gap.old_end - gap.old + gap.new_end - gap.new
        if not steps.take(1 + length // _READ_PER_STEP):
            continue
        anchors, any_common = _anchors(old, new, gap, steps)
        if anchors:
            gaps.extend(_between(anchors, gap, found))
        elif any_common:
            found.extend(walked(old, new, gap, steps))
    return _joined(found)


def _in_place(old: Items, new: Items, steps: Steps) -> list[Block] | None:
    """What is equal at the same place, if nothing else can have more in common: where all items
    that differ in one are nowhere in the other. None: that is not so, or no steps are left."""
    differing = list(compress(count(), map(ne, old, new)))
    gone, come = {old[place] for place in differing}, {new[place] for place in differing}
    if not gone.isdisjoint(new) and not come.isdisjoint(old):
        return None
    if not steps.take(1 + (len(old) + len(new)) // _READ_PER_STEP):
        return None
    return blocks_between(differing, len(old))


def _trimmed(old: Items, new: Items, gap: Gap, found: list[Block]) -> Gap:
    a, a_end, b, b_end = gap
    if length := equal_from(old, a, a_end, new, b, b_end):
        found.append(Block(a, b, length))
        a, b = a + length, b + length
    if length := _equal_until(old, a, a_end, new, b, b_end):
        a_end, b_end = a_end - length, b_end - length
        found.append(Block(a_end, b_end, length))
    return Gap(a, a_end, b, b_end)


def _equal_until(old: Items, a: int, a_end: int, new: Items, b: int, b_end: int) -> int:
    """How many items are equal up to here."""
    most = min(a_end - a, b_end - b)
    if not most or old[a_end - 1] != new[b_end - 1]:
        return 0

    def is_equal(done: int, size: int) -> bool:
        at, there = a_end - done, b_end - done
        return old[at - size : at] == new[there - size : there]

    return equal_length(1, most, is_equal)


def _anchors(old: Items, new: Items, gap: Gap, steps: Steps) -> tuple[list[tuple[int, int]], bool]:
    """Places of items that are once in either part, in order in both; and whether the parts have
    any item in common."""
    old_part, new_part = old[gap.old : gap.old_end], new[gap.new : gap.new_end]
    in_old, in_new = Counter(old_part), Counter(new_part)
    if in_old.keys().isdisjoint(in_new):
        return [], False
    once = {item for item, times in in_old.items() if times == 1 and in_new.get(item) == 1}
    if not once:
        return [], True
    there = {item: place for place, item in enumerate(new_part, gap.new) if item in once}
    found = list(map(there.get, old_part))
    heres = [place for place, its in enumerate(found, gap.old) if its is not None]
    theres = [its for its in found if its is not None]
    if all(map(lt, theres, theres[1:])):
        return list(zip(heres, theres, strict=True)), True
    if not steps.take(len(heres) * _STEPS_PER_ANCHOR):
        return [], False
    return [(heres[each], theres[each]) for each in _longest_rise(theres)], True


def _longest_rise(numbers: list[int]) -> list[int]:
    """Places of the longest run of numbers, not all of them neighbours, that grow."""
    ends: list[int] = []  # by length of a run: the least number that it can end in
    holders: list[int] = []  # its place
    before: list[int] = []  # of each number, the place of the one that goes before it
    for place, number in enumerate(numbers):
        at = bisect_left(ends, number)
        before.append(holders[at - 1] if at else -1)
        if at == len(ends):
            ends.append(number)
            holders.append(place)
        else:
            ends[at], holders[at] = number, place
    run: list[int] = []
    place = holders[-1]
    while place >= 0:
        run.append(place)
        place = before[place]
    return run[::-1]


def _between(anchors: list[tuple[int, int]], gap: Gap, found: list[Block]) -> Iterator[Gap]:
    """The gaps that anchors leave; the anchors themselves are found."""
    a, _, b, _ = gap
    start, start_there = a, b  # of the anchors that touch each other
    for at, there in anchors:
        if at != a or there != b:
            if a > start:
                found.append(Block(start, start_there, a - start))
            if at > a and there > b:
                yield Gap(a, at, b, there)
            start, start_there = at, there
        a, b = at + 1, there + 1
    found.append(Block(start, start_there, a - start))
    if a < gap.old_end and b < gap.new_end:
        yield Gap(a, gap.old_end, b, gap.new_end)


def _joined(found: list[Block]) -> list[Block]:
    joined: list[Block] = []
    for block in sorted(found):
        if joined:
            last = joined[-1]
            if last.old + last.length == block.old and last.new + last.length == block.new:
                joined[-1] = Block(last.old, last.new, last.length + block.length)
                continue
        joined.append(block)
    return joined
