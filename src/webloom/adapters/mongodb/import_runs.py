from __future__ import annotations

import asyncio
from collections.abc import Collection
from datetime import datetime

from pymongo import ASCENDING, DESCENDING

from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.feeds import feed_codec
from webloom.adapters.mongodb.import_ledger import MongoRunLedger
from webloom.adapters.mongodb.import_run_codec import lease_of, run_codec, run_of
from webloom.adapters.mongodb.primitives import MongoDocuments, MongoPairs
from webloom.domain.import_run import ImportRun, RunStatus
from webloom.domain.import_transitions import RunHead
from webloom.domain.search import Term, searchable, terms_of
from webloom.parsing.web_url import host_of
from webloom.ports.import_runs import RunFilter, RunPage
from webloom.stores.import_runs import ActiveFeed, StoredImportRuns

RUNNING = {"status": RunStatus.RUNNING.value}
OLDEST_FIRST = [("startedAt", ASCENDING), ("_id", ASCENDING)]
BY_START = [("startedAt", DESCENDING)]  # an index
OLDEST_CHANGE_FIRST = [("updatedAt", ASCENDING), ("_id", ASCENDING)]
MOST_SOURCES = 20_000  # names, and URLs, that a text is looked for in


class MongoImportRuns(StoredImportRuns):
    def __init__(self, database: MongoDatabase, ledger: MongoRunLedger) -> None:
        feeds, runs = feed_codec(database), run_codec(database)
        super().__init__(
            MongoDocuments(database, runs),
            ledger,
            MongoDocuments(database, feeds),
            MongoPairs(database, feeds, runs),
            MongoPairs(database, runs, feeds),
        )
        self._db = database
        self._runs = database.import_logs

    def _now(self) -> float:
        return self._db.now()

    async def _active(self) -> tuple[list[ActiveFeed], list[RunHead]]:
        of_feed = {"activeRunId": True, "movedTo": True, "url": True}
        of_run = {"work": True, "cancelRequested": True, "sourceUrl": True}
        with self._db.use():
            has_run = {"activeRunId": {"$type": "string"}}
            feeds = await self._db.feeds.find(has_run, of_feed).to_list()
            running = await self._runs.find(RUNNING, of_run, sort=OLDEST_FIRST).to_list()
        return [
            ActiveFeed(each["_id"], each["activeRunId"], each.get("movedTo") or each["url"])
            for each in feeds
        ], [
            RunHead(
                each["_id"], lease_of(each), each["cancelRequested"], host_of(each["sourceUrl"])
            )
            for each in running
        ]

    async def page(
        self, chosen: RunFilter, *, offset: int, limit: int, oldest_first: bool = False
    ) -> RunPage:
        wanted = _wanted(chosen)
        with self._db.use():
            if terms := terms_of(plain(chosen.text or "")):
                wanted["$and"] = await self._found(terms)
            # Without a filter this is what MongoDB keeps count of, however many there are. After a
            # crash of the server it may be a few off, until somebody validates the collection.
            counted = await self._runs.database.command("count", self._runs.name, query=wanted)
            found = self._runs.find(
                wanted, sort=_by_start(oldest_first), skip=offset, limit=limit, batch_size=limit
            )
            documents = await found.to_list()
        return RunPage(runs=[run_of(document) for document in documents], total=counted["n"])

    async def _scan(
        self, chosen: RunFilter, without: Collection[str], *, limit: int, oldest_first: bool
    ) -> list[ImportRun]:
        wanted = _wanted(chosen)
        if without:
            wanted["_id"] = {"$nin": [plain(each) for each in without]}
        with self._db.use():
            if terms := terms_of(plain(chosen.text or "")):
                wanted["$and"] = await self._found(terms)
            found = self._runs.find(
                wanted,
                sort=_by_start(oldest_first),
                hint=BY_START if terms else None,  # else all that are found might be sorted
                limit=limit,
                batch_size=limit,
            )
            return [run_of(document) for document in await found.to_list()]

    async def _found(self, terms: list[Term]) -> list[Document]:
        texts = {name: await self._values(name) for name in ("sourceName", "sourceUrl")}
        return await asyncio.to_thread(lambda: [_having(term, texts) for term in terms])

    async def _values(self, name: str) -> list[str]:
        """Each once, along an index: runs are many, and their feeds few."""
        found = await self._runs.aggregate(
            [
                {"$match": {name: {"$gte": ""}}},  # texts: other programs write runs, too
                {"$sort": {name: ASCENDING}},
                {"$group": {"_id": f"${name}"}},
                {"$limit": MOST_SOURCES},
            ]
        )
        return [each["_id"] async for each in found if isinstance(each["_id"], str)]

    async def changed(self, since: datetime | None, *, limit: int) -> list[ImportRun]:
        wanted: Document = RUNNING if since is None else {"updatedAt": {"$gte": since}}
        with self._db.use():
            found = self._runs.find(wanted, sort=OLDEST_CHANGE_FIRST, limit=limit)
            return [run_of(document) for document in await found.to_list()]


def _having(term: Term, texts: dict[str, list[str]]) -> Document:
    return {
        "$or": [
            {name: {"$in": [each for each in some if term.is_in(searchable([each]))]}}
            for name, some in texts.items()
        ]
    }


def _by_start(oldest_first: bool) -> list[tuple[str, int]]:
    """As the indexes have it, which are read in either direction, so that nothing is sorted."""
    return [("startedAt", ASCENDING if oldest_first else DESCENDING)]


def _wanted(chosen: RunFilter) -> Document:
    wanted: Document = {}
    if chosen.status is not None:
        wanted["status"] = chosen.status.value
    if chosen.source_url is not None:
        wanted["sourceUrl"] = plain(chosen.source_url)
    started: Document = {}
    if chosen.since is not None:
        started["$gte"] = chosen.since
    if chosen.until is not None:
        started["$lte"] = chosen.until
    if started:
        wanted["startedAt"] = started
    return wanted
