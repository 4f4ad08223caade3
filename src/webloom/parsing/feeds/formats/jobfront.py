"""JobFront's XML. `description` is one line; the body is `post`."""

from __future__ import annotations

from webloom.parsing.feeds.element import Head
from webloom.parsing.feeds.formats.format import Format, names_of


def _certainty(head: Head) -> int:
    return 55 if {"job", "post", "description"} <= names_of(head) else 0


FORMAT = Format(
    name="jobfront",
    about="JobFront's XML: the body of a posting is post",
    record_names=frozenset({"job"}),
    certainty=_certainty,
    fields={"description": ("post", "description")},
)
