from __future__ import annotations

import asyncio

from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.indexes import Collection
from webloom.ports.revisions import Changing


class MongoRevisions:
    """The server counts the writes to each collection since its start."""

    def __init__(self, database: MongoDatabase) -> None:
        self._db = database

    async def revision(self, pipeline: Changing) -> str:
        db = self._db
        changing = {
            "inventory": [db.records],
            "watch": [
                db.watches, db.job_runs, db.watch_ledger, db.pages, db.change_logs, db.notices
            ],
        }  # fmt: skip
        with db.use():
            counts = await asyncio.gather(*(_writes(each) for each in changing[pipeline]))
        return " ".join(counts)


async def _writes(collection: Collection) -> str:
    """On each shard; the host tells a new primary from the one before."""
    counted = await collection.aggregate([{"$collStats": {"latencyStats": {}}}])
    return ",".join(
        f"{each['host']}={each['latencyStats']['writes']['ops']}"
        for each in await counted.to_list()
    )
