"""Work is counted, or the tests of hostile pages could not fail."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable

import pytest

from steps import at_most
from webloom.parsing.prices import amounts, labels


def loop(count: int) -> None:
    for _ in range(count):
        pass


def comprehension(count: int) -> list[int]:
    return [each for each in range(count) if each < 0]


def generator(count: int) -> bool:
    return any(each < 0 for each in range(count))


def pattern(count: int) -> str:
    return amounts._SPACES.sub(" ", "x" * 10 * count)


def pattern_of_re2(count: int) -> object:
    return labels.ON_REQUEST.search("x" * 10 * count)


def loop_that_catches_everything(count: int) -> None:
    with contextlib.suppress(Exception):
        loop(count)


@pytest.mark.parametrize(
    "work",
    [
        loop,
        comprehension,
        generator,
        pattern,
        pattern_of_re2,
        loop_that_catches_everything,
    ],
)
def test_more_work_than_is_allowed_fails(work: Callable[[int], object]) -> None:
    before = sys.gettrace(), amounts._SPACES
    with at_most(10_000):
        work(2_000)
    with pytest.raises(AssertionError, match="more than 10,000 steps"), at_most(10_000):
        work(20_000)
    assert (sys.gettrace(), amounts._SPACES) == before
