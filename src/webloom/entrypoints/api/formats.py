"""Texts of requests as the OpenAPI document describes them.

These constraints are documented here and checked where the value is used, which can say in a
sentence what is wrong. A `format` names what no pattern can express: docs/api.md has the list.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec

from webloom.application.bulk import MOST_GIVEN
from webloom.application.inbox.decide_entries import MOST_DECIDED
from webloom.application.watch import manage_watches
from webloom.domain.names import LONGEST_NAME
from webloom.domain.schedule import LONGEST_CRON, LONGEST_MINUTES, SHORTEST_MINUTES
from webloom.domain.tags import LONGEST_TAG, MOST_TAGS
from webloom.parsing.feeds.mapping import FIELDS
from webloom.parsing.pages.selection import MAX_SELECTORS


def schema(**keywords: Any) -> msgspec.Meta:
    """Keywords of JSON Schema that only describe; msgspec checks none of them."""
    examples = keywords.pop("examples", None)
    return msgspec.Meta(examples=examples, extra_json_schema=keywords)


HTTP_URL = {"type": "string", "format": "http-url", "examples": ["https://example.com/"]}
_MINUTES = {"minimum": SHORTEST_MINUTES, "maximum": LONGEST_MINUTES}
_SOME = {"maxItems": MAX_SELECTORS}

HttpUrl = Annotated[str, schema(format="http-url", examples=["https://example.com/"])]
Address = Annotated[str, schema(format="address", examples=["example.com/jobs"])]
FeedUrl = Annotated[str, schema(format="http-url", examples=["https://example.com/jobs.xml"])]
_NAME = {"format": "name", "maxLength": LONGEST_NAME, "examples": ["Example"]}
Name = Annotated[str, schema(**_NAME)]
RequiredName = Annotated[str, schema(**_NAME, minLength=1)]
Minutes = Annotated[float, schema(**_MINUTES, examples=[60])]
FieldPath = Annotated[str, schema(format="feed-path", examples=["author"])]
Mapping = Annotated[
    dict[str, FieldPath], schema(propertyNames={"enum": list(FIELDS)}, examples=[{}])
]
Cron = Annotated[str, schema(format="cron", maxLength=LONGEST_CRON, examples=["*/10 * * * *"])]
TimeZone = Annotated[str, schema(format="time-zone", examples=["Europe/Berlin"])]
Selector = Annotated[str, schema(format="selector", examples=["main"])]
Phrase = Annotated[str, schema(format="phrase", examples=["sold out"])]
Pattern = Annotated[str, schema(format="re2", examples=["[0-9]+ visitors"])]
Selectors = Annotated[list[Selector], schema(**_SOME)]
Phrases = Annotated[list[Phrase], schema(maxItems=manage_watches.MOST_PHRASES)]
Patterns = Annotated[list[Pattern], schema(**_SOME)]
Ignored = Annotated[list[Phrase], schema(**_SOME)]
TargetUrl = Annotated[str, schema(format="notification-url", examples=["https://example.com/hook"])]
# Of filters in bodies, as the query parameters are limited.
Query = Annotated[str, msgspec.Meta(max_length=200)]
LongUrl = Annotated[str, msgspec.Meta(max_length=8192)]
PageUrl = Annotated[str, msgspec.Meta(max_length=8192, examples=["https://example.com/"])]
WatchId = Annotated[str, msgspec.Meta(max_length=200, examples=["5f0c2c0f9a1b3d5e"])]
PageType = Annotated[str, msgspec.Meta(max_length=40)]
# Since 1970. JSON does not tell 28 from 28.0.
Milliseconds = Annotated[float, msgspec.Meta(ge=0, le=253_402_300_799_999)]
TagQuery = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Tag = Annotated[str, schema(format="tag", minLength=1, maxLength=LONGEST_TAG, examples=["shop"])]
Tags = Annotated[list[Tag], schema(maxItems=MOST_TAGS)]
Secret = Annotated[str, schema(minLength=1, maxLength=manage_watches.LONGEST_SECRET)]
DigestMinutes = Annotated[
    float,
    schema(minimum=manage_watches.SHORTEST_DIGEST, maximum=manage_watches.LONGEST_DIGEST),
]
LetterIds = Annotated[list[str], schema(maxItems=1000)]
Urls = Annotated[list[Address], schema(maxItems=manage_watches.MOST_URLS)]
SomeUrls = Annotated[list[Address], schema(minItems=1, maxItems=manage_watches.MOST_URLS)]

Instant = Annotated[datetime, msgspec.Meta(tz=True)]
# With the pattern, because beside `not` a `format` alone does not limit what a client makes up.
_DATE = r"(?!0000)\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
_TIME = r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)?"
Moment = Annotated[
    datetime,
    schema(pattern=f"^{_DATE}[Tt ]{_TIME}$", examples=["2026-11-01T00:00:00Z"]),
]
# Items that a filter may find: as many as a person has seen. If it finds more, nothing is done.
AtMost = Annotated[float, msgspec.Meta(ge=0, le=1_000_000_000)]
Ids = Annotated[list[str], schema(maxItems=MOST_GIVEN)]
DecidedIds = Annotated[
    list[str], schema(maxItems=MOST_DECIDED, examples=[["page-0f9d5a526c0a5d0e9a866f2f3f1d6f0b"]])
]
DecidedState = Annotated[Literal["unread", "done", "snoozed"], schema(examples=["done"])]
# One that can't be fetched is among the failures.
BulkUrls = Annotated[list[str], schema(maxItems=MOST_GIVEN)]


def _one_of(name: str) -> list[dict[str, Any]]:
    return [
        {"properties": {name: {"type": "null"}, "filter": {"type": "null"}}},
        {
            "required": [name, "filter"],
            "properties": {name: {"type": "array"}, "filter": {"type": "object"}},
        },
    ]


_CHOOSING = {"action": {"not": {"const": "restore"}}}
_BULK: list[dict[str, Any]] = [  # one of `ids` and `filter`, except to restore
    {"properties": _CHOOSING | {"ids": {"type": "null"}, "filter": {"type": "null"}}},
    {
        "required": ["ids", "filter"],
        "properties": _CHOOSING | {"ids": {"type": "array"}, "filter": {"type": "object"}},
    },
    {"properties": {"action": {"const": "restore"}, "items": {"maxItems": 0}}},
    {"properties": {"action": {"enum": ["tag", "untag"]}, "tags": {"maxItems": 0}}},
]

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
    "BulkWatchesBody": [
        *_BULK,
        {"properties": {"action": {"const": "schedule"}, "schedule": {"type": "null"}}},
    ],
    "WatchChoice": [
        {
            "required": ["pages", name],
            "properties": {"pages": {"type": "object"}, name: {"type": "string"}},
        }
        for name in ("q", "tag", "state", "before")
    ],
    "BulkFeedsBody": [
        *_BULK,
        {
            "properties": {"action": {"const": "schedule"}},
            "not": {"required": ["intervalMinutes"]},
        },
    ],
    "DecideBody": [
        {"properties": {"state": {"const": "snoozed"}, "until": {"type": "null"}}},
        {
            "required": ["until"],
            "properties": {"state": {"enum": ["unread", "done"]}, "until": {"type": "string"}},
        },
    ],
    "BulkRecordsBody": _one_of("urls"),
    "BulkRunsBody": _one_of("ids"),
    "BulkDeadLettersBody": _one_of("ids"),
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
# Of bodies that require no field, or whose fields mean nothing alone.
EXAMPLES: dict[str, Any] = {
    "BulkWatchesBody": {"action": "pause", "filter": {"tag": "shop"}},
    "BulkFeedsBody": {"action": "tag", "tags": ["shop"], "filter": {"q": "example.com"}},
    "BulkRecordsBody": {"action": "refetch", "urls": ["https://example.com/"]},
    "BulkRunsBody": {"action": "retry", "filter": {"status": "failed"}},
    "BulkDeadLettersBody": {"action": "put-back", "filter": {"q": "timed out"}},
    "DeadLetterChoice": {"ids": ["4c1f"]},
    "EditWatchBody": {"name": "Example", "enabled": False},
}
EVENT = {
    "type": "object",
    "required": ["jobId", "url"],
    "properties": {
        "jobId": {
            "anyOf": [{"type": "string", "format": "job-id"}, {"type": "integer"}],
            "examples": ["prices"],
        },
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
    "description": "OPML, or addresses line by line, with comments behind #",
    "anyOf": [OPML, {"type": "string", "pattern": r"^\s*[^\s#<\[{]"}],
}
WATCH_LIST: dict[str, Any] = {
    "text/plain": _LINES,
    "text/x-opml": _LINES,
    "application/zip": {
        "description": "A backup of changedetection.io",
        "type": "string",
        "format": "changedetection-backup",
    },
    "application/json": {
        "description": "URLs or watches, in an array or in the field `data` or `watches`. What is "
        "wrong with one of them is in the response",
        "anyOf": [{"type": "object"}, _ITEMS | {"minItems": 1}],
        "examples": [["https://example.com/"]],
    },
}
