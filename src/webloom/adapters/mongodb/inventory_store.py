"""The inventory in MongoDB: one document for each URL."""

from __future__ import annotations

from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.documents import Document
from webloom.adapters.mongodb.record_codec import WITH_SOURCE, WITHOUT_SOURCE, record_of
from webloom.adapters.mongodb.record_listing import counts, quiet_requests, records_page
from webloom.adapters.mongodb.records import MongoRecords
from webloom.domain.errors import WebloomError
from webloom.domain.inventory import (
    LargeSource,
    Record,
    RecordFilter,
    RecordPage,
    Status,
    url_key,
)
from webloom.domain.request_state import NotedRequest
from webloom.stores.inventory import StoredInventory

SOURCE = "page_source"
WHOLE = 1 << 62  # bytes: more than any source has


class MongoInventoryStore(StoredInventory):
    def __init__(self, database: MongoDatabase) -> None:
        super().__init__(MongoRecords(database))
        self._db = database
        self._finding = database.batcher(self._find)
        self._finding_without_source = database.batcher(self._find)

    async def find(self, url: str, *, most: int | None = None) -> Record | None:
        finding = self._finding_without_source if most == 0 else self._finding
        return await finding.ask((url_key(url), WHOLE if most is None else most))

    async def page_of_records(
        self, chosen: RecordFilter, *, limit: int, cursor: str | None = None
    ) -> RecordPage:
        return await records_page(self._db, chosen, limit, cursor)

    async def count_by_status(self) -> dict[Status, int]:
        return await counts(self._db)

    async def forgotten_requests(self, *, quiet_for: float, limit: int) -> list[NotedRequest]:
        return await quiet_requests(self._db, self._db.now() - quiet_for, limit)

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
