from __future__ import annotations

from webloom.adapters.mongodb.database import MongoDatabase
from webloom.ports.room import CollectionSize, DatabaseSize


class MongoSizes:
    """See ports/room.py."""

    def __init__(self, database: MongoDatabase) -> None:
        self._db = database

    async def size(self) -> DatabaseSize:
        total = await self._db.bytes_in_use()
        self._db.room.note_size(total)
        ours = self._db.collection_names
        database = self._db.records.database
        with self._db.use():
            listed = await database.list_collection_names(filter={"type": "collection"})
            collections = [
                CollectionSize(name=name, bytes=await self._bytes(name), is_ours=name in ours)
                for name in listed
            ]
        collections.sort(key=lambda each: each.bytes, reverse=True)
        room = self._db.room
        return DatabaseSize(bytes=total, limit=room.limit, full=room.full, collections=collections)

    async def _bytes(self, name: str) -> int:
        stats = await self._db.records.database.command("collStats", name)
        return int(stats["size"]) + int(stats["totalIndexSize"])
