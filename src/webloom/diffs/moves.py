from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from webloom.diffs.steps import Steps

_STEPS_PER_LINE = 4


def moved_lines(
    old: Sequence[int],
    new: Sequence[int],
    removed: Iterable[range],
    added: Iterable[range],
    sizes: Sequence[str],
    *,
    least: int,
    steps: Steps,
) -> dict[int, int]:
    """Places in old -> places in new, of lines that were removed from one and added to the other.

    A block starts from a line that was removed once and added once, and extends as far as the lines
    around it are the same; blocks of less than `least` characters are a coincidence.
    """
    removed_places = [place for each in removed for place in each]
    added_places = [place for each in added for place in each]
    if not steps.take((len(removed_places) + len(added_places)) * _STEPS_PER_LINE):
        return {}
    removed_times = Counter(old[place] for place in removed_places)
    added_times = Counter(new[place] for place in added_places)
    there = {new[place]: place for place in added_places if added_times[new[place]] == 1}
    free_old, free_new = set(removed_places), set(added_places)
    moved: dict[int, int] = {}
    for place in removed_places:
        line = old[place]
        if place not in free_old or removed_times[line] != 1 or line not in there:
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
