"""The budget of the watch pipeline, and what goes when it is used up.

Sizes are measured every few seconds; what is stored in between is not counted. The database removes
what has expired by itself, but versions lose only their content at first.
"""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta
from typing import Any

from pymongo import ASCENDING
from pymongo.errors import OperationFailure

from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import Document
from webloom.adapters.mongodb.inbox import UnreadCounter
from webloom.adapters.mongodb.indexes import WAITS, Collection
from webloom.adapters.mongodb.page_contents import emptying
from webloom.domain.errors import StorageFull
from webloom.domain.retention import (
    Prunable,
    Retention,
    is_storage_full,
    prune_goal,
    prune_steps,
    storage_full,
)
from webloom.ports.page_storage import Usage

MEASURED_SECONDS = 5.0
AHEAD = timedelta(hours=1)  # versions are emptied, and change logs that wait are counted, before
# the database would remove them
_AT_ONCE = 500  # items removed by one command
_NOT_FOUND = 26


class MongoPageStorage:
    """`budget`: bytes that watch data may take, about."""

    def __init__(self, database: MongoDatabase, *, retention: Retention, budget: int) -> None:
        self._db = database
        self._retention = retention
        self._budget = budget
        self._size = 0
        self._measured_at: float | None = None
        self._is_full = False
        self._measuring = asyncio.Lock()
        self._unread = UnreadCounter(database)
        self._uncounted = 0  # change logs that waited, and were pruned
        self._prunable: dict[Prunable, tuple[Collection, Document]] = {
            Prunable.CONTENTS: (database.snapshots, {"bare": None}),
            Prunable.CHANGE_LOGS: (database.change_logs, {"untold": {"$ne": True}}),
            Prunable.PRICES: (database.price_history, {}),
            Prunable.EMPTIED_VERSIONS: (database.snapshots, {}),
            Prunable.PENDING_CHANGE_LOGS: (database.change_logs, {}),
        }

    async def make_room(self) -> StorageFull | None:
        """None: there is room."""
        return storage_full(self._size, self._budget) if await self.is_full() else None

    async def is_full(self) -> bool:
        if self._is_fresh():
            return self._is_full
        async with self._measuring:
            if not self._is_fresh():
                await self._measure()
        return self._is_full

    async def prune(self, *, expired_only: bool = False) -> int:
        if expired_only:
            return 0
        async with self._measuring:
            removed = await self._measure()
            if self._db.room.full:
                return removed
            await self._unread.count_expiring(AHEAD)
            return removed + await self._empty_expired()

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
                for prunable, size in prune_steps(goal):
                    removed += await self._remove_oldest(prunable, size)
                await self._db.measure_room()
            self._is_full = is_storage_full(self._size, 0, self._budget)  # after pruning
            if self._uncounted and room.full is None:  # else nothing can be written
                await self._unread.add_pruned(self._uncounted)
                self._uncounted = 0
        self._measured_at = time.monotonic()
        return removed

    async def _empty_expired(self) -> int:
        emptied = 0
        expired = {"bare": None, "expireAt": {"$lte": self._db.server_time() + AHEAD}}
        with self._db.use():
            while found := await self._oldest(self._db.snapshots, expired):
                emptied += await self._empty(expired, [each["_id"] for each in found])
        return emptied

    async def _empty(self, chosen: Document, keys: list[Any]) -> int:
        update = emptying(self._db.server_time(), self._retention)
        found = chosen | {"_id": {"$in": keys}}
        return (await self._db.snapshots.update_many(found, update)).modified_count

    async def _remove_oldest(self, prunable: Prunable, goal: int) -> int:
        """Until no more bytes are taken than that. The first to expire go first, and so what is a
        delta goes before what it was made with. In a full database nothing can be written."""
        collection, chosen = self._prunable[prunable]
        is_emptied = prunable is Prunable.CONTENTS and self._db.room.full is None
        superseded = chosen | {"expireAt": {"$exists": True}}
        without = self._without_log if prunable is Prunable.EMPTIED_VERSIONS else []
        removed = 0
        while self._size > goal:
            keys = []
            for each in await self._oldest(collection, superseded, *without):
                if self._size <= goal:
                    break
                keys.append(each["_id"])
                self._size -= each["bytes"]
            if not keys:
                break
            # One that has become the newest meanwhile stays.
            if is_emptied:
                removed += await self._empty(superseded, keys)
            else:
                oldest = superseded | {"_id": {"$in": keys}}
                self._uncounted += await self._waiting(collection, oldest)
                removed += (await collection.delete_many(oldest)).deleted_count
        return removed

    async def _waiting(self, collection: Collection, chosen: Document) -> int:
        """How many of these change logs wait, and are not counted already."""
        if collection is not self._db.change_logs:
            return 0
        until = await self._unread.counted_until()
        later = {} if until is None else {"expireAt": {"$gt": until}}
        return await collection.count_documents(chosen | WAITS | later)

    async def _oldest(
        self, collection: Collection, chosen: Document, *further: Document
    ) -> list[Document]:
        found = await collection.aggregate(
            [
                {"$match": chosen},
                {"$sort": {"expireAt": ASCENDING}},
                *further,
                {"$limit": _AT_ONCE},
                {"$project": {"bytes": {"$bsonSize": "$$ROOT"}}},
            ]
        )
        return await found.to_list()

    @property
    def _without_log(self) -> list[Document]:
        logs = {"from": self._db.change_logs.name, "localField": "_id", "foreignField": "_id"}
        return [{"$lookup": logs | {"as": "logs"}}, {"$match": {"logs": []}}]

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
