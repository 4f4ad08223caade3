from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from pymongo import ASCENDING

from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.indexes import WATCHES_COUNTED
from webloom.adapters.mongodb.page_codec import place_at, validator_fields
from webloom.adapters.mongodb.primitives import MongoDocuments, MongoPairs
from webloom.adapters.mongodb.sorted_list import SortedList
from webloom.adapters.mongodb.watch_codec import FIELDS, watch_of
from webloom.adapters.mongodb.watch_ledger import WatchLedger
from webloom.adapters.mongodb.watch_runs import CountedRunCodec, watch_codec
from webloom.domain.page_check import Validators
from webloom.domain.retention import Retention
from webloom.domain.storage_event import milliseconds_of
from webloom.domain.watch import Watch
from webloom.ports.watches import WatchCounts
from webloom.stores.watches import StoredWatches

_COUNTS: Document = {
    "all": {"$sum": 1},
    "enabled": {"$sum": {"$cond": ["$enabled", 1, 0]}},
    "checking": {"$sum": {"$cond": ["$activeRunId", 1, 0]}},
    "failing": {"$sum": {"$cond": ["$failures", 1, 0]}},
}


class MongoWatches(StoredWatches):
    def __init__(self, database: MongoDatabase, *, retention: Retention) -> None:
        codec = watch_codec(database)
        runs = CountedRunCodec(database, WatchLedger(database, retention.kept_runs))
        super().__init__(
            MongoDocuments(database, codec),
            MongoPairs(database, codec, runs),
            SortedList(database, database.watches, FIELDS, watch_of),
            keep=retention.kept_runs,
        )
        self._db = database

    async def forget_validators(self, watch_id: str) -> None:
        now = place_at(milliseconds_of(self._db.wall()))
        with self._db.use():
            await self._db.pages.update_many(
                {"jobId": plain(watch_id)},
                {"$set": validator_fields(Validators()) | {"places.validators": now}},
            )

    async def due_watches(self, now: datetime, *, limit: int) -> list[Watch]:
        # And not by _id: 100,000 that are due at one moment would all be sorted.
        wanted = {"nextRunAt": {"$lte": now}, "activeRunId": None}
        return await self._find(wanted, [("nextRunAt", ASCENDING)], limit)

    async def _find(
        self, wanted: Document, order: list[tuple[str, int]], limit: int
    ) -> list[Watch]:
        with self._db.use():
            found = self._db.watches.find(wanted, FIELDS, sort=order, limit=limit)
            return [watch_of(each) for each in await found.to_list()]

    async def names(self, watch_ids: Collection[str]) -> dict[str, str]:
        wanted = {"$in": [plain(each) for each in watch_ids]}
        with self._db.use():
            found = self._db.watches.find({"_id": wanted}, {"name": True})
            return {each["_id"]: each["name"] for each in await found.to_list()}

    async def count_watches(self) -> WatchCounts:
        with self._db.use():
            grouped = await self._db.watches.aggregate(
                [{"$group": {"_id": None, **_COUNTS}}], hint=dict(WATCHES_COUNTED)
            )
            counted = (await grouped.to_list() or [dict.fromkeys(_COUNTS, 0)])[0]
        return WatchCounts(**{name: counted[name] for name in _COUNTS})
