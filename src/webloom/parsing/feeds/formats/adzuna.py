from __future__ import annotations

from webloom.parsing.feeds.element import Head
from webloom.parsing.feeds.formats.format import Format, mentions, names_of


def _certainty(head: Head) -> int:
    names = names_of(head)
    if "job" not in names:
        return 0
    if mentions(head, "adzuna"):
        return 85
    marks = {"contract_time", "salary_frequency", "geo_lat", "geo_lng", "salary_min"} & names
    return 65 if len(marks) > 1 or "contract_time" in marks else 0


FORMAT = Format(
    name="adzuna",
    about="Adzuna's XML: jobs > job with salary_min and contract_time",
    record_names=frozenset({"job"}),
    certainty=_certainty,
    fields={
        "externalId": ("id", "reference"),
        "title": ("title",),
        "jobUrl": ("url",),
        "company": ("company",),
        "location": ("location",),
        "country": ("country",),
        "jobType": ("contract_time", "contract_type"),
        "salary": ("salary",),
        "salaryMin": ("salary_min",),
        "salaryMax": ("salary_max",),
        "salaryCurrency": ("salary_currency",),
        "salaryPeriod": ("salary_frequency",),
        "categories": ("category",),
        "description": ("description",),
        "publishedAt": ("date",),
        "expiresAt": ("expires", "expiration_date"),
    },
)
