"""WhatJobs' XML, where a posting's id is an attribute of its element."""

from __future__ import annotations

from webloom.parsing.feeds.formats.format import Format, job_board

FORMAT = Format(
    name="whatjobs",
    about="WhatJobs' XML: the id is an attribute of job",
    certainty=job_board(says="whatjobs"),
    fields={
        "externalId": ("@id",),
        "categories": ("category",),
        "description": ("description", "snippet"),
        "publishedAt": ("date", "posted"),
    },
)
