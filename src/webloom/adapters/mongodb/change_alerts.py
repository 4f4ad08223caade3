"""Change logs with alerts, until notifications are made of them.

    in no batch -> joining one, with all others -> in it, for good -> notified

The server puts one document after the other into a batch, and may include some that are stored
meanwhile; another scheduler, or a crash, can come in between. So a document that is joining may be
taken over by another batch, and is neither reported nor noted as such. Once one is in a batch for
good, no other joins it.
"""

from __future__ import annotations

import pymongo

from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.indexes import CHANGES_UNTOLD
from webloom.adapters.mongodb.watch_ledger import IN_PROGRESS
from webloom.ports.change_alerts import AlertSource

BATCH_SECONDS = 60.0  # for 100,000 logs of one run; what is cut short is repeated
_JOINED: Document = {"joining": None}


class MongoChangeAlerts:
    def __init__(self, database: MongoDatabase) -> None:
        self._db = database
        self._logs = database.change_logs

    async def pending(self, *, limit: int) -> list[AlertSource]:
        with self._db.use():
            grouped = await self._logs.aggregate(
                [
                    {"$match": {"untold": True}},
                    {"$group": {"_id": {"job": "$jobId", "run": "$runId"}}},
                ],
                hint=dict(CHANGES_UNTOLD),
            )
            waiting = [(each["_id"]["job"], each["_id"]["run"]) async for each in grouped]
            named = {"_id": {"$in": [run for _, run in waiting if run is not None]}}
            found = await self._db.job_runs.find(IN_PROGRESS | named, {"jobId": True}).to_list()
        running = {(each["jobId"], each["_id"]) for each in found}
        sources = [each for each in waiting if each not in running]
        return [
            AlertSource(watch_id=watch_id, run_id=run_id) for watch_id, run_id in sources[:limit]
        ]

    async def assign_batch(self, watch_id: str, run_id: str | None, batch: str) -> list[str]:
        pending: Document = {
            "untold": True,
            "jobId": plain(watch_id),
            "runId": None if run_id is None else plain(run_id),
        }
        with self._db.use(), pymongo.timeout(BATCH_SECONDS):
            joining = await self._logs.update_many(
                pending | {"$or": [{"batch": None}, {"joining": True}]},
                {"$set": {"batch": plain(batch), "joining": True}},
            )
            if joining.matched_count:
                await self._logs.update_many(
                    pending | {"batch": plain(batch), "joining": True},
                    {"$unset": {"joining": True}},
                )
            found: list[str | None] = await self._logs.distinct("batch", pending | _JOINED)
        return sorted(each for each in found if each is not None)

    async def note_notified(self, batch: str) -> None:
        with self._db.use(), pymongo.timeout(BATCH_SECONDS):
            await self._logs.update_many(
                {"batch": plain(batch), "untold": True} | _JOINED, {"$set": {"untold": False}}
            )
