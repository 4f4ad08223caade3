"""The commands that storing an event is made of, each shared with the events that come at the same
time. Every one of them is of single documents, and may be made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from pymongo import UpdateMany, UpdateOne
from pymongo.errors import BulkWriteError

from webloom.adapters.mongodb.batching import Batcher
from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import Document
from webloom.adapters.mongodb.errors import DUPLICATE_KEY
from webloom.adapters.mongodb.indexes import IN_PLACE, NOT_SUPERSEDED, Collection
from webloom.domain.errors import WebloomError

ROW = dict.fromkeys(
    ("page", "place", "claimed", "version", "previous", "base", "bare", "moved", "expireAt"), True
)
HEAD = dict.fromkeys(("places", "version", "contentKey", "lastUpdated", "muted"), True)
MOST_TRIES = 5  # of making a document that others make at the same time

Operation = UpdateOne | UpdateMany


class Inserted(Enum):
    CREATED = "created"
    EXISTS = "exists"  # the same document is there already
    CONFLICT = "conflict"  # another document has its number


class PageUpdate(NamedTuple):
    key: str
    update: list[Document]


class VersionRange(NamedTuple):
    """Versions of a page, from a place on."""

    page: str
    start: str


class PageWrites:
    def __init__(self, database: MongoDatabase) -> None:
        self._db = database
        self.heads: Batcher[str, Document | None] = database.batcher(self._heads)
        self.newest: Batcher[str, list[Document]] = database.batcher(self._newest)
        self.rows: Batcher[VersionRange, list[Document]] = database.batcher(self._rows)
        self.pages: Batcher[PageUpdate, None] = database.batcher(self._update_pages)
        self.versions = self._inserts(database.snapshots)
        self.prices = self._inserts(database.price_history)
        self.logs = self._inserts(database.change_logs)
        self.change_versions = self._changes(database.snapshots)
        self.change_prices = self._changes(database.price_history)

    async def _heads(self, keys: list[str]) -> list[Document | WebloomError | None]:
        with self._db.use():
            found = await self._db.pages.find({"_id": {"$in": keys}}, HEAD).to_list()
        by_key = {each["_id"]: each for each in found}
        return [by_key.get(key) for key in keys]

    async def _newest(self, keys: list[str]) -> list[list[Document] | WebloomError]:
        """The version of each page that is not superseded, with its content; several while
        somebody is at it."""
        with self._db.use():
            found = self._db.snapshots.find(
                {"page": {"$in": list(set(keys))}, "expireAt": None},
                ROW | {"parsed": True},
                hint=NOT_SUPERSEDED,
            )
            by_page = _by_page(await found.to_list())
        return [by_page.get(key, []) for key in keys]

    async def _rows(self, ranges: list[VersionRange]) -> list[list[Document] | WebloomError]:
        wanted = [{"page": each.page, "place": {"$gte": each.start}} for each in ranges]
        with self._db.use():
            found = self._db.snapshots.find({"$or": wanted}, ROW, hint=IN_PLACE)
            by_page = _by_page(await found.to_list())
        return [
            [row for row in by_page.get(each.page, []) if row["place"] >= each.start]
            for each in ranges
        ]

    async def _update_pages(self, updates: list[PageUpdate]) -> list[WebloomError | None]:
        with self._db.use():
            await update_pages(self._db.pages, updates)
        return [None] * len(updates)

    def _inserts(self, collection: Collection) -> Batcher[Document, Inserted]:
        async def insert(documents: list[Document]) -> Sequence[Inserted | WebloomError]:
            with self._db.use():
                try:
                    await collection.insert_many(documents, ordered=False)
                except BulkWriteError as error:
                    failed = _duplicates(error)
                else:
                    failed = {}
            return [_inserted(failed.get(index)) for index in range(len(documents))]

        return self._db.batcher(insert)

    def _changes(self, collection: Collection) -> Batcher[Operation, None]:
        async def change(operations: list[Operation]) -> Sequence[WebloomError | None]:
            with self._db.use():
                await collection.bulk_write(operations, ordered=False)
            return [None] * len(operations)

        return self._db.batcher(change)


async def update_pages(pages: Collection, updates: Iterable[PageUpdate]) -> None:
    """Pages that are not there are added, also if others add them at the same time."""
    missing = [UpdateOne({"_id": each.key}, each.update, upsert=True) for each in updates]
    for _ in range(MOST_TRIES):
        failed = await bulk(pages, missing)
        if not failed:
            return
        missing = [missing[index] for index in failed]
    await pages.bulk_write(missing)


async def bulk(
    collection: Collection, operations: Sequence[Operation], *, ordered: bool = False
) -> dict[int, Mapping[str, Any]]:
    """The operations that met a key which is there, and what the server says of each."""
    if not operations:
        return {}
    try:
        await collection.bulk_write(operations, ordered=ordered)
    except BulkWriteError as error:
        return _duplicates(error)
    return {}


def _duplicates(error: BulkWriteError) -> dict[int, Mapping[str, Any]]:
    details = error.details
    failed = {each["index"]: each for each in details["writeErrors"]}
    if details["writeConcernErrors"] or any(
        each["code"] != DUPLICATE_KEY for each in failed.values()
    ):
        raise error
    return failed


def _inserted(failure: Mapping[str, Any] | None) -> Inserted:
    if failure is None:
        return Inserted.CREATED
    return Inserted.EXISTS if "_id" in failure["keyPattern"] else Inserted.CONFLICT


def _by_page(documents: list[Document]) -> dict[str, list[Document]]:
    """In the order of their places."""
    by_page: dict[str, list[Document]] = {}
    for document in sorted(documents, key=lambda each: str(each["place"])):
        by_page.setdefault(document["page"], []).append(document)
    return by_page
