from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from webloom.parsing.feeds.element import Head, Record
from webloom.parsing.feeds.mapping import Values

_JOBS: Final = frozenset({"job", "position", "vacancy", "offer", "listing", "ad", "posting"})

Paths = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """What is known about the feed of a record."""

    head: Head
    source_url: str
    base_url: str  # that relative links are resolved against


@dataclass(frozen=True, kw_only=True, slots=True)
class Format:
    """How one kind of feed writes its postings. docs/feeds.md says how to add one."""

    name: str
    about: str  # one line, for people who choose a format
    certainty: Callable[[Head], int]  # that a feed has this format; 0: it does not, 100: it says so
    # Of the elements that are records, in lower case, without prefix.
    record_names: frozenset[str] = frozenset({"job"})
    # By field of a posting, the best path first. What `synonyms` finds as well is left to it.
    fields: Paths = field(default_factory=dict)
    last_resort: Paths = field(default_factory=dict)  # after the names that are common to feeds
    refine: Callable[[Values, Record, Context], None] | None = None  # what paths can't express
    month_first: bool = False  # 03/04/2024 is the fourth of March
    comma_lists: bool = False  # a category may be several, separated by commas


def job_board(
    *marks: tuple[int, int, str], says: str = "", certainty: int = 85, root: str | None = None
) -> Callable[[Head], int]:
    """The certainty that a feed of `job` elements is of one board: `certainty` where it names the
    board, else that of the first mark. A mark has a certainty, and the least number of its element
    names that the feed has."""
    sets = [(each, least, frozenset(names.split())) for each, least, names in marks]

    def judge(head: Head) -> int:
        names = head.local_names
        if "job" not in names or root not in (None, head.root):
            return 0
        if says and mentions(head, says):
            return certainty
        return next((each for each, least, own in sets if len(own & names) >= least), 0)

    return judge


def names_of(head: Head) -> frozenset[str]:
    """Without their prefixes."""
    return head.local_names


def has_other_records(head: Head, name: str) -> bool:
    """Whether records are named like jobs, and none is named `name`."""
    names = names_of(head)
    return name not in names and not names.isdisjoint(_JOBS)


def mentions(head: Head, *words: str) -> bool:
    """Whether the feed contains the word outside its records."""
    said = " ".join(head.elements.values()).lower()
    return any(word in said for word in words)
