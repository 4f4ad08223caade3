"""How lists are counted; and those of what people configure, watches and feeds: how they are
filtered and sorted."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

MOST_SCANNED = 1000  # items looked at for one page, where no index knows all of a filter
MOST_COUNTED = 10_000  # "10,000+" where there are more


@dataclass(frozen=True, slots=True)
class Count:
    """How many a filter finds."""

    number: int
    is_exact: bool = True  # False: at least so many


def counted_to(most: int, number: int, *, is_all: bool = True) -> Count:
    """Of a count that stops behind `most`, and may have stopped before."""
    return Count(number, is_all) if number <= most else Count(most, is_exact=False)


class SortField(StrEnum):
    NAME = "name"
    NEXT_RUN = "nextRunAt"
    LAST_RUN = "lastRunAt"
    FAILURES = "failures"  # failed runs in a row
    CREATED = "createdAt"


@dataclass(frozen=True, slots=True)
class Order:
    """By a field and then by id. Items without a value come last in both directions."""

    field: SortField
    is_descending: bool = False


BY_NAME = Order(SortField.NAME)


class ListedState(StrEnum):
    ENABLED = "enabled"
    PAUSED = "paused"  # external watches are neither
    FAILING = "failing"  # the latest run failed
    CHECKING = "checking"  # with an active run


@dataclass(frozen=True, kw_only=True, slots=True)
class ListFilter:
    text: str | None = None  # in its name, tags and URLs (domain/search.py)
    tag: str | None = None
    state: ListedState | None = None


EVERYTHING = ListFilter()
