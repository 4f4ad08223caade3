from __future__ import annotations

from webloom.parsing.feeds.formats.format import Format, job_board

FORMAT = Format(
    name="adzuna",
    about="Adzuna's XML: jobs > job with salary_min and contract_time",
    certainty=job_board(
        (65, 1, "contract_time"),
        (65, 2, "salary_frequency geo_lat geo_lng salary_min"),
        says="adzuna",
    ),
    fields={
        "externalId": ("id", "reference"),
        "country": ("country",),
        "jobType": ("contract_time", "contract_type"),
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
