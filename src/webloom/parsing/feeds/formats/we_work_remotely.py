"""We Work Remotely: RSS whose titles are "Company: Title"."""

from __future__ import annotations

from webloom.parsing.feeds.element import Head, Record
from webloom.parsing.feeds.formats import rss
from webloom.parsing.feeds.formats.format import Context, Format, mentions, names_of
from webloom.parsing.feeds.mapping import Values


def _certainty(head: Head) -> int:
    if not rss.is_rss(head):
        return 0
    if mentions(head, "we work remotely", "weworkremotely"):
        return 95
    extras = {"region", "type", "expires_at", "skills", "state"} & names_of(head)
    return 80 if {"region", "type"} <= extras and len(extras) > 2 else 0


def _refine(values: Values, record: Record, context: Context) -> None:
    rss.refine(values, record, context)
    company, colon, title = values.get("title", [""])[0].partition(": ")
    if colon and company.strip() and title.strip():
        values.setdefault("company", [company.strip()])
        values["title"] = [title.strip()]
    values.setdefault("remote", ["true"])  # the board has no others


FORMAT = Format(
    name="weworkremotely",
    about='RSS of We Work Remotely, whose titles are "Company: Title"',
    record_names=rss.FORMAT.record_names,
    certainty=_certainty,
    fields={
        **rss.FIELDS,
        "location": ("region",),
        "region": ("state",),
        "country": ("country",),
        "jobType": ("type",),
        "expiresAt": ("expires_at",),
    },
    refine=_refine,
)
