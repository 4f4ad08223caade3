"""Personio's open positions. A description is several parts, each with a heading; the address of a
position is not in the feed, but follows from the feed's own."""

from __future__ import annotations

import re
from html import escape
from urllib.parse import urlsplit

from webloom.parsing.feeds.element import Element, Head, Record
from webloom.parsing.feeds.formats.format import Context, Format, names_of
from webloom.parsing.feeds.mapping import Values
from webloom.parsing.feeds.sanitise import is_html

_HOST = re.compile(r"[\w-]+\.jobs\.personio\.(?:de|com|es|fr|it|nl|at|ch)")


def _certainty(head: Head) -> int:
    if head.root == "workzag-jobs":
        return 95
    return 80 if {"position", "jobdescriptions"} <= names_of(head) else 0


def _refine(values: Values, record: Record, context: Context) -> None:
    parts = [
        _part(part)
        for all_parts in record.all("jobdescriptions")
        for part in all_parts.all("jobdescription")
    ]
    if any(parts):
        values["description"] = ["\n".join(filter(None, parts))]
    host = urlsplit(context.source_url).hostname or ""
    if "jobUrl" not in values and "externalId" in values and _HOST.fullmatch(host):
        values["jobUrl"] = [f"https://{host}/job/{values['externalId'][0]}"]
    offices = [
        office.text.strip()
        for more in record.all("additionaloffices")
        for office in more.all("office")
    ]
    values["location"] = [*values.get("location", []), *filter(None, offices)]


def _part(part: Element) -> str:
    name, value = part.first("name"), part.first("value")
    body = (value.markup or value.text).strip() if value is not None else ""
    if not body:
        return ""
    if not is_html(body):
        body = "<p>" + escape(body, quote=False).replace("\n", "<br>") + "</p>"
    heading = name.text.strip() if name is not None else ""
    return f"<h3>{escape(heading, quote=False)}</h3>\n{body}" if heading else body


FORMAT = Format(
    name="personio",
    about="Personio's XML: workzag-jobs > position",
    record_names=frozenset({"position"}),
    certainty=_certainty,
    fields={
        "externalId": ("id",),
        "title": ("name",),
        "company": ("subcompany",),
        "location": ("office",),
        "jobType": ("employmenttype", "schedule"),
        "categories": ("department", "recruitingcategory", "occupationcategory"),
        "publishedAt": ("createdat",),
    },
    refine=_refine,
)
