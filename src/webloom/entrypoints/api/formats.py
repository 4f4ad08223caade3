"""Texts of requests as the OpenAPI document describes them.

These constraints are documented here and checked where the value is used, which can say in a
sentence what is wrong. A `format` names what no pattern can express: docs/api.md has the list.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from webloom.application.imports import manage_feeds
from webloom.application.watch import manage_watches
from webloom.domain.schedule import LONGEST_CRON, LONGEST_MINUTES, SHORTEST_MINUTES
from webloom.parsing.feeds.mapping import FIELDS
from webloom.parsing.pages.selection import MAX_SELECTORS


def documented(**schema: Any) -> msgspec.Meta:
    examples = schema.pop("examples", None)
    return msgspec.Meta(examples=examples, extra_json_schema=schema)


HTTP_URL = {"type": "string", "format": "http-url", "examples": ["https://example.com/"]}
_MINUTES = {"minimum": SHORTEST_MINUTES, "maximum": LONGEST_MINUTES}
_SOME = {"maxItems": MAX_SELECTORS}

HttpUrl = Annotated[str, documented(format="http-url", examples=["https://example.com/"])]
FeedUrl = Annotated[str, documented(format="http-url", examples=["https://example.com/jobs.xml"])]
Name = Annotated[
    str, documented(format="name", maxLength=manage_feeds.LONGEST_NAME, examples=["Example"])
]
RequiredName = Annotated[
    str, documented(format="name", minLength=1, maxLength=200, examples=["Example"])
]
Minutes = Annotated[float, documented(**_MINUTES, examples=[60])]
FieldPath = Annotated[str, documented(format="feed-path", examples=["author"])]
Mapping = Annotated[
    dict[str, FieldPath], documented(propertyNames={"enum": list(FIELDS)}, examples=[{}])
]
Cron = Annotated[str, documented(format="cron", maxLength=LONGEST_CRON, examples=["*/10 * * * *"])]
TimeZone = Annotated[str, documented(format="time-zone", examples=["Europe/Berlin"])]
Selector = Annotated[str, documented(format="selector", examples=["main"])]
Phrase = Annotated[str, documented(format="phrase", examples=["sold out"])]
Pattern = Annotated[str, documented(format="re2", examples=["[0-9]+ visitors"])]
Selectors = Annotated[list[Selector], documented(**_SOME)]
Phrases = Annotated[list[Phrase], documented(maxItems=manage_watches.MOST_PHRASES)]
Patterns = Annotated[list[Pattern], documented(**_SOME)]
Ignored = Annotated[list[Phrase], documented(**_SOME)]
TargetUrl = Annotated[
    str, documented(format="notification-url", examples=["https://example.com/hook"])
]
Secret = Annotated[str, documented(minLength=1, maxLength=manage_watches.LONGEST_SECRET)]
DigestMinutes = Annotated[
    float,
    documented(minimum=manage_watches.SHORTEST_DIGEST, maximum=manage_watches.LONGEST_DIGEST),
]
LetterIds = Annotated[list[str], documented(maxItems=1000)]
Urls = Annotated[list[HttpUrl], documented(maxItems=manage_watches.MOST_URLS)]
SomeUrls = Annotated[list[HttpUrl], documented(minItems=1, maxItems=manage_watches.MOST_URLS)]

# How the fields of a body can't be combined. A field that is left out fits anything under
# `properties`.
IMPOSSIBLE: dict[str, list[dict[str, Any]]] = {
    "AddWatchBody": [
        {"properties": {"url": {"type": "null"}, "urls": {"maxItems": 0}}},
        {
            "required": ["url", "urls"],
            "properties": {
                "url": {"type": "string"}, "urls": {"minItems": manage_watches.MOST_URLS},
            },
        },
    ],
    "ScheduleBody": [
        {"properties": {"everyMinutes": {"type": "null"}, "cron": {"type": "null"}}},
        {
            "required": ["everyMinutes", "cron"],
            "properties": {"everyMinutes": {"type": "number"}, "cron": {"type": "string"}},
        },
    ],
    "DeadLetterChoice": [
        {"properties": {"ids": {"maxItems": 0}, "all": {"const": False}}},
        {
            "required": ["ids", "all"],
            "properties": {"ids": {"minItems": 1}, "all": {"const": True}},
        },
        {
            "required": ["before"],
            "properties": {"before": {"type": "string"}, "all": {"const": False}},
        },
    ],
}  # fmt: skip
EVENT = {
    "type": "object",
    "required": ["jobId", "url"],
    "properties": {
        "jobId": {"anyOf": [{"type": "string", "format": "job-id"}, {"type": "integer"}]},
        "url": HTTP_URL,
    },
    "description": "A message of the queue `storage-agent`: docs/watch.md has its fields",
}
EVENTS = {"anyOf": [EVENT, {"type": "array", "items": EVENT, "minItems": 1, "maxItems": 1000}]}
OPML = {"type": "string", "format": "opml"}
_ITEMS = {
    "type": "array",
    "items": {"anyOf": [{"type": "string"}, {"type": "object"}]},
    "maxItems": 10_000,
}
# One that can't be fetched is refused in its own result.
BATCH_URL = {
    "anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "properties": {"url": {"type": "string"}},
            "required": ["url"],
            "additionalProperties": False,
        },
    ],
    "examples": ["https://example.com/"],
}
BATCH = {"type": "array", "items": BATCH_URL, "maxItems": 10_000}
_LINES = {
    "description": "OPML, or URLs line by line, with comments behind #",
    "anyOf": [OPML, {"type": "string", "pattern": r"^\s*[^\s#<\[{]"}],
}
WATCH_LIST: dict[str, Any] = {
    "text/plain": _LINES,
    "text/x-opml": _LINES,
    "application/json": {
        "description": "URLs or watches, in an array or in the field `data` or `watches`. What is "
        "wrong with one of them is in the response",
        "anyOf": [{"type": "object"}, _ITEMS | {"minItems": 1}],
    },
}
