from __future__ import annotations

import sqlite3

from webloom.adapters.sqlite.database import Database
from webloom.ports.revisions import Changing


class SqliteRevisions:
    """Triggers count the changes."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def revision(self, pipeline: Changing) -> str:
        def query(connection: sqlite3.Connection) -> str:
            [number] = connection.execute(
                "SELECT number FROM revisions WHERE pipeline = ?", (pipeline,)
            ).fetchone()
            return str(number)

        return await self._db.read(query)
