from __future__ import annotations

from pymongo import ReturnDocument
from pymongo.errors import DuplicateKeyError

from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.documents import Document, literal, plain


class MongoLock:
    def __init__(self, database: MongoDatabase) -> None:
        self._db = database

    async def acquire(self, name: str, owner: str, seconds: float) -> int | None:
        """One step on the server: where somebody else holds the lease, nothing matches, and the
        document that would be made instead is there already."""
        with self._db.use():
            now = self._db.now()
            name, owner = plain(name), plain(owner)
            kept = {"$and": [{"$eq": ["$owner", literal(owner)]}, {"$gt": ["$lease", now]}]}
            grown = {"$add": [{"$ifNull": ["$token", 0]}, 1]}
            taken = {
                "owner": literal(owner),
                "token": {"$cond": [kept, "$token", grown]},
                "lease": now + seconds,
            }
            try:
                document: Document | None = await self._db.locks.find_one_and_update(
                    {"_id": name, "$or": [{"owner": owner}, {"lease": {"$lte": now}}]},
                    [{"$set": taken}],
                    upsert=True,
                    return_document=ReturnDocument.AFTER,
                )
            except DuplicateKeyError:
                return None
        return None if document is None else int(document["token"])

    async def release(self, name: str, owner: str) -> None:
        with self._db.use():
            await self._db.locks.update_one(
                {"_id": plain(name), "owner": plain(owner)}, {"$set": {"lease": 0.0}}
            )
