"""Data of other programs in our databases."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from servers.mongod import MongoServer

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class TheirTable:
    file: Path

    def fill(self, size: int) -> None:
        self._execute("CREATE TABLE theirs (body)")
        self._execute(f"INSERT INTO theirs VALUES (zeroblob({size}))")

    def remove(self) -> None:
        self._execute("DROP TABLE theirs")

    def _execute(self, statement: str) -> None:
        with closing(sqlite3.connect(self.file, timeout=60)) as direct, direct:
            direct.execute(statement)


@dataclass(frozen=True, slots=True)
class TheirCollection:
    server: MongoServer
    name: str

    def fill(self, size: int) -> None:
        with self.server.database(self.name) as database:
            for _ in range(4 * size // MIB):
                database["theirs"].insert_one({"body": bytes(MIB // 4)})

    def remove(self) -> None:
        with self.server.database(self.name) as database:
            database["theirs"].drop()
