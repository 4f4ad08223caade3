"""Jobrapido's XML. Its dates are DD/MM/YYYY."""

from __future__ import annotations

from webloom.parsing.feeds.formats.format import Format, job_board

FORMAT = Format(
    name="jobrapido",
    about="Jobrapido's XML: source > jobs > job with reference_id",
    certainty=job_board((80, 2, "reference_id publishdate"), says="jobrapido"),
    fields={
        "externalId": ("reference_id",),
        "region": ("state",),
        "country": ("country",),
        "categories": ("category",),
        "description": ("description",),
        "publishedAt": ("publishdate",),
        "expiresAt": ("expirydate",),
    },
)
