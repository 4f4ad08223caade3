from __future__ import annotations

from webloom.parsing.feeds.element import Head
from webloom.parsing.feeds.formats.format import Format, names_of


def _certainty(head: Head) -> int:
    names = names_of(head)
    if "partnerjobid" in names:
        return 90
    marks = {"expectedjobcount", "companyid", "applyurl", "listdate", "lowend"} & names
    return 70 if "job" in names and len(marks) > 1 else 0


_PAY = "salaries/salary"

FORMAT = Format(
    name="linkedin",
    about="LinkedIn's XML: source > job with partnerJobId",
    record_names=frozenset({"job"}),
    certainty=_certainty,
    fields={
        "externalId": ("partnerjobid",),
        "title": ("title",),
        "jobUrl": ("applyurl", "url"),
        "company": ("company",),
        "location": ("location",),
        "city": ("city",),
        "region": ("state",),
        "country": ("country",),
        "remote": ("isremote", "workplacetypes", "workplacetype"),
        "jobType": ("jobtype", "employmentstatus"),
        "salaryMin": (f"{_PAY}/lowend/amount",),
        "salaryMax": (f"{_PAY}/highend/amount",),
        "salaryCurrency": (f"{_PAY}/lowend/currencycode", f"{_PAY}/highend/currencycode"),
        "salaryPeriod": (f"{_PAY}/period",),
        "categories": ("industry", "jobfunctions/jobfunction", "industries/industry", "category"),
        "description": ("description",),
        "publishedAt": ("listdate",),
        "expiresAt": ("expirationdate",),
    },
    month_first=True,
)
