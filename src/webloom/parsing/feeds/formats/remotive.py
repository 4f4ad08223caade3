from __future__ import annotations

from webloom.parsing.feeds.element import Element, Head
from webloom.parsing.feeds.formats.format import Context, Format, names_of
from webloom.parsing.feeds.mapping import Values


def _certainty(head: Head) -> int:
    marks = {
        "job-id",
        "company-name",
        "job-type",
        "publication-date",
        "candidate-location-restriction",
        "hq-location",
    }
    return 80 if len(marks & names_of(head)) > 1 else 0


def _refine(values: Values, record: Element, context: Context) -> None:
    values.setdefault("remote", ["true"])  # the board has no others


FORMAT = Format(
    name="remotive",
    about="Remotive's partner XML, with hyphenated names",
    record_names=frozenset({"job"}),
    certainty=_certainty,
    fields={
        "externalId": ("job-id", "id"),
        "title": ("title", "job-title"),
        "jobUrl": ("url",),
        "company": ("company-name",),
        "location": (
            "candidate-location-restriction",
            "candidate-required-location",
            "hq-location",
        ),
        "jobType": ("job-type",),
        "salary": ("salary",),
        "categories": ("category", "tags/tag"),
        "description": ("description",),
        "publishedAt": ("publication-date",),
    },
    refine=_refine,
)
