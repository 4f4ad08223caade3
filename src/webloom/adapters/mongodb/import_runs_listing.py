from __future__ import annotations

import re
from datetime import datetime

from pymongo import ASCENDING, DESCENDING

from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.import_runs_documents import run_of
from webloom.domain.import_run import ImportRun, RunStatus
from webloom.ports.import_store import RunFilter, RunPage

LATEST_FIRST = [("startedAt", DESCENDING)]  # as the indexes have it, so that nothing is sorted
OLDEST_CHANGE_FIRST = [("updatedAt", ASCENDING), ("_id", ASCENDING)]


class RunListing:
    def __init__(self, database: MongoDatabase) -> None:
        self._db = database
        self._runs = database.import_logs

    async def find(self, run_id: str) -> ImportRun | None:
        with self._db.use():
            document = await self._runs.find_one({"_id": plain(run_id)})
        return None if document is None else run_of(document)

    async def page(self, chosen: RunFilter, offset: int, limit: int) -> RunPage:
        wanted = _wanted(chosen)
        with self._db.use():
            # Without a filter this is what MongoDB keeps count of, however many there are. After a
            # crash of the server it may be a few off, until somebody validates the collection.
            counted = await self._runs.database.command("count", self._runs.name, query=wanted)
            found = self._runs.find(
                wanted, sort=LATEST_FIRST, skip=offset, limit=limit, batch_size=limit
            )
            documents = await found.to_list()
        return RunPage(runs=[run_of(document) for document in documents], total=counted["n"])

    async def changed(self, since: datetime | None, limit: int) -> list[ImportRun]:
        wanted: Document = {"updatedAt": {"$gte": since}}
        if since is None:
            wanted = {"status": RunStatus.RUNNING.value}
        with self._db.use():
            found = self._runs.find(wanted, sort=OLDEST_CHANGE_FIRST, limit=limit)
            return [run_of(document) for document in await found.to_list()]


def _wanted(chosen: RunFilter) -> Document:
    wanted: Document = {}
    if chosen.status is not None:
        wanted["status"] = chosen.status.value
    if chosen.source_url is not None:
        wanted["sourceUrl"] = plain(chosen.source_url)
    if chosen.text:
        within = {"$regex": _pattern(chosen.text), "$options": "i"}
        wanted["$or"] = [{"sourceName": within}, {"sourceUrl": within}]
    started: Document = {}
    if chosen.since is not None:
        started["$gte"] = chosen.since
    if chosen.until is not None:
        started["$lte"] = chosen.until
    if started:
        wanted["startedAt"] = started
    return wanted


def _pattern(text: str) -> str:
    """BSON keeps a pattern as a text that ends at a NUL."""
    return re.escape(plain(text)).replace("\0", "x00")
