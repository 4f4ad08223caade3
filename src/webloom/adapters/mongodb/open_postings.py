"""Which postings are open, how vanished ones are closed, and how many there are.

A producer that has lost its run must not close a posting that a later run has found again, and a
batch that finds a posting unchanged leaves no trace on it. So a posting is closed in two steps:

    mark it -> the run is still the producer's -> close it, if the mark is still there

A later run begins only after this one has ended, and thus after the marks were made. Its batches
treat a posting with a mark as closed, and write it again without the mark.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pymongo

from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.indexes import IS_CLOSED, Collection
from webloom.adapters.mongodb.posting_codec import start_of_source

CLOSED_AT_ONCE = 1000
COUNT_SECONDS = 60.0
COUNTED_FOR = 2.0
_BY_KEY = [("dedupeKey", 1)]


async def count_by_index(collection: Collection, query: Document) -> int:
    """By an index alone, which `count_documents` would not be."""
    answer = await collection.database.command("count", collection.name, query=query)
    return int(answer["n"])


class OpenPostings:
    def __init__(self, database: MongoDatabase) -> None:
        self._db = database
        self._postings = database.jobs
        self._counts = (0, 0)
        self._counted_until = 0.0

    async def keys(self, source_url: str, after: str, limit: int) -> list[str]:
        start = start_of_source(source_url)
        with self._db.use():
            found = self._postings.find(
                {
                    "_id": {"$gt": start + plain(after), "$lt": start + "\U0010ffff"},
                    "sourceUrl": plain(source_url),
                    "closedBy": None,
                },
                {"_id": False, "dedupeKey": True},
                sort={"_id": 1},
                hint={"_id": 1},
                limit=limit,
                batch_size=limit,
            )
            return [document["dedupeKey"] for document in await found.to_list()]

    async def mark(self, keys: Sequence[str], mark: str) -> int:
        """Returns how many of them are open."""
        return await self._update(keys, {}, {"$set": {"closingBy": mark}})

    async def unmark(self, keys: Sequence[str], mark: str) -> None:
        await self._update(keys, {"closingBy": mark}, {"$unset": {"closingBy": True}})

    async def close(self, keys: Sequence[str], mark: str, run_id: str) -> int:
        """Returns how many still had the mark and were closed."""
        closed = {"closedAt": self._db.wall(), "closedBy": plain(run_id)}
        change = {"$set": closed, "$unset": {"closingBy": True}}
        return await self._update(keys, {"closingBy": mark}, change)

    async def _update(self, keys: Sequence[str], chosen: Document, change: Document) -> int:
        matched = 0
        with self._db.use():
            for start in range(0, len(keys), CLOSED_AT_ONCE):
                some = [plain(key) for key in keys[start : start + CLOSED_AT_ONCE]]
                wanted = {"dedupeKey": {"$in": some}, "closedBy": None} | chosen
                updated = await self._postings.update_many(wanted, change, hint=_BY_KEY)
                matched += updated.matched_count
        return matched

    async def count(self) -> tuple[int, int]:
        """Open and closed, counted in the indexes: MongoDB's estimates can stay wrong after a
        crash."""
        if self._db.now() >= self._counted_until:
            with self._db.use(), pymongo.timeout(COUNT_SECONDS):
                closed, total = await asyncio.gather(
                    count_by_index(self._postings, IS_CLOSED),
                    count_by_index(self._postings, {"place": {"$gte": b""}}),
                )
            self._counts = max(0, total - closed), closed
            self._counted_until = self._db.now() + COUNTED_FOR
        return self._counts
