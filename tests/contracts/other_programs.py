"""Data of other programs in our databases."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pymongo

MIB = 1 << 20


def fill_file(file: Path, size: int) -> None:
    with closing(sqlite3.connect(file)) as direct, direct:
        direct.execute("CREATE TABLE theirs (body)")
        direct.execute("INSERT INTO theirs VALUES (zeroblob(?))", (size,))


def fill_database(url: str, name: str, size: int) -> None:
    with pymongo.MongoClient[dict[str, Any]](url) as direct:
        bodies = [{"body": bytes(MIB // 4)} for _ in range(4 * size // MIB)]
        direct[name]["theirs"].insert_many(bodies)


def drop_database(url: str, name: str) -> None:
    with pymongo.MongoClient[dict[str, Any]](url) as direct:
        direct.drop_database(name)
