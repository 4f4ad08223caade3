"""WhatJobs' XML, where a posting's id is an attribute of its element."""

from __future__ import annotations

from webloom.parsing.feeds.element import Head
from webloom.parsing.feeds.formats.format import Format, mentions, names_of


def _certainty(head: Head) -> int:
    return 85 if mentions(head, "whatjobs") and "job" in names_of(head) else 0


FORMAT = Format(
    name="whatjobs",
    about="WhatJobs' XML: the id is an attribute of job",
    record_names=frozenset({"job"}),
    certainty=_certainty,
    fields={
        "externalId": ("@id",),
        "title": ("title",),
        "jobUrl": ("url", "link"),
        "company": ("company",),
        "location": ("location",),
        "jobType": ("job_type",),
        "salary": ("salary",),
        "categories": ("category",),
        "description": ("description", "snippet"),
        "publishedAt": ("date", "posted"),
    },
)
