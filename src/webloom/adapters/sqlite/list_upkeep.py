from __future__ import annotations

import sqlite3

from webloom.adapters.sqlite.database import Database, Operation
from webloom.adapters.sqlite.list_schema import make_searchable


class SqliteListUpkeep:
    def __init__(self, database: Database) -> None:
        self._db = database
        self._operation = Operation(run=_make_searchable, durable=False)

    async def make_searchable(self) -> int:
        done = 0
        while some := await self._db.write(self._operation, None):
            done += some
        return done


def _make_searchable(connection: sqlite3.Connection, calls: list[None]) -> list[int]:
    done = make_searchable(connection)
    return [done] * len(calls)
