from __future__ import annotations

from collections.abc import Collection as Sized
from typing import TYPE_CHECKING

from pymongo.errors import BulkWriteError

from webloom.adapters.mongodb.documents import Document
from webloom.adapters.mongodb.errors import DUPLICATE_KEY
from webloom.adapters.mongodb.indexes import Collection

if TYPE_CHECKING:  # it uses `insert_new` itself
    from webloom.adapters.mongodb.client import MongoDatabase


async def insert_new(collection: Collection, documents: Sized[Document]) -> int:
    """Those that do not exist; returns how many."""
    if not documents:
        return 0
    try:
        inserted = await collection.insert_many(documents, ordered=False)
    except BulkWriteError as error:
        details = error.details
        if details["writeConcernErrors"] or any(
            each["code"] != DUPLICATE_KEY for each in details["writeErrors"]
        ):
            raise
        return int(details["nInserted"])
    return len(inserted.inserted_ids)


async def insert_unless_deleted(
    database: MongoDatabase, records: dict[str, Document], *, by_token: bool = False
) -> None:
    """Those that do not exist, by key.

    One can come so late that its request was answered and the record deleted. A deletion leaves
    word in `forgotten` first; so whoever looks there after having made a record sees every
    deletion that came before. By their tokens, all are too late that began before it.
    """
    await insert_new(database.records, records.values())
    async for gone in database.forgotten.find({"_id": {"$in": list(records)}}):
        key, work = gone["_id"], records[gone["_id"]]["work"]
        is_older = by_token and work["token"] < gone.get("token", 0)
        if is_older or gone["request_id"] == work["request_id"]:
            await database.records.delete_one(
                {"_id": key, "work.version": 0, "work.request_id": work["request_id"]}
            )
