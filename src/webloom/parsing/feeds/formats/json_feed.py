"""JSON Feed, and other JSON that lists records with the common names."""

from __future__ import annotations

from webloom.parsing.feeds.element import Head
from webloom.parsing.feeds.formats.format import Format


def _certainty(head: Head) -> int:
    if head.root != "json":
        return 0
    return 90 if "jsonfeed.org" in head.elements.get("version", "") else 60


FORMAT = Format(
    name="json-feed",
    about="JSON Feed 1.0 and 1.1, and JSON with a list of records",
    record_names=frozenset({"items", "item", "jobs", "job"}),
    certainty=_certainty,
    fields={
        "externalId": ("id", "guid"),
        "title": ("title", "jobtitle", "positiontitle", "jobopeningname", "position", "name"),
        "jobUrl": ("url", "external_url"),
        "jobType": ("employmenttype", "jobtype", "contracttime", "contracttype"),
        "categories": (
            "tags",
            "category",
            "jobcategory",
            "industry",
            "jobindustry",
            "department",
            "categories/department",
            "categories/team",
        ),
        "description": ("content_html", "content_text", "description", "summary"),
        "publishedAt": ("date_published", "date_modified"),
    },
    last_resort={
        "title": ("text",),
        "company": ("authors/name", "author/name", "author"),
        "location": ("categories/location",),
        "jobType": ("categories/commitment",),
    },
)
