from __future__ import annotations

from dataclasses import asdict, fields, replace
from operator import attrgetter
from typing import Any

from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import plain
from webloom.ports.heartbeats import Heartbeat, SeenProcess


class MongoHeartbeats:
    def __init__(self, database: MongoDatabase) -> None:
        self._db = database

    async def beat(self, heartbeat: Heartbeat) -> None:
        with self._db.use():
            body: dict[str, Any] = {
                name: plain(value) if isinstance(value, str) else value
                for name, value in asdict(heartbeat).items()
            }
            process_id = body.pop("process_id")
            body |= {"beat": self._db.now(), "seen_at": self._db.server_time()}
            await self._db.heartbeats.replace_one({"_id": process_id}, body, upsert=True)
        self._db.room.note_written()
        await self._db.measure_room()

    async def leave(self, process_id: str) -> None:
        with self._db.use():
            await self._db.heartbeats.delete_one({"_id": plain(process_id)})

    async def seen(self, within: float) -> list[SeenProcess]:
        with self._db.use():
            now = self._db.now()
            found = self._db.heartbeats.find({"beat": {"$gte": now - within}})
            documents = await found.to_list()
        processes = [_seen(document, now) for document in documents]
        return sorted(processes, key=attrgetter("place"))


def _seen(document: dict[str, Any], now: float) -> SeenProcess:
    known = document | {"process_id": document["_id"]}
    named = [field.name for field in fields(Heartbeat) if field.name in known]
    heartbeat = Heartbeat(**{name: known[name] for name in named})
    heartbeat = replace(heartbeat, queues=tuple(heartbeat.queues))  # BSON has lists only
    return SeenProcess(heartbeat=heartbeat, age=max(0.0, now - document["beat"]))
