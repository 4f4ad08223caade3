"""The inventory in MongoDB: one document for each URL."""

from __future__ import annotations

from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import Document
from webloom.adapters.mongodb.record_codec import WITH_SOURCE, WITHOUT_SOURCE, record_of
from webloom.adapters.mongodb.record_listing import MongoRecordListing
from webloom.adapters.mongodb.records import MongoRecords
from webloom.domain.errors import WebloomError
from webloom.domain.inventory import LargeSource, Record, url_key
from webloom.stores.inventory import StoredInventory

SOURCE = "page_source"
WHOLE = 1 << 62  # bytes: more than any source has


class MongoInventoryStore(StoredInventory, MongoRecordListing):
    def __init__(self, database: MongoDatabase) -> None:
        StoredInventory.__init__(self, MongoRecords(database))
        MongoRecordListing.__init__(self, database)
        self._finding = database.batcher(self._find)
        self._finding_without_source = database.batcher(self._find)

    async def find(self, url: str, *, most: int | None = None) -> Record | None:
        finding = self._finding_without_source if most == 0 else self._finding
        return await finding.ask((url_key(url), WHOLE if most is None else most))

    async def _find(self, items: list[tuple[str, int]]) -> list[Record | WebloomError | None]:
        """For many calls at once. A source that is larger than all of them want is not read: its
        size in bytes takes its place."""
        longest = max(most for _, most in items)
        stages: list[Document] = [
            {"$match": {"_id": {"$in": list({key for key, _ in items})}}},
            {"$project": WITH_SOURCE if longest else WITHOUT_SOURCE},
        ]
        if 0 < longest < WHOLE:
            source = f"$metadata.{SOURCE}"
            size = {"$strLenBytes": {"$ifNull": [source, ""]}}
            small = {"$cond": [{"$gt": [size, longest]}, size, source]}
            stages.append({"$set": {f"metadata.{SOURCE}": small}})
        with self._db.use():
            found = await self._db.records.aggregate(stages, batchSize=len(items) + 1)
            by_key = {document["_id"]: document for document in await found.to_list()}
        return [_limited(by_key[key], most) if key in by_key else None for key, most in items]


def _limited(document: Document, most: int) -> Record:
    size = source = document["metadata"].get(SOURCE)
    if isinstance(source, str):
        size = len(source.encode()) if most < WHOLE else 0
    if not size or size <= most:
        return record_of(document)
    without = document | {"metadata": document["metadata"] | {SOURCE: None}}
    return LargeSource.of(record_of(without), size)
