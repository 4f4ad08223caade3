"""Jobrapido's XML. Its dates are DD/MM/YYYY."""

from __future__ import annotations

from webloom.parsing.feeds.element import Head
from webloom.parsing.feeds.formats.format import Format, mentions, names_of


def _certainty(head: Head) -> int:
    names = names_of(head)
    if "job" not in names:
        return 0
    if mentions(head, "jobrapido"):
        return 85
    return 80 if {"reference_id", "publishdate"} <= names else 0


FORMAT = Format(
    name="jobrapido",
    about="Jobrapido's XML: source > jobs > job with reference_id",
    record_names=frozenset({"job"}),
    certainty=_certainty,
    fields={
        "externalId": ("reference_id",),
        "title": ("title",),
        "jobUrl": ("url",),
        "company": ("company",),
        "location": ("location",),
        "region": ("state",),
        "country": ("country",),
        "jobType": ("jobtype",),
        "salary": ("salary",),
        "categories": ("category",),
        "description": ("description",),
        "publishedAt": ("publishdate",),
        "expiresAt": ("expirydate",),
    },
)
