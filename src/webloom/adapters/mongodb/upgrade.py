"""What databases of earlier versions lack. May be repeated, and costs little once it is done."""

from __future__ import annotations

from webloom.adapters.mongodb.documents import Document
from webloom.adapters.mongodb.indexes import Collection


async def key_change_logs(logs: Collection) -> None:
    """Of those of a page that have one timestamp, all but the first are known by their key, too."""
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


async def note_what_is_untold(logs: Collection, runs: Collection, notices: Collection) -> None:
    """Alerts of runs in progress are still to be told; those of notices that wait are told."""
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
