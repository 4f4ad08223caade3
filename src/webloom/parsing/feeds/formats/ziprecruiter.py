"""ZipRecruiter's XML: much like Indeed's, in any case of letters, and often without an address."""

from __future__ import annotations

from webloom.parsing.feeds.element import Head
from webloom.parsing.feeds.formats import indeed
from webloom.parsing.feeds.formats.format import Format, mentions, names_of


def _certainty(head: Head) -> int:
    names = names_of(head)
    if head.root != "source" or "job" not in names:
        return 0
    if mentions(head, "ziprecruiter") or {"ziprecruiter_id", "boost", "trafficboost"} & names:
        return 85
    return 70 if "referencenumber" in names and "url" not in names else 0


FORMAT = Format(
    name="ziprecruiter",
    about="ZipRecruiter's XML: source > job",
    certainty=_certainty,
    fields={**indeed.FIELDS, "salary": ("salary", "compensation")},
    month_first=True,
    comma_lists=True,
)
