"""Feeds, runs and postings of a MongoDB database, whole: to be carried elsewhere, or brought here.

The ledger is not carried. A run that was under way comes with its counters as they stood and in
nobody's hands; who takes it up begins with its first batch, and the postings say what was counted.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Generic, TypeVar

import bson
from bson.raw_bson import DEFAULT_RAW_BSON_OPTIONS, RawBSONDocument
from pymongo import UpdateOne
from pymongo.errors import BulkWriteError

from webloom.adapters.mongodb.archive import SCANNED_AT_ONCE, fingerprint_of, split_batch
from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.documents import Document, literal, plain
from webloom.adapters.mongodb.errors import DUPLICATE_KEY
from webloom.adapters.mongodb.import_feeds import WITHOUT_RUN, feed_document, feed_of
from webloom.adapters.mongodb.import_runs_documents import run_document, run_of
from webloom.adapters.mongodb.indexes import Collection
from webloom.adapters.mongodb.postings_documents import (
    id_of,
    mark_text,
    new_document,
    stored_posting,
)
from webloom.adapters.mongodb.postings_words import list_of
from webloom.domain.feed import Feed
from webloom.domain.import_run import ImportRun
from webloom.ports.archive import LARGE_SLICE, Fingerprint, Slice
from webloom.ports.import_store import StoredPosting

Item = TypeVar("Item")


class _MongoArchive(ABC, Generic[Item]):
    """One collection. An _id says all about where an item stands, and never changes."""

    fields: Document | None = None  # that are read
    dates: tuple[str, ...]  # the latest of them says which of two items is newer
    kept: tuple[str, ...] = ()  # of the document here, when it is replaced

    def __init__(self, database: MongoDatabase, collection: Collection) -> None:
        self._db = database
        self._documents = collection
        self._raw = collection.with_options(codec_options=DEFAULT_RAW_BSON_OPTIONS)
        self._copies = database.copies

    @abstractmethod
    def key(self, item: Item) -> str: ...

    @abstractmethod
    def document(self, item: Item) -> Document: ...

    @abstractmethod
    def item(self, document: Document) -> Item | None:
        """None: another program has made something else of it."""

    @abstractmethod
    def moment(self, item: Item) -> datetime: ...

    @abstractmethod
    def size(self, item: Item) -> int:
        """About, in characters."""

    async def count(self) -> int:
        with self._db.use():
            return await self._documents.estimated_document_count()

    async def read(self, position: str | None, limit: int) -> Slice[Item]:
        behind = {"_id": {"$gt": position or ""}}  # an _id of ours is a text
        items: list[Item] = []
        size = read = 0
        with self._db.use():
            async with self._documents.find(
                behind, self.fields, sort={"_id": 1}, limit=limit, batch_size=limit
            ) as documents:
                async for document in documents:
                    read += 1
                    if (item := self.item(document)) is not None:
                        items.append(item)
                        size += self.size(item)
                    if read == limit or size >= LARGE_SLICE:
                        return Slice(items=items, position=document["_id"])
        return Slice(items=items, position=None)

    async def same_as(self, items: Sequence[Item]) -> list[Item | None]:
        keys = [self.key(item) for item in items]
        with self._db.use():
            documents = self._documents.find(
                {"_id": {"$in": keys}}, self.fields, batch_size=len(keys) + 1
            )
            found = {each["_id"]: self.item(each) for each in await documents.to_list()}
        return [found.get(key) for key in keys]

    async def write(self, items: Sequence[Item]) -> Fingerprint:
        encoded = [bson.encode(self.document(item)) for item in items]
        with self._db.use():
            try:
                await self._raw.insert_many([RawBSONDocument(each) for each in encoded], False)
            except BulkWriteError as error:
                failures = error.details["writeErrors"]
                if any(failure["code"] != DUPLICATE_KEY for failure in failures):
                    raise
                known = [failure["index"] for failure in failures]
                replacing = [self._replacing(items[each], encoded[each]) for each in known]
                await self._raw.bulk_write(replacing, ordered=False)
        return fingerprint_of(encoded)

    def _replacing(self, item: Item, encoded: bytes) -> UpdateOne:
        latest = {"$max": [f"${name}" for name in self.dates]}
        kept = {name: f"${name}" for name in self.kept}
        return UpdateOne(
            {"_id": self.key(item), "$expr": {"$lte": [latest, self.moment(item)]}},
            [{"$replaceWith": {"$mergeObjects": [literal(RawBSONDocument(encoded)), kept]}}],
        )

    async def fingerprint(self, progress: Callable[[int], None]) -> Fingerprint:
        total = Fingerprint()
        reading = asyncio.create_task(self._scan(""))
        try:
            while documents := await reading:
                last = RawBSONDocument(bytes(documents[-1]))["_id"]
                reading = asyncio.create_task(self._scan(last))
                total += await asyncio.to_thread(fingerprint_of, documents)
                progress(len(documents))
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
        return total

    async def _scan(self, after: str) -> list[memoryview]:
        with self._db.use():
            cursor = self._documents.find_raw_batches({"_id": {"$gt": after}})
            ordered = cursor.sort("_id", 1).limit(SCANNED_AT_ONCE).batch_size(SCANNED_AT_ONCE)
            async with ordered as batches:
                batch: Any  # bytes, whatever the types say
                async for batch in batches:  # the first is as large as an answer may be
                    return list(split_batch(batch))
        return []

    def is_newer(self, one: Item, other: Item) -> bool:
        return self.moment(one) > self.moment(other)

    async def copied_until(self, source: str) -> str | None:
        with self._db.use():
            found = await self._copies.find_one({"_id": self._place_of(source)})
        return None if found is None else str(found["position"])

    async def note_copied(self, source: str, position: str | None) -> None:
        place = {"_id": self._place_of(source)}
        with self._db.use():
            if position is None:
                await self._copies.delete_one(place)
            else:
                await self._copies.replace_one(place, place | {"position": position}, upsert=True)

    def _place_of(self, source: str) -> str:
        return f"{self._documents.name} {plain(source)}"


class MongoFeedArchive(_MongoArchive[Feed]):
    fields = WITHOUT_RUN
    dates = ("updatedAt", "lastRunAt")
    kept = ("revision",)

    def __init__(self, database: MongoDatabase) -> None:
        super().__init__(database, database.feeds)

    def key(self, item: Feed) -> str:
        return plain(item.feed_id)

    def document(self, item: Feed) -> Document:
        return feed_document(item)

    def item(self, document: Document) -> Feed:
        return feed_of(document)

    def moment(self, item: Feed) -> datetime:
        return max(item.updated_at, item.last_run_at or item.updated_at)

    def size(self, item: Feed) -> int:
        return 0


class MongoRunArchive(_MongoArchive[ImportRun]):
    dates = ("updatedAt",)
    kept = ("work",)

    def __init__(self, database: MongoDatabase) -> None:
        super().__init__(database, database.import_logs)

    def key(self, item: ImportRun) -> str:
        return plain(item.run_id)

    def document(self, item: ImportRun) -> Document:
        work = {
            "token": 0,
            "owner": None,
            "lease": 0.0,
            "started": item.started_at.timestamp(),  # about; the timeline follows the wall clock
            "revision": 0,
            "ending": None,
        }
        return run_document(item) | {"work": work}

    def item(self, document: Document) -> ImportRun:
        return run_of(document)

    def moment(self, item: ImportRun) -> datetime:
        return item.updated_at

    def size(self, item: ImportRun) -> int:
        return sum(len(each.sample) for each in item.failures + item.reading.failures)


class MongoPostingArchive(_MongoArchive[StoredPosting]):
    dates = ("updatedAt", "closedAt")

    def __init__(self, database: MongoDatabase) -> None:
        super().__init__(database, database.jobs)

    def key(self, item: StoredPosting) -> str:
        return plain(id_of(item.posting))

    def document(self, item: StoredPosting) -> Document:
        document = new_document(
            item.posting,
            created_at=item.created_at,
            updated_at=item.updated_at,
            created_by=mark_text(item.created_by),
        )
        if item.changed_by != item.created_by:
            document["changedBy"] = mark_text(item.changed_by)
        if item.closed_by is not None:
            document |= {"closedAt": item.closed_at, "closedBy": item.closed_by}
        return document

    async def write(self, items: Sequence[StoredPosting]) -> Fingerprint:
        listed = [(self.key(item), item.posting) for item in items]
        with self._db.use():
            await self._db.job_words.insert_one(list_of(listed))
        return await super().write(items)

    def item(self, document: Document) -> StoredPosting | None:
        return stored_posting(document)

    def moment(self, item: StoredPosting) -> datetime:
        return max(item.updated_at, item.closed_at or item.updated_at)

    def size(self, item: StoredPosting) -> int:
        return len(item.posting.description or "")
