"""Which line replaced which, and in what words they differ."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from webloom.diffs.align import aligned
from webloom.diffs.steps import Steps
from webloom.diffs.text_diff import WordKind

Words = list[tuple[WordKind, str]]

# Scripts that are written without blanks are compared by character.
_DENSE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf" ?(?:[{_DENSE}]|[^\W{_DENSE}]+|[^\w\s{_DENSE}]+)")
_LONG_LINE = 20_000  # characters; longer ones are split at blanks only, which is quicker
_STEPS_PER_PAIR = 50  # of lines, beyond what their length costs
_CHARACTERS_PER_STEP = 8
_MOST_PAIRS = 400  # lines times lines that are all held against each other
_JOINT = 2  # so few equal characters between two changes are part of one change


def replaced_words(old: str, new: str, steps: Steps) -> tuple[Words, float] | None:
    """The words, and what share of both lines is equal; None when the steps are used up."""
    if not steps.take(_STEPS_PER_PAIR + (len(old) + len(new)) // _CHARACTERS_PER_STEP):
        return None
    old_words, new_words = _split(old), _split(new)
    words: Words = []
    equal = 0
    for kind, text in _word_changes(old_words, new_words, steps):
        words.append((kind, text))
        if kind == "equal":
            equal += len(text)
    return _without_first_blank(words), 2 * equal / (len(old) + len(new))


def _without_first_blank(words: Words) -> Words:
    """The blank that the first word has been given."""
    is_replaced = [kind for kind, _ in words[:2]] == ["delete", "insert"]
    for place in range(2 if is_replaced else 1):
        kind, text = words[place]
        words[place] = kind, text.removeprefix(" ")
    return words


def likely_pairs(old: Sequence[str], new: Sequence[str], steps: Steps) -> list[tuple[int, int]]:
    """Which of the new lines each of the old ones became, in order. A guess for long lists."""
    in_order = list(zip(range(len(old)), range(len(new)), strict=False))
    size = sum(map(len, old)) + sum(map(len, new))
    if len(old) * len(new) == 1 or len(old) * len(new) > _MOST_PAIRS or size > _LONG_LINE:
        return in_order
    if not steps.take(size // _CHARACTERS_PER_STEP + len(old) * len(new) * 4):
        return []
    new_sets = [set(_split(line)) for line in new]
    # Best sum of likenesses of the first lines of either, and how it is added by.
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i, line in enumerate(old):
        words = set(_split(line))
        for j, others in enumerate(new_sets):
            alike = 2 * len(words & others) / (len(words) + len(others))
            best[i + 1][j + 1] = max(best[i][j] + alike, best[i][j + 1], best[i + 1][j])
    return list(_best_pairs(best))[::-1]


def _best_pairs(best: list[list[float]]) -> Iterator[tuple[int, int]]:
    i, j = len(best) - 1, len(best[0]) - 1
    while i and j:
        if best[i][j] == best[i - 1][j]:
            i -= 1
        elif best[i][j] == best[i][j - 1]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            yield i, j


def _split(line: str) -> list[str]:
    """Each word with the blank in front of it; the first has one too, to be like any other."""
    if len(line) > _LONG_LINE:
        return [f" {word}" for word in line.split(" ")]
    return _WORD.findall(f" {line}")


def _word_changes(old: list[str], new: list[str], steps: Steps) -> Iterator[tuple[WordKind, str]]:
    a = b = 0
    for at, there, length in aligned(old, new, steps):
        equal = "".join(new[there : there + length])
        at_end, there_end = at + length, there + length
        is_first = at == a and there == b
        is_last = at_end == len(old) and there_end == len(new)
        if len(equal) <= _JOINT and not is_first and not is_last:
            continue
        yield from _changed(old[a:at], new[b:there])
        yield "equal", equal
        a, b = at_end, there_end
    yield from _changed(old[a:], new[b:])


def _changed(old: list[str], new: list[str]) -> Iterator[tuple[WordKind, str]]:
    if old:
        yield "delete", "".join(old)
    if new:
        yield "insert", "".join(new)
