from __future__ import annotations

from webloom.parsing.feeds.formats.format import Format, job_board

FORMAT = Format(
    name="careerjet",
    about="Careerjet's XML: jobs > job with a location of several parts",
    certainty=job_board(
        (65, 2, "job_reference working_hours apply_url contract_type"), says="careerjet"
    ),
    fields={
        "externalId": ("id", "job_reference"),
        "jobUrl": ("url", "apply_url"),
        "city": ("location/city",),
        "region": ("location/region",),
        "country": ("location/country",),
        "jobType": ("working_hours", "contract_type"),
        "description": ("description",),
        "publishedAt": ("date",),
    },
)
