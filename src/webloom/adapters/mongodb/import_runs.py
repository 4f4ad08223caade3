from __future__ import annotations

import re
from datetime import datetime

from pymongo import ASCENDING, DESCENDING

from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.import_run_codec import lease_of, run_of
from webloom.domain.import_run import ImportRun, RunStatus
from webloom.domain.import_transitions import RunHead
from webloom.parsing.web_url import host_of
from webloom.ports.import_runs import RunFilter, RunPage
from webloom.stores.import_runs import ActiveFeed

RUNNING = {"status": RunStatus.RUNNING.value}
OLDEST_FIRST = [("startedAt", ASCENDING), ("_id", ASCENDING)]
LATEST_FIRST = [("startedAt", DESCENDING)]  # as the indexes have it, so that nothing is sorted
OLDEST_CHANGE_FIRST = [("updatedAt", ASCENDING), ("_id", ASCENDING)]


class MongoRunQueries:
    def __init__(self, database: MongoDatabase) -> None:
        self._db = database
        self._runs = database.import_logs
        self._feeds = database.feeds

    def now(self) -> float:
        return self._db.now()

    async def running(self) -> list[RunHead]:
        shown = {"work": True, "cancelRequested": True, "sourceUrl": True}
        with self._db.use():
            found = await self._runs.find(RUNNING, shown, sort=OLDEST_FIRST).to_list()
        return [
            RunHead(
                each["_id"], lease_of(each), each["cancelRequested"], host_of(each["sourceUrl"])
            )
            for each in found
        ]

    async def active_feeds(self) -> list[ActiveFeed]:
        shown = {"activeRunId": True, "movedTo": True, "url": True}
        with self._db.use():
            found = await self._feeds.find({"activeRunId": {"$type": "string"}}, shown).to_list()
        return [
            ActiveFeed(each["_id"], each["activeRunId"], each.get("movedTo") or each["url"])
            for each in found
        ]

    async def page(self, chosen: RunFilter, *, offset: int, limit: int) -> RunPage:
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

    async def changed(self, since: datetime | None, *, limit: int) -> list[ImportRun]:
        wanted: Document = RUNNING if since is None else {"updatedAt": {"$gte": since}}
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
