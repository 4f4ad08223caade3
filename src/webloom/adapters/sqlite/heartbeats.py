from __future__ import annotations

import sqlite3
from operator import attrgetter

import msgspec

from webloom.adapters.sqlite.database import Database, Operation
from webloom.ports.heartbeats import SEEN_SECONDS, Heartbeat, SeenProcess


class SqliteHeartbeats:
    def __init__(self, database: Database) -> None:
        self._db = database
        self._remembering = Operation(run=self._remember, durable=False)
        self._removing = Operation(run=self._remove, durable=False)

    async def beat(self, heartbeat: Heartbeat) -> None:
        await self._db.write(self._remembering, heartbeat)
        await self._db.review_room()

    async def leave(self, process_id: str) -> None:
        await self._db.write(self._removing, process_id)

    async def seen(self, within: float) -> list[SeenProcess]:
        now = self._db.now()

        def query(connection: sqlite3.Connection) -> list[SeenProcess]:
            rows = connection.execute(
                "SELECT body, beat FROM heartbeats WHERE beat >= ?", (now - within,)
            )
            return [
                SeenProcess(
                    heartbeat=msgspec.json.decode(body, type=Heartbeat), age=max(0.0, now - beat)
                )
                for body, beat in rows
            ]

        processes = await self._db.read(query)
        return sorted(processes, key=attrgetter("place"))

    def _remember(self, connection: sqlite3.Connection, beats: list[Heartbeat]) -> list[None]:
        now = self._db.now()
        connection.execute("DELETE FROM heartbeats WHERE beat < ?", (now - SEEN_SECONDS,))
        connection.executemany(
            "INSERT OR REPLACE INTO heartbeats VALUES (?, ?, ?)",
            [(beat.process_id, msgspec.json.encode(beat), now) for beat in beats],
        )
        return [None] * len(beats)

    def _remove(self, connection: sqlite3.Connection, process_ids: list[str]) -> list[None]:
        connection.executemany(
            "DELETE FROM heartbeats WHERE process_id = ?", [(each,) for each in process_ids]
        )
        return [None] * len(process_ids)
