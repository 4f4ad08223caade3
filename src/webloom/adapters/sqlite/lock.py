from __future__ import annotations

import sqlite3

from webloom.adapters.sqlite.database import Database, Verb


class SqliteLock:
    def __init__(self, database: Database) -> None:
        self._db = database
        self._taking = Verb(run=self._take)
        self._expiring = Verb(run=self._expire)

    async def acquire(self, name: str, owner: str, seconds: float) -> int | None:
        return await self._db.write(self._taking, (name, owner, seconds))

    async def release(self, name: str, owner: str) -> None:
        await self._db.write(self._expiring, (name, owner))

    def _take(
        self, connection: sqlite3.Connection, items: list[tuple[str, str, float]]
    ) -> list[int | None]:
        now = self._db.now()
        tokens: list[int | None] = []
        for name, owner, seconds in items:
            row = connection.execute(
                """
                INSERT INTO locks (name, owner, token, lease) VALUES (:name, :owner, 1, :lease)
                ON CONFLICT (name) DO UPDATE SET
                    owner = :owner, lease = :lease,
                    token = token + (owner <> :owner OR lease <= :now)
                WHERE owner = :owner OR lease <= :now
                RETURNING token
                """,
                {"name": name, "owner": owner, "lease": now + seconds, "now": now},
            ).fetchone()
            tokens.append(row and row[0])
        return tokens

    def _expire(self, connection: sqlite3.Connection, items: list[tuple[str, str]]) -> list[None]:
        connection.executemany("UPDATE locks SET lease = 0 WHERE name = ? AND owner = ?", items)
        return [None] * len(items)
