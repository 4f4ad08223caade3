from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from pymongo import ASCENDING

from webloom.adapters.mongodb.cursors import LatestFirst
from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.index_scan import (
    ScanPlan,
    count_index,
    scan_index,
)
from webloom.adapters.mongodb.indexes import RUNS_BY_STATUS, RUNS_LATEST_FIRST, RUNS_OF_WATCH
from webloom.adapters.mongodb.primitives import Codec, MongoDocuments, MongoPairs
from webloom.adapters.mongodb.watch_codec import FIELDS, GUARDS, watch_document, watch_of
from webloom.adapters.mongodb.watch_ledger import IN_PROGRESS, WatchLedger
from webloom.adapters.mongodb.watch_run_codec import made, run_document, run_of, run_state_of
from webloom.domain.listing import MOST_SCANNED, Count
from webloom.domain.retention import Retention
from webloom.domain.watch import EVENTS, Watch, WatchRun
from webloom.domain.watch_run import RunState
from webloom.ports.watch_run_listing import RunFilter
from webloom.stores.cursors import cursor_of
from webloom.stores.watch_runs import FoundRun, StoredWatchRuns

_LISTING = LatestFirst("startedAt", "made")
_LOOKED_AT = {"status": True, "startedAt": True, "made": True}
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
                counted = await self._ledger.counted(document["_id"])
                document["sums"], document["unchecked"] = counted
        return found


def _counted_state_of(document: Document) -> RunState:
    state = run_state_of(document)
    if (sums := document.get("sums")) is None:
        return state
    run = replace(state.run, tally=sums.tally, failures=sums.failures)
    return replace(state, run=run, unchecked=document.get("unchecked", ()))


class MongoWatchRuns(StoredWatchRuns):
    def __init__(self, database: MongoDatabase, *, retention: Retention) -> None:
        ledger = WatchLedger(database, retention.kept_runs)
        watches, runs = watch_codec(database), RunCodec(database, ledger)
        super().__init__(
            MongoDocuments(database, runs),
            MongoPairs(database, watches, runs),
            MongoPairs(database, CountedRunCodec(database, ledger), watches),
            keep=retention.kept_runs,
        )
        self._db = database
        self._ledger = ledger

    async def find_run(self, run_id: str) -> WatchRun | None:
        with self._db.use():
            document = await self._db.job_runs.find_one({"_id": plain(run_id)})
            if document is None:
                return None
            if document["status"] == IN_PROGRESS["status"]:
                document["sums"] = (await self._ledger.sums([run_id]))[run_id]
        return _counted_state_of(document).run

    async def first_failures(self, run_ids: Collection[str]) -> Mapping[str, str]:
        wanted = {"_id": {"$in": [plain(each) for each in run_ids]}}
        with self._db.use():
            found = self._db.job_runs.find(wanted, {"failures": {"$slice": 1}})
            runs = [run_of(each) for each in await found.to_list()]
        return {run.run_id: run.failures[0].reason for run in runs if run.failures}

    async def unchecked(self, run_id: str) -> list[str]:
        with self._db.use():
            return (await self._ledger.counted(run_id))[1]

    async def is_open(self, run_id: str, url: str) -> bool:
        wanted = IN_PROGRESS | {"_id": plain(run_id)}
        with self._db.use():
            if await self._db.job_runs.find_one(wanted, {"_id": True}) is None:
                return False
            return not await self._ledger.has_seen(run_id, url)

    async def runs(
        self,
        chosen: RunFilter,
        *,
        limit: int,
        cursor: str | None = None,
        oldest_first: bool = False,
    ) -> tuple[list[WatchRun], str | None]:
        within: Document = {}
        if cursor is not None:
            within = _LISTING.behind(cursor, oldest_first=oldest_first)
        with self._db.use():
            documents, last = await scan_index(
                self._db.job_runs,
                _plan(chosen),
                bounds=within,
                order=RUNS_LATEST_FIRST,
                oldest_first=oldest_first,
                limit=limit,
                most_scanned=MOST_SCANNED,
                filter_fields=_LOOKED_AT,
                shown=None,
            )
        following = None
        if last is not None:
            following = cursor_of(*_LISTING.place(last), oldest_first=oldest_first)
        return [run_of(each) for each in documents], following

    async def count_chosen(self, chosen: RunFilter, *, most: int) -> Count:
        with self._db.use():
            return await count_index(
                self._db.job_runs,
                _plan(chosen),
                bounds={},
                order=RUNS_LATEST_FIRST,
                filter_fields=_LOOKED_AT,
                most=most,
            )

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
            sums = await self._ledger.sums([run["_id"] for run in found])
        watches = {each["_id"]: watch_of(each) for each in documents}
        return [
            FoundRun(_counted_state_of(run | {"sums": sums[run["_id"]]}), watches.get(run["jobId"]))
            for run in found
        ]

    async def _idle_runs(self, idle_since: datetime, limit: int) -> Sequence[tuple[str, str]]:
        idle = IN_PROGRESS | {"trigger": EVENTS, "updatedAt": {"$lte": idle_since}}
        with self._db.use():
            found = self._db.job_runs.find(idle, {"jobId": True}, limit=limit)
            return [(run["jobId"], run["_id"]) for run in await found.to_list()]


def _plan(chosen: RunFilter) -> ScanPlan:
    status = None if chosen.status is None else chosen.status.value
    if chosen.watch_id is not None:
        return ScanPlan(
            index=RUNS_OF_WATCH,
            found={"jobId": plain(chosen.watch_id)},
            accepts=None if status is None else lambda run: run["status"] == status,
        )
    if status is not None:
        return ScanPlan(index=RUNS_BY_STATUS, found={"status": status}, accepts=None)
    return ScanPlan(index=RUNS_LATEST_FIRST, found={}, accepts=None)
