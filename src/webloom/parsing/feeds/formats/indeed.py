from __future__ import annotations

from webloom.parsing.feeds.element import Head
from webloom.parsing.feeds.formats.format import Format, Paths, mentions, names_of

FIELDS: Paths = {
    "externalId": ("referencenumber", "requisitionid"),
    "title": ("title",),
    "jobUrl": ("url",),
    "company": ("company", "sourcename"),
    "city": ("city",),
    "region": ("state",),
    "country": ("country",),
    "remote": ("remotetype",),
    "jobType": ("jobtype",),
    "salary": ("salary",),
    "categories": ("category",),
    "description": ("description",),
    "publishedAt": ("date", "lastactivitydate"),
    "expiresAt": ("expirationdate",),
}


def _certainty(head: Head) -> int:
    if head.root != "source" or "job" not in names_of(head):
        return 0
    names = names_of(head)
    if mentions(head, "indeed") or {"remotetype", "sourcename", "lastactivitydate"} & names:
        return 75
    return 60 if {"referencenumber", "requisitionid"} & names else 30


FORMAT = Format(
    name="indeed",
    about="Indeed's XML, which many boards and applicant systems write: source > job",
    record_names=frozenset({"job"}),
    certainty=_certainty,
    fields=FIELDS,
    month_first=True,
    comma_lists=True,
)
