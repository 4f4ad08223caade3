from __future__ import annotations

from webloom.parsing.feeds.element import Head
from webloom.parsing.feeds.formats.format import Format, mentions, names_of


def _certainty(head: Head) -> int:
    names = names_of(head)
    if "job" not in names:
        return 0
    if mentions(head, "careerjet"):
        return 85
    return (
        65
        if len({"job_reference", "working_hours", "apply_url", "contract_type"} & names) > 1
        else 0
    )


FORMAT = Format(
    name="careerjet",
    about="Careerjet's XML: jobs > job with a location of several parts",
    record_names=frozenset({"job"}),
    certainty=_certainty,
    fields={
        "externalId": ("id", "job_reference"),
        "title": ("title",),
        "jobUrl": ("url", "apply_url"),
        "company": ("company", "company_name"),
        "city": ("location/city",),
        "region": ("location/region",),
        "country": ("location/country",),
        "jobType": ("working_hours", "contract_type"),
        "salary": ("salary",),
        "description": ("description",),
        "publishedAt": ("date",),
    },
)
