from __future__ import annotations

from webloom.parsing.feeds.element import Head, Record
from webloom.parsing.feeds.formats.format import Context, Format, mentions, names_of
from webloom.parsing.feeds.mapping import Values


def _certainty(head: Head) -> int:
    names = names_of(head)
    marks = {"job-id", "company-name", "job-type", "publication-date"} & names
    own = {"candidate-location-restriction", "candidate-required-location", "hq-location"} & names
    is_its_own = own or (head.root == "data" and "job-id" in marks) or mentions(head, "remotive")
    return 80 if is_its_own and len(marks | own) > 1 else 0


def _refine(values: Values, record: Record, context: Context) -> None:
    values.setdefault("remote", ["true"])  # the board has no others


FORMAT = Format(
    name="remotive",
    about="Remotive's partner XML, with hyphenated names",
    certainty=_certainty,
    fields={
        "externalId": ("job-id", "id"),
        "company": ("company-name",),
        "location": (
            "candidate-location-restriction",
            "candidate-required-location",
            "hq-location",
        ),
        "categories": ("category", "tags/tag"),
        "description": ("description",),
        "publishedAt": ("publication-date",),
    },
    refine=_refine,
)
