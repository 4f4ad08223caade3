"""Change logs with alerts: which are still to be told, and which are told together.

    in no batch -> joining one, all that there are -> in it, for good -> told

The server takes one document after the other into a batch, and may take some that come meanwhile;
another scheduler, or a death, can come in between. So what is joining may be taken over by another
batch, and nobody tells of it or notes it as told. Once one is in a batch for good, no other comes
to it.
"""

from __future__ import annotations

import pymongo

from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.indexes import CHANGES_UNTOLD
from webloom.adapters.mongodb.watch_ledger import IN_PROGRESS
from webloom.ports.page_store import Late

TOGETHER_SECONDS = 60.0  # for 100,000 logs of one run; what is cut short begins anew
_JOINED: Document = {"joining": None}


class Alerts:
    def __init__(self, database: MongoDatabase) -> None:
        self._db = database
        self._logs = database.change_logs
        self._runs = database.job_runs

    async def late(self, limit: int) -> list[Late]:
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
            found = await self._runs.find(IN_PROGRESS | named, {"jobId": True}).to_list()
        running = {(each["jobId"], each["_id"]) for each in found}
        late = [Late(job_id=job, run_id=run) for job, run in waiting if (job, run) not in running]
        return late[:limit]

    async def gather(self, job_id: str, run_id: str | None, batch: str) -> list[str]:
        of_run: Document = {
            "untold": True,
            "jobId": plain(job_id),
            "runId": None if run_id is None else plain(run_id),
        }
        with self._db.use(), pymongo.timeout(TOGETHER_SECONDS):
            gathered = await self._logs.update_many(
                of_run | {"$or": [{"batch": None}, {"joining": True}]},
                {"$set": {"batch": plain(batch), "joining": True}},
            )
            if gathered.matched_count:
                await self._logs.update_many(
                    of_run | {"batch": plain(batch), "joining": True},
                    {"$unset": {"joining": True}},
                )
            found: list[str | None] = await self._logs.distinct("batch", of_run | _JOINED)
        return sorted(each for each in found if each is not None)

    async def note_told(self, batch: str) -> None:
        with self._db.use(), pymongo.timeout(TOGETHER_SECONDS):
            await self._logs.update_many(
                {"batch": plain(batch), "untold": True} | _JOINED, {"$set": {"untold": False}}
            )
