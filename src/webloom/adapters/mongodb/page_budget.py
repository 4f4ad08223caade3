"""What the watch pipeline may take of the database, and what goes when it is used up.

Sizes are asked for every few seconds; in between, what is stored is not counted.
"""

from __future__ import annotations

import asyncio
import time

from pymongo import ASCENDING
from pymongo.errors import OperationFailure

from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.documents import Document
from webloom.adapters.mongodb.indexes import Collection
from webloom.domain.errors import StorageFull
from webloom.ports.page_store import Usage, relief

LOOK_SECONDS = 5.0
PRUNED_TO = 0.9  # of the budget
_AT_ONCE = 500  # items removed by one command
_NOT_FOUND = 26


class Budget:
    def __init__(self, database: MongoDatabase, budget: int) -> None:
        self._db = database
        self._budget = budget
        self._size = 0
        self._seen_at: float | None = None
        self._is_full = False
        self._looking = asyncio.Lock()

    async def make_room(self) -> None:
        """Raises StorageFull."""
        if await self.is_full():
            raise StorageFull(
                f"the watched pages take {self._size:,} bytes in {self._db.name}, and "
                f"{self._budget:,} is the budget; nothing superseded is left to remove: raise the "
                "budget, or remove watches"
            )

    async def is_full(self) -> bool:
        if self._is_fresh():
            return self._is_full
        async with self._looking:
            if not self._is_fresh():
                await self._look()
        return self._is_full

    async def prune(self) -> int:
        """What has expired the database removes by itself."""
        async with self._looking:
            return await self._look()

    def _is_fresh(self) -> bool:
        return self._seen_at is not None and time.monotonic() - self._seen_at < LOOK_SECONDS

    async def _look(self) -> int:
        removed = 0
        await self._db.measure_room()
        with self._db.use():
            self._size = await self._total()
            if (goal := self._goal()) < self._size:
                removed = await self._prune(goal)
                await self._db.measure_room()
            self._is_full = self._size > self._budget
        self._seen_at = time.monotonic()
        return removed

    def _goal(self) -> int:
        """Bytes to prune to."""
        goal = PRUNED_TO * self._budget if self._size > self._budget else self._size
        if self._db.room.full:
            goal = min(goal, self._size - relief(self._size))
        return int(min(goal, self._size - self._db.room.excess))

    async def _prune(self, goal: int) -> int:
        """How many items. What people are still to be told of goes at last, as far as there is no
        room for it. Nothing is written: a full database can be pruned."""
        fitting = goal if self._db.room.full else max(goal, self._budget)
        removed = 0
        for collection, chosen, size in (
            (self._db.snapshots, {}, goal),
            (self._db.change_logs, {"untold": {"$ne": True}}, goal),
            (self._db.price_history, {}, goal),
            (self._db.change_logs, {}, fitting),
        ):
            removed += await self._remove_oldest(collection, chosen, size)
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

    async def usage(self, *, with_superseded: bool) -> list[Usage]:
        with self._db.use():
            return [
                await self._usage(collection, with_superseded=with_superseded)
                for collection in self._collections()
            ]

    async def _usage(self, collection: Collection, *, with_superseded: bool) -> Usage:
        stats = await _stats(collection)
        superseded = {"items": 0, "bytes": 0}
        if with_superseded:
            superseded = await self._superseded(collection) or superseded
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
