from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from webloom.diffs.steps import Steps

_STEPS_PER_LINE = 4


def moved_lines(
    old: Sequence[int],
    new: Sequence[int],
    gone: Iterable[range],
    come: Iterable[range],
    sizes: Sequence[str],
    *,
    least: int,
    steps: Steps,
) -> dict[int, int]:
    """Places in old -> places in new, of lines that are gone from one and have come to the other.

    A block begins with a line that is gone once and has come once, and is as long as the lines
    around it are the same; blocks of less than `least` characters are no moves but a coincidence.
    """
    gone_places = [place for each in gone for place in each]
    come_places = [place for each in come for place in each]
    if not steps.take((len(gone_places) + len(come_places)) * _STEPS_PER_LINE):
        return {}
    gone_times = Counter(old[place] for place in gone_places)
    come_times = Counter(new[place] for place in come_places)
    there = {new[place]: place for place in come_places if come_times[new[place]] == 1}
    free_old, free_new = set(gone_places), set(come_places)
    moved: dict[int, int] = {}
    for place in gone_places:
        line = old[place]
        if place not in free_old or gone_times[line] != 1 or line not in there:
            continue
        block = _around(old, new, place, there[line], free_old, free_new)
        free_old.difference_update(block)
        free_new.difference_update(block.values())
        if sum(len(sizes[old[each]]) for each in block) >= least:
            moved.update(block)
    return moved


def _around(
    old: Sequence[int],
    new: Sequence[int],
    at: int,
    there: int,
    free_old: set[int],
    free_new: set[int],
) -> dict[int, int]:
    if there not in free_new:
        return {}
    block = {at: there}
    for direction in (-1, 1):
        x, y = at + direction, there + direction
        while x in free_old and y in free_new and old[x] == new[y]:
            block[x] = y
            x, y = x + direction, y + direction
    return dict(sorted(block.items()))
