"""Names for sentences: what shares its name with another gets what tells the two apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

LONGEST = 150  # characters of what is added to a name


class Named(NamedTuple):
    name: str
    url: str
    id: str


def distinct_names(items: Sequence[Named]) -> list[str]:
    """A name for each, in order. Several with one name differ by host and path; if they share
    these, by URL; if they share it too, by id. The same item twice has the same name."""
    candidates = [
        [each.name, *(f"{each.name} ({more[:LONGEST]})" for more in _more(each))]
        for each in dict.fromkeys(items)
    ]
    common = Counter(candidate for each in candidates for candidate in dict.fromkeys(each))
    named = {
        item: next((candidate for candidate in each if common[candidate] == 1), each[-1])
        for item, each in zip(dict.fromkeys(items), candidates, strict=True)
    }
    return [named[each] for each in items]


def _more(named: Named) -> tuple[str, ...]:
    place = named.url.partition("://")[2].partition("?")[0].rstrip("/")
    return place, named.url, named.id
