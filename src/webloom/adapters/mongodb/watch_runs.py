from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from pymongo import ASCENDING

from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.cursors import moment, object_id
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.indexes import RUNS_LATEST_FIRST
from webloom.adapters.mongodb.primitives import Codec, MongoDocuments, MongoPairs
from webloom.adapters.mongodb.watch_codec import FIELDS, GUARDS, watch_document, watch_of
from webloom.adapters.mongodb.watch_ledger import IN_PROGRESS, WatchLedger, page_in_run
from webloom.adapters.mongodb.watch_run_codec import made, run_document, run_of, run_state_of
from webloom.domain.retention import Retention
from webloom.domain.storage_event import milliseconds_of
from webloom.domain.watch import EVENTS, Watch, WatchRun
from webloom.domain.watch_run import RunState
from webloom.ports.watch_runs import RunFilter
from webloom.stores.cursors import cursor_of, values_of
from webloom.stores.watch_runs import FoundRun, StoredWatchRuns

CLOSED_AT_ONCE = 200  # idle runs
_OLDEST_FIRST = [("startedAt", ASCENDING), ("made", ASCENDING)]


def watch_codec(database: MongoDatabase) -> Codec[Watch]:
    return Codec(
        database.watches, decode=watch_of, encode=watch_document, guards=GUARDS, fields=FIELDS
    )


class RunCodec(Codec[RunState]):
    """The URLs that a run is to check are stored before it."""

    def __init__(self, database: MongoDatabase, ledger: WatchLedger) -> None:
        super().__init__(
            database.job_runs,
            decode=run_state_of,
            encode=run_document,
            guards=("status", "publishedAt"),
            inserted=made,
        )
        self._ledger = ledger

    async def before_insert(self, state: RunState) -> None:
        await self._ledger.plan(state.run.run_id, state.unchecked)


class CountedRunCodec(RunCodec):
    """With what its ledger says of a run in progress."""

    def __init__(self, database: MongoDatabase, ledger: WatchLedger) -> None:
        super().__init__(database, ledger)
        self.decode = _counted_state_of

    async def find(self, keys: Collection[str]) -> list[Document]:
        found = await super().find(keys)
        for document in found:
            if document["status"] == IN_PROGRESS["status"]:
                run_id = document["_id"]
                document["sums"] = await self._ledger.sums(run_id)
                document["unchecked"] = await self._ledger.unchecked(run_id)
        return found


def _counted_state_of(document: Document) -> RunState:
    state = run_state_of(document)
    if (sums := document.get("sums")) is None:
        return state
    run = replace(state.run, tally=sums.tally, failures=sums.failures)
    return replace(state, run=run, unchecked=document.get("unchecked", ()))


class MongoWatchRuns(StoredWatchRuns):
    def __init__(self, database: MongoDatabase, *, retention: Retention) -> None:
        keep = timedelta(days=retention.job_runs)
        ledger = WatchLedger(database, keep)
        watches, runs = watch_codec(database), RunCodec(database, ledger)
        super().__init__(
            MongoDocuments(database, runs),
            MongoPairs(database, watches, runs),
            MongoPairs(database, CountedRunCodec(database, ledger), watches),
            keep=keep,
        )
        self._db = database
        self._ledger = ledger

    async def find_run(self, run_id: str) -> WatchRun | None:
        with self._db.use():
            document = await self._db.job_runs.find_one({"_id": plain(run_id)})
            if document is None:
                return None
            if document["status"] == IN_PROGRESS["status"]:
                document["sums"] = await self._ledger.sums(run_id)
        return _counted_state_of(document).run

    async def unchecked(self, run_id: str) -> list[str]:
        with self._db.use():
            return await self._ledger.unchecked(run_id)

    async def is_open(self, run_id: str, url: str) -> bool:
        wanted = IN_PROGRESS | {"_id": plain(run_id)}
        with self._db.use():
            if await self._db.job_runs.find_one(wanted, {"_id": True}) is None:
                return False
            return not await self._ledger.has_seen(run_id, page_in_run(url))

    async def runs(
        self, chosen: RunFilter, *, limit: int, cursor: str | None = None
    ) -> tuple[list[WatchRun], str | None]:
        wanted: Document = {}
        if chosen.watch_id is not None:
            wanted["jobId"] = plain(chosen.watch_id)
        if chosen.status is not None:
            wanted["status"] = chosen.status.value
        if cursor is not None:
            started, key = values_of(cursor, int, str)
            at = moment(started, cursor)
            wanted["startedAt"] = {"$lte": at}
            wanted["$or"] = [{"startedAt": {"$lt": at}}, {"made": {"$lt": object_id(key, cursor)}}]
        with self._db.use():
            found = self._db.job_runs.find(wanted, sort=RUNS_LATEST_FIRST, limit=limit + 1)
            documents = await found.to_list()
        following = None
        if len(documents) > limit:
            last = documents[limit - 1]
            following = cursor_of(milliseconds_of(last["startedAt"]), str(last["made"]))
        return [run_of(each) for each in documents[:limit]], following

    async def _watches_to_repair(self) -> Sequence[str]:
        has_run = {"activeRunId": {"$type": "string"}}
        with self._db.use():
            active = await self._db.watches.find(has_run, {"activeRunId": True}).to_list()
            named = {"_id": {"$in": [watch["activeRunId"] for watch in active]}}
            found = await self._db.job_runs.find(IN_PROGRESS | named, {"_id": True}).to_list()
        running = {run["_id"] for run in found}
        return [watch["_id"] for watch in active if watch["activeRunId"] not in running]

    async def _in_progress(self, limit: int) -> Sequence[FoundRun]:
        with self._db.use():
            found = await self._db.job_runs.find(
                IN_PROGRESS | {"trigger": {"$ne": EVENTS}}, sort=_OLDEST_FIRST, limit=limit
            ).to_list()
            named = {"_id": {"$in": [run["jobId"] for run in found]}}
            documents = await self._db.watches.find(named, FIELDS).to_list()
            sums = await self._ledger.sums_of([run["_id"] for run in found])
        watches = {each["_id"]: watch_of(each) for each in documents}
        return [
            FoundRun(_counted_state_of(run | {"sums": sums[run["_id"]]}), watches.get(run["jobId"]))
            for run in found
        ]

    async def _idle_runs(self, idle_since: datetime) -> Sequence[tuple[str, str]]:
        idle = IN_PROGRESS | {"trigger": EVENTS, "updatedAt": {"$lte": idle_since}}
        with self._db.use():
            found = self._db.job_runs.find(idle, {"jobId": True}, limit=CLOSED_AT_ONCE)
            return [(run["jobId"], run["_id"]) for run in await found.to_list()]
