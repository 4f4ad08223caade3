"""JobFront's XML. `description` is one line; the body is `post`."""

from __future__ import annotations

from webloom.parsing.feeds.formats.format import Format, job_board

FORMAT = Format(
    name="jobfront",
    about="JobFront's XML: the body of a posting is post",
    certainty=job_board((55, 2, "post description")),
    fields={"description": ("post", "description")},
)
