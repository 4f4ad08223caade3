from __future__ import annotations

from webloom.parsing.feeds.formats.format import Format, job_board

_PAY = "salaries/salary"

FORMAT = Format(
    name="linkedin",
    about="LinkedIn's XML: source > job with partnerJobId",
    certainty=job_board(
        (90, 1, "partnerjobid"), (70, 2, "expectedjobcount companyid applyurl listdate lowend")
    ),
    fields={
        "externalId": ("partnerjobid",),
        "jobUrl": ("applyurl", "url"),
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
    },
    month_first=True,
)
