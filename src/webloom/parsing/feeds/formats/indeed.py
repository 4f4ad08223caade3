from __future__ import annotations

from webloom.parsing.feeds.formats.format import Format, Paths, job_board

FIELDS: Paths = {
    "externalId": ("referencenumber", "requisitionid"),
    "company": ("company", "sourcename"),
    "city": ("city",),
    "region": ("state",),
    "country": ("country",),
    "remote": ("remotetype",),
    "categories": ("category",),
    "description": ("description",),
    "publishedAt": ("date", "lastactivitydate"),
}

FORMAT = Format(
    name="indeed",
    about="Indeed's XML, which many boards and applicant systems write: source > job",
    certainty=job_board(
        (75, 1, "remotetype sourcename lastactivitydate"),
        (60, 1, "referencenumber requisitionid"),
        (30, 0, ""),
        says="indeed",
        certainty=75,
        root="source",
    ),
    fields=FIELDS,
    month_first=True,
    comma_lists=True,
)
