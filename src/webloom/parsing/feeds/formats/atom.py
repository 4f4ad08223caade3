from __future__ import annotations

from webloom.parsing.feeds.element import Head, Record
from webloom.parsing.feeds.formats.format import Context, Format, has_other_records, names_of
from webloom.parsing.feeds.formats.links import alternate
from webloom.parsing.feeds.mapping import Values


def _certainty(head: Head) -> int:
    if has_other_records(head, "entry"):
        return 0
    if head.root in ("feed", "entry"):
        return 60 if "atom" in head.namespaces.get("", "").lower() else 50
    return 40 if "entry" in names_of(head) and "feed" in names_of(head) else 0


def _refine(values: Values, record: Record, context: Context) -> None:
    url = alternate(record)
    if url:
        values["jobUrl"] = [url]
    elif values.get("externalId", [""])[0].lower().startswith(("http://", "https://")):
        values.setdefault("jobUrl", values["externalId"])
    categories = [
        said
        for category in record.all("category")
        if (said := category.attributes.get("label") or category.attributes.get("term"))
    ]
    if categories:
        values["categories"] = categories


FORMAT = Format(
    name="atom",
    about="Atom 0.3 and 1.0",
    record_names=frozenset({"entry"}),
    certainty=_certainty,
    fields={
        "externalId": ("id",),
        "title": ("title",),
        "jobUrl": ("feedburner:origlink",),
        "description": ("content", "summary"),
        "publishedAt": ("published", "issued", "created", "updated", "modified", "dc:date"),
    },
    last_resort={
        "company": ("author/name", "source/title", "dc:creator"),
        "description": ("media:group/media:description", "media:description"),
    },
    refine=_refine,
)
