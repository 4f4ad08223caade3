"""The inventory in MongoDB: one document for each URL."""

from __future__ import annotations

from typing import Any

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


class MongoInventoryStore(StoredInventory):
    def __init__(self, database: MongoDatabase) -> None:
        super().__init__(MongoRecords(database))
        self._db = database
        self._finding = database.batcher(self._find)
        self._finding_whole = database.batcher(self._find_whole)
        self._finding_small = database.batcher(self._find_small)

    async def find(self, url: str, *, most: int | None = None) -> Record | None:
        if not most:
            finding = self._finding_whole if most is None else self._finding
            document = await finding.ask(url_key(url))
            return None if document is None else record_of(document)
        document = await self._finding_small.ask((url_key(url), most))
        if document is None:
            return None
        source = document["metadata"].pop(SOURCE, None)
        size = source if isinstance(source, int) else len((source or "").encode())
        if size > most:
            return LargeSource.of(record_of(document), size)
        document["metadata"][SOURCE] = source
        return record_of(document)

    async def page_of_records(
        self, chosen: RecordFilter, *, limit: int, cursor: str | None = None
    ) -> RecordPage:
        return await records_page(self._db, chosen, limit, cursor)

    async def count_by_status(self) -> dict[Status, int]:
        return await counts(self._db)

    async def forgotten_requests(self, *, quiet_for: float, limit: int) -> list[NotedRequest]:
        return await quiet_requests(self._db, self._db.now() - quiet_for, limit)

    # What follows serves many calls at once.

    async def _find(self, keys: list[str]) -> list[Document | WebloomError | None]:
        return await self._documents(keys, [{"$project": WITHOUT_SOURCE}])

    async def _find_whole(self, keys: list[str]) -> list[Document | WebloomError | None]:
        return await self._documents(keys, [{"$project": WITH_SOURCE}])

    async def _find_small(
        self, items: list[tuple[str, int]]
    ) -> list[Document | WebloomError | None]:
        """In the place of a source that is longer than anybody wants stands its size in bytes."""
        source = f"$metadata.{SOURCE}"
        size = {"$strLenBytes": {"$ifNull": [source, ""]}}
        longest = max(most for _, most in items)
        small = {"$cond": [{"$gt": [size, longest]}, size, source]}
        return await self._documents(
            [key for key, _ in items],
            [{"$project": WITH_SOURCE}, {"$set": {f"metadata.{SOURCE}": small}}],
        )

    async def _documents(
        self, keys: list[str], shown: list[dict[str, Any]]
    ) -> list[Document | WebloomError | None]:
        wanted = {"$match": {"_id": {"$in": list(set(keys))}}}
        with self._db.use():
            found = await self._db.records.aggregate([wanted, *shown], batchSize=len(keys) + 1)
            by_key = {document["_id"]: document for document in await found.to_list()}
        return [by_key.get(key) for key in keys]
