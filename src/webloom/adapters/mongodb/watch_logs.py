from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.documents import plain_values
from webloom.ports.page_store import Retention


class MongoWorkerLogs:
    def __init__(self, database: MongoDatabase, *, retention: Retention) -> None:
        self._db = database
        self._keep = timedelta(days=retention.worker_logs)

    async def write(self, entries: Sequence[Mapping[str, Any]]) -> None:
        if not entries:
            return
        expires = self._db.server_time() + self._keep
        with self._db.use():
            await self._db.worker_logs.insert_many(
                [plain_values(dict(entry)) | {"expireAt": expires} for entry in entries]
            )
