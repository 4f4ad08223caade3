"""Lists of configured things, which can be sorted by several fields.

    {…, tags: [...], tagKeys: [...], search, searchedAt}

`tagKeys` are the keys of the tags, and `search` is what is searched; `searchedAt` is the
`updatedAt` of the edit that it comes from (list_upkeep.py). A page is read along the index
of its order, or through another one that knows few documents of a filter: the server chooses.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any, Generic, TypeVar

from pymongo import ASCENDING, DESCENDING

from webloom.adapters.mongodb.cursors import moment
from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.indexes import Collection
from webloom.domain.feed import FeedConfig
from webloom.domain.listing import Count, ListedState, ListFilter, Order, SortField, counted_to
from webloom.domain.search import terms_of
from webloom.domain.storage_event import milliseconds_of
from webloom.domain.tags import MOST_LISTED, TagCount, tag_key
from webloom.domain.watch import WatchConfig
from webloom.stores.cursors import ListPlace, Part, cursor_at, kind_of, parts_after, place_of

State = TypeVar("State")

_COUNTED_TAGS: list[Document] = [
    {"$match": {"tagKeys": {"$gt": ""}, "tags": {"$type": "array"}}},
    {"$project": {"pairs": {"$zip": {"inputs": ["$tagKeys", "$tags"]}}}},
    {"$unwind": "$pairs"},
    {
        "$group": {
            "_id": {"$first": "$pairs"},
            "tag": {"$min": {"$last": "$pairs"}},
            "count": {"$sum": 1},
        }
    },
    {"$sort": {"count": DESCENDING, "_id": ASCENDING}},
    {"$limit": MOST_LISTED},
]
_MOMENTS = (SortField.NEXT_RUN, SortField.LAST_RUN, SortField.CREATED)
_STATES: dict[ListedState, Document] = {
    ListedState.ENABLED: {"enabled": True},
    ListedState.PAUSED: {"enabled": False, "external": {"$ne": True}},
    ListedState.FAILING: {"failures": {"$gt": 0}},
    ListedState.CHECKING: {"activeRunId": {"$type": "string"}},
}


def derived(config: FeedConfig | WatchConfig, edited_at: datetime) -> Document:
    return {
        "tagKeys": [plain(tag_key(each)) for each in config.tags],
        "search": plain(config.searchable),
        "searchedAt": edited_at,
    }


def wanted_by(chosen: ListFilter) -> Document:
    wanted: Document = {} if chosen.state is None else {**_STATES[chosen.state]}
    if terms := terms_of(chosen.text or ""):
        needles = [re.escape(plain(term.needle)) for term in terms]
        wanted["$and"] = [{"search": {"$regex": each}} for each in needles]
    if chosen.tag is not None:
        wanted["tagKeys"] = plain(tag_key(chosen.tag))
    return wanted


class SortedList(Generic[State]):
    """The primitive `SortedItems`. Every field of an order has an index, with the _id behind it."""

    def __init__(
        self,
        database: MongoDatabase,
        collection: Collection,
        shown: Any,  # a projection
        decode: Callable[[Document], State],
    ) -> None:
        self._db = database
        self._collection = collection
        self._shown = shown
        self._decode = decode

    async def page(
        self, chosen: ListFilter, order: Order, *, limit: int, cursor: str | None
    ) -> tuple[list[State], str | None]:
        wanted = wanted_by(chosen)
        after = None if cursor is None else place_of(cursor, kind_of(order.field))
        found: list[Document] = []
        for part in parts_after(after):
            if len(found) <= limit:
                behind = _behind(order, part, cursor)
                found += await self._find(wanted, behind, order, limit + 1 - len(found))
        shown = [self._decode(each) for each in found[:limit]]
        is_last = len(found) <= limit
        return shown, None if is_last else cursor_at(_place(order.field, found[limit - 1]))

    async def _find(
        self, wanted: Document, behind: Document, order: Order, limit: int
    ) -> list[Document]:
        with self._db.use():
            found = self._collection.find(
                {"$and": [behind, wanted]}, self._shown, sort=keys_of(order), limit=limit
            )
            return await found.to_list()

    async def count(self, chosen: ListFilter, *, most: int) -> Count:
        with self._db.use():
            counted = await self._collection.database.command(
                "count", self._collection.name, query=wanted_by(chosen), limit=most + 1
            )
        return counted_to(most, counted["n"])

    async def tags(self) -> list[TagCount]:
        with self._db.use():
            counted = await self._collection.aggregate(_COUNTED_TAGS, allowDiskUse=True)
            found = await counted.to_list()
        return [
            TagCount(tag=each["tag"], count=each["count"])
            for each in sorted(found, key=lambda each: each["_id"])
        ]


def _behind(order: Order, part: Part, cursor: str | None) -> Document:
    if not part.has_value:
        return without_value(order, part.after and part.after.key)
    if part.after is None or cursor is None:
        return with_value(order, None)
    value, key = part.after
    at = moment(int(value or 0), cursor) if order.field in _MOMENTS else value
    return with_value(order, (at, key))


def _place(field: SortField, last: Document) -> ListPlace:
    value = last[field.value]
    is_moment = value is not None and field in _MOMENTS
    return ListPlace(milliseconds_of(value) if is_moment else value, last["_id"])


def keys_of(order: Order) -> list[tuple[str, int]]:
    direction = DESCENDING if order.is_descending else ASCENDING
    return [(order.field.value, direction), ("_id", direction)]


def with_value(order: Order, after: tuple[Any, str] | None) -> Document:
    """Documents that have a value, in the order's range."""
    name = order.field.value
    if after is None:
        return {name: {"$ne": None}}
    value, key = after
    than = "$lt" if order.is_descending else "$gt"
    return {name: {f"{than}e": value}, "$or": [{name: {than: value}}, {"_id": {than: key}}]}


def without_value(order: Order, after: str | None) -> Document:
    behind = {"_id": {"$lt" if order.is_descending else "$gt": after}}
    return {order.field.value: None} | ({} if after is None else behind)
