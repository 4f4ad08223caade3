"""RSS 0.9x, 1.0 and 2.0, whatever else stands in its items."""

from __future__ import annotations

import re

from webloom.parsing.feeds.element import Head, Record
from webloom.parsing.feeds.formats.format import Context, Format, Paths, has_other_records, names_of
from webloom.parsing.feeds.mapping import Values
from webloom.parsing.feeds.urls import alternate

FIELDS: Paths = {
    "externalId": ("guid", "@rdf:about", "dc:identifier"),
    "title": ("title", "dc:title"),
    "jobUrl": ("feedburner:origlink", "link"),
    "categories": ("category", "dc:subject"),
    "description": ("content:encoded", "description", "summary", "content", "dc:description"),
    "publishedAt": (
        "pubdate",
        "dc:date",
        "atom:published",
        "dcterms:issued",
        "dcterms:created",
        "atom:updated",
    ),
}
# The author of an item of a job feed is most often the employer.
LAST_RESORT: Paths = {
    "company": ("dc:publisher", "atom:author/atom:name", "author", "dc:creator", "source"),
    "title": ("media:title",),
    "description": ("dc:description", "media:description", "itunes:summary"),
}
_ADDRESS = re.compile(r"[\w.+-]+@[\w.-]+\.\w+\s*(?:\((.+)\))?$")  # and a name
_LONGEST_AUTHOR = 300
_NOBODY = frozenset({"admin", "administrator", "editor", "webmaster", "root", "noreply"})


def refine(values: Values, record: Record, context: Context) -> None:
    if "jobUrl" not in values:
        url = (
            alternate(record)
            or _permalink(record)
            or record.attributes.get("rdf:about")
            or _own_link(record)
        )
        if url:
            values["jobUrl"] = [url]
    if "company" in values:
        author = values["company"][0][:_LONGEST_AUTHOR]
        if "@" in author and (address := _ADDRESS.match(author)):
            author = address[1] or ""
        if author and author.lower() not in _NOBODY:
            values["company"] = [author]
        else:
            del values["company"]


def _permalink(record: Record) -> str | None:
    """A guid is an address unless it says that it is not."""
    guid = record.first("guid")
    if guid is None or guid.attributes.get("ispermalink", "true").strip().lower() == "false":
        return None
    text = guid.text.strip()
    return text if text.lower().startswith(("http://", "https://", "/")) else None


def _own_link(record: Record) -> str | None:
    """<link/>https://…: a program for HTML wrote it, where links are empty."""
    text = record.text.strip()
    return text if text.startswith(("http://", "https://")) and len(text.split()) == 1 else None


def is_rss(head: Head) -> bool:
    if has_other_records(head, "item"):
        return False
    return head.root in ("rss", "rdf") or {"channel", "item"} <= names_of(head)


FORMAT = Format(
    name="rss",
    about="RSS 0.9x, 1.0 (RDF) and 2.0",
    record_names=frozenset({"item"}),
    certainty=lambda head: 50 if is_rss(head) else 0,
    fields=FIELDS,
    last_resort=LAST_RESORT,
    refine=refine,
)
