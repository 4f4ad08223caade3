"""Two texts -> what differs between them.

    texts ── lines without their white space ── equal lines ── moved blocks
          ── lines that replaced others, and their changed words ── hunks

The same texts and limits give the same diff on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from webloom.diffs.align import aligned
from webloom.diffs.lines import Lines, LineTable
from webloom.diffs.moves import moved_lines
from webloom.diffs.paths import Block
from webloom.diffs.steps import Steps
from webloom.diffs.text_diff import DiffLimits, Hunk, Operation, TextDiff
from webloom.diffs.words import Words, likely_pairs, replaced_words

DEFAULT_LIMITS = DiffLimits()


def diff_texts(old: str, new: str, *, limits: DiffLimits = DEFAULT_LIMITS) -> TextDiff:
    if old == new:
        return TextDiff()
    return _Comparison(old, new, limits).diff()


class _Comparison:
    def __init__(self, old: str, new: str, limits: DiffLimits) -> None:
        table = LineTable()
        self.old, self.new, self.texts = table.read(old), table.read(new), table.texts
        self.limits, self.steps = limits, Steps(limits.steps)
        self.moved_to: dict[int, int] = {}
        self.moved_from: dict[int, int] = {}

    def diff(self) -> TextDiff:
        blocks = aligned(self.old.ids, self.new.ids, self.steps)
        gaps = list(_gaps(blocks, len(self.old.ids), len(self.new.ids)))
        if not self.steps.is_used_up:  # else an equal line may look removed and added
            self._find_moves(gaps)
        hunks = [self._hunk(close) for close in _close(gaps, 2 * self.limits.context)]
        moved = len(self.moved_to)
        return TextDiff(
            lines_added=sum(len(new) for _, new in gaps) - moved,
            lines_removed=sum(len(old) for old, _ in gaps) - moved,
            lines_moved=moved,
            is_coarse=self.steps.is_used_up,
            steps=self.steps.taken,
            hunks=hunks,
        )

    def _find_moves(self, gaps: list[_Gap]) -> None:
        self.moved_to = moved_lines(
            self.old.ids,
            self.new.ids,
            (old for old, _ in gaps),
            (new for _, new in gaps),
            self.texts,
            least=self.limits.least_moved,
            steps=self.steps,
        )
        self.moved_from = {there: here for here, there in self.moved_to.items()}

    def _hunk(self, gaps: list[_Gap]) -> Hunk:
        first, last, context = gaps[0], gaps[-1], self.limits.context
        before = min(context, first[0].start, first[1].start)
        operations = list(self._equal(first[0].start - before, first[1].start - before, before))
        for gap, following in pairwise(gaps):
            operations.extend(self._changes(*gap))
            between = following[0].start - gap[0].stop
            operations.extend(self._equal(gap[0].stop, gap[1].stop, between))
        operations.extend(self._changes(*last))
        after = min(context, len(self.old.ids) - last[0].stop, len(self.new.ids) - last[1].stop)
        operations.extend(self._equal(last[0].stop, last[1].stop, after))
        return Hunk(
            old_line=operations[0].old_line,
            old_lines=last[0].stop + after - first[0].start + before,
            new_line=operations[0].new_line,
            new_lines=last[1].stop + after - first[1].start + before,
            operations=operations,
        )

    def _equal(self, at: int, there: int, length: int) -> Iterator[Operation]:
        if length:
            yield Operation(
                op="equal",
                old_line=self.old.numbers[at],
                new_line=self.new.numbers[there],
                lines=self._lines(self.old, range(at, at + length)),
            )

    def _changes(self, old: range, new: range) -> Iterator[Operation]:
        replaced = self._replaced(old, new)
        at, there = old.start, new.start
        for here, (became, words) in replaced.items():
            yield from self._removed(range(at, here), there)
            yield from self._added(here, range(there, became))
            yield Operation(
                op="replace",
                old_line=self.old.numbers[here],
                new_line=self.new.numbers[became],
                words=words,
            )
            at, there = here + 1, became + 1
        yield from self._removed(range(at, old.stop), there)
        yield from self._added(old.stop, range(there, new.stop))

    def _replaced(self, old: range, new: range) -> dict[int, tuple[int, Words]]:
        """Place of an old line -> place of the new one, and the words, in order."""
        if self.steps.is_used_up:
            return {}
        removed = [place for place in old if place not in self.moved_to]
        added = [place for place in new if place not in self.moved_from]
        if not removed or not added:
            return {}
        removed_lines = [self.texts[self.old.ids[place]] for place in removed]
        added_lines = [self.texts[self.new.ids[place]] for place in added]
        replaced: dict[int, tuple[int, Words]] = {}
        for i, j in likely_pairs(removed_lines, added_lines, self.steps):
            found = replaced_words(removed_lines[i], added_lines[j], self.steps)
            if found is None:
                continue
            words, alike = found
            if alike >= self.limits.least_alike or len(old) == len(new) == 1:
                replaced[removed[i]] = (added[j], words)
        return replaced

    def _removed(self, places: range, there: int) -> Iterator[Operation]:
        for run, moved_to in _runs(places, self.moved_to):
            yield Operation(
                op="delete" if moved_to is None else "move",
                old_line=self.old.numbers[run.start],
                new_line=self.new.numbers[there],
                lines=self._lines(self.old, run),
                moved_to=None if moved_to is None else self.new.numbers[moved_to],
            )

    def _added(self, at: int, places: range) -> Iterator[Operation]:
        for run, moved_from in _runs(places, self.moved_from):
            yield Operation(
                op="insert" if moved_from is None else "move",
                old_line=self.old.numbers[at],
                new_line=self.new.numbers[run.start],
                lines=self._lines(self.new, run),
                moved_from=None if moved_from is None else self.old.numbers[moved_from],
            )

    def _lines(self, lines: Lines, places: range) -> list[str]:
        return [self.texts[each] for each in lines.ids[places.start : places.stop]]


_Gap = tuple[range, range]  # lines of old and of new; at least one is not empty


def _gaps(blocks: list[Block], old_end: int, new_end: int) -> Iterator[_Gap]:
    at = there = 0
    for block in (*blocks, Block(old_end, new_end, 0)):
        if block.old > at or block.new > there:
            yield range(at, block.old), range(there, block.new)
        at, there = block.old + block.length, block.new + block.length


def _close(gaps: list[_Gap], most: int) -> Iterator[list[_Gap]]:
    """Gaps in groups, with at most `most` equal lines between neighbours."""
    group: list[_Gap] = []
    for gap in gaps:
        if group and gap[0].start - group[-1][0].stop > most:
            yield group
            group = []
        group.append(gap)
    if group:
        yield group


def _runs(places: range, moved: dict[int, int]) -> Iterator[tuple[range, int | None]]:
    """Parts that went to one place, or nowhere, together."""
    if not moved:
        if places:
            yield places, None
        return
    start = places.start
    for place in places:
        here, following = moved.get(place), moved.get(place + 1)
        goes_on = following is None if here is None else following == here + 1
        if place + 1 == places.stop or not goes_on:
            yield range(start, place + 1), moved.get(start)
            start = place + 1
