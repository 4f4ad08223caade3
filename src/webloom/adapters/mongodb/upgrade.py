"""Adds what databases of earlier versions lack. Repeatable, and cheap once it is done."""

from __future__ import annotations

from collections import abc

from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import Document
from webloom.adapters.mongodb.indexes import Collection
from webloom.adapters.mongodb.list_upkeep import make_searchable
from webloom.adapters.mongodb.watch_codec import METRICS
from webloom.adapters.mongodb.watch_metrics import WatchMetrics
from webloom.domain.pipeline import Pipeline
from webloom.domain.watch import EVENTS, RunStatus

CHUNK = 500  # runs that are read together


async def upgrade(
    database: MongoDatabase, pipelines: abc.Collection[Pipeline] = tuple(Pipeline)
) -> None:
    if Pipeline.WATCH in pipelines:
        await mark_pending_alerts(database.change_logs, database.job_runs, database.notices)
        await key_change_logs(database.change_logs)
        await count_earlier_runs(database)
    await make_searchable(database)


async def key_change_logs(logs: Collection) -> None:
    """Of change logs of a page that share a timestamp, all but the first are also identified by
    their key."""
    grouped = await logs.aggregate(
        [
            {"$match": {"keyed": {"$exists": False}}},
            {"$project": {"page": 1, "timestamp": 1, "place": 1}},
            {"$sort": {"place": 1}},
            {"$group": {"_id": ["$page", "$timestamp"], "logs": {"$push": "$_id"}}},
            {"$match": {"logs.1": {"$exists": True}}},
        ],
        allowDiskUse=True,
    )
    async for each in grouped:
        await logs.update_many({"_id": {"$in": each["logs"][1:]}}, {"$set": {"keyed": True}})


async def mark_pending_alerts(logs: Collection, runs: Collection, notices: Collection) -> None:
    """Alerts of runs in progress are pending; those that a pending notification reports are not."""
    running = await runs.distinct("_id", {"status": "in_progress"})
    with_alerts: Document = {"untold": {"$exists": False}, "alerts.0": {"$exists": True}}
    waiting = {"isOpen": True, "dueAt": {"$exists": True}, "batch": {"$exists": False}}
    async for notice in notices.find(waiting, {"watchId": True, "runId": True}):
        batch = notice["runId"]
        await logs.update_many(
            {"jobId": notice["watchId"], "runId": batch} | with_alerts,
            {"$set": {"untold": False, "batch": batch}},
        )
        await notices.update_one({"_id": notice["_id"]}, {"$set": {"batch": batch}})
    await logs.update_many({"runId": {"$in": running}} | with_alerts, {"$set": {"untold": True}})


async def count_earlier_runs(database: MongoDatabase) -> None:
    """Metrics of watches that have none, from the runs that are kept. The active run is added when
    it ends. Jobs of other programs get their external watch."""
    watches, runs = database.watches, database.job_runs
    sums = {name: {"$sum": f"${name}"} for name in METRICS}
    async for watch in watches.find({METRICS[0]: {"$exists": False}}, {"activeRunId": True}):
        own: Document = {
            "jobId": watch["_id"],
            "_id": {"$ne": watch["activeRunId"]},
            "trigger": {"$ne": EVENTS},
            "status": {"$ne": RunStatus.IN_PROGRESS.value},
        }
        found = await runs.aggregate([{"$match": own}, {"$group": {"_id": None, **sums}}])
        counted: Document = dict.fromkeys(METRICS, 0)
        async for each in found:
            counted = {name: each[name] for name in METRICS}
        await watches.update_one(watch | {METRICS[0]: {"$exists": False}}, {"$set": counted})
    metrics = WatchMetrics(database)
    older: Document = {"trigger": EVENTS, "lastEventAt": {"$exists": False}}
    while some := await runs.find(older, {"jobId": True}, limit=CHUNK).to_list():
        await metrics.add_all([(run["jobId"], run["_id"]) for run in some])
        await runs.update_many(
            {"_id": {"$in": [run["_id"] for run in some]}},
            [{"$set": {"lastEventAt": {"$ifNull": ["$lastEventAt", "$finishedAt"]}}}],
        )
