"""The budget of the watch pipeline, and what goes when it is used up.

Sizes are measured every few seconds; what is stored in between is not counted. The database removes
what has expired by itself.
"""

from __future__ import annotations

import asyncio
import time

from pymongo import ASCENDING
from pymongo.errors import OperationFailure

from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.documents import Document
from webloom.adapters.mongodb.indexes import Collection
from webloom.domain.retention import prune_goal, storage_full
from webloom.ports.page_storage import Usage

MEASURED_SECONDS = 5.0
_AT_ONCE = 500  # items removed by one command
_NOT_FOUND = 26


class MongoPageStorage:
    """`budget`: bytes that watch data may take, about."""

    def __init__(self, database: MongoDatabase, *, budget: int) -> None:
        self._db = database
        self._budget = budget
        self._size = 0
        self._measured_at: float | None = None
        self._is_full = False
        self._measuring = asyncio.Lock()

    async def make_room(self) -> None:
        """Raises StorageFull."""
        if await self.is_full():
            raise storage_full(self._size, self._budget)

    async def is_full(self) -> bool:
        if self._is_fresh():
            return self._is_full
        async with self._measuring:
            if not self._is_fresh():
                await self._measure()
        return self._is_full

    async def prune(self) -> int:
        async with self._measuring:
            return await self._measure()

    def _is_fresh(self) -> bool:
        return (
            self._measured_at is not None
            and time.monotonic() - self._measured_at < MEASURED_SECONDS
        )

    async def _measure(self) -> int:
        removed = 0
        await self._db.measure_room()
        with self._db.use():
            self._size = await self._total()
            room = self._db.room
            goal = prune_goal(
                self._size,
                self._budget,
                excess=room.excess,
                is_database_full=room.full is not None,
            )
            if goal is not None:
                # Nothing is written: a full database can be pruned.
                for collection, chosen, size in (
                    (self._db.snapshots, {}, goal.bytes),
                    (self._db.change_logs, {"untold": {"$ne": True}}, goal.bytes),
                    (self._db.price_history, {}, goal.bytes),
                    (self._db.change_logs, {}, goal.pending),
                ):
                    removed += await self._remove_oldest(collection, chosen, size)
                await self._db.measure_room()
            self._is_full = self._size > self._budget
        self._measured_at = time.monotonic()
        return removed

    async def _remove_oldest(self, collection: Collection, chosen: Document, goal: int) -> int:
        """Until no more bytes are taken than that. The first to expire go first, and so what is a
        delta goes before what it was made with."""
        superseded = chosen | {"expireAt": {"$exists": True}}
        removed = 0
        while self._size > goal:
            found = await collection.find(
                superseded,
                {"bytes": {"$bsonSize": "$$ROOT"}},
                sort=[("expireAt", ASCENDING)],
                limit=_AT_ONCE,
            ).to_list()
            keys = []
            for each in found:
                if self._size <= goal:
                    break
                keys.append(each["_id"])
                self._size -= each["bytes"]
            if not keys:
                break
            # One that has become the newest meanwhile stays.
            gone = await collection.delete_many(superseded | {"_id": {"$in": keys}})
            removed += gone.deleted_count
        return removed

    async def usage(self, *, with_superseded: bool = True) -> list[Usage]:
        with self._db.use():
            return [
                await self._usage(collection, with_superseded=with_superseded)
                for collection in self._collections()
            ]

    async def _usage(self, collection: Collection, *, with_superseded: bool) -> Usage:
        stats = await _stats(collection)
        found = await self._superseded(collection) if with_superseded else None
        superseded = found or {"items": 0, "bytes": 0}
        return Usage(
            collection=collection.name,
            items=int(stats["count"]),
            bytes=_bytes(stats),
            superseded_items=superseded["items"],
            superseded_bytes=superseded["bytes"],
        )

    async def _superseded(self, collection: Collection) -> Document | None:
        grouped = await collection.aggregate(
            [
                {"$match": {"expireAt": {"$exists": True}}},
                {
                    "$group": {
                        "_id": None,
                        "items": {"$sum": 1},
                        "bytes": {"$sum": {"$bsonSize": "$$ROOT"}},
                    }
                },
            ]
        )
        return next(iter(await grouped.to_list()), None)

    async def _total(self) -> int:
        return sum([_bytes(await _stats(collection)) for collection in self._collections()])

    def _collections(self) -> tuple[Collection, ...]:
        db = self._db
        return (
            db.pages,
            db.snapshots,
            db.price_history,
            db.change_logs,
            db.job_runs,
            db.watches,
            db.watch_ledger,
            db.notices,
        )


async def _stats(collection: Collection) -> Document:
    try:
        return await collection.database.command("collStats", collection.name)
    except OperationFailure as error:
        if error.code != _NOT_FOUND:
            raise
        return {"count": 0, "size": 0, "totalIndexSize": 0}


def _bytes(stats: Document) -> int:
    """As the server counts them against a quota: uncompressed, with the indexes."""
    return int(stats["size"]) + int(stats["totalIndexSize"])
