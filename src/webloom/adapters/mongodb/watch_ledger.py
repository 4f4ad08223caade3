"""What each run has counted, so that nothing counts twice.

    {_id: run and bucket, run, seen: {key: code}, processed, failed, changes, priceChanges,
     failures: {key: {url, reason}}, first, last, expireAt}      first, last: moments of events
    {_id: run and "urls", run, urls, expireAt}             what a run of a watch is to check

A run's counters are the sums over its documents here. A key goes into the bucket that its beginning
names, in one write with what it counts. Where it comes again, the better outcome counts: a page
that one worker failed to read and another one read was read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import NamedTuple

from bson.objectid import ObjectId
from pymongo import UpdateOne

from webloom.adapters.mongodb.batching import Batcher
from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.documents import Document, literal, plain
from webloom.adapters.mongodb.page_writes import bulk
from webloom.adapters.mongodb.watch_metrics import WatchMetrics
from webloom.domain.errors import WebloomError
from webloom.domain.storage_event import StorageEvent, moment_of
from webloom.domain.watch import (
    EVENTS,
    MOST_FAILURES,
    Outcome,
    PageFailure,
    RunHead,
    RunStatus,
    Tally,
    is_counted,
)

KEPT = timedelta(days=2)  # longer than a run, or a message that waits, may take
IN_PROGRESS = {"status": RunStatus.IN_PROGRESS.value}

# A code is twice the rank of the outcome, and one more with a change of price.
_RANKS = {Outcome.FAILED: 1, Outcome.UNCHANGED: 2, Outcome.CHANGED: 3}
_COUNTERS = {  # in the ledger -> of a run
    "processed": "pagesProcessed",
    "failed": "pagesFailed",
    "changes": "changesDetected",
    "priceChanges": "priceChangesDetected",
}


class CountedRun(NamedTuple):
    job_id: str
    run_id: str
    opening: RunStatus | None = None  # of a run of events, if it is not known; None: a run of ours


class Entry(NamedTuple):
    run: CountedRun
    key: str
    outcome: Outcome
    is_price_change: bool = False
    failure: PageFailure | None = None  # of a failed one
    event: StorageEvent | None = None  # None: of a check


@dataclass(frozen=True, kw_only=True, slots=True)
class Sums:
    tally: Tally = field(default_factory=Tally)
    failures: list[PageFailure] = field(default_factory=list)


def entry_of(event: StorageEvent) -> Entry:
    return Entry(
        CountedRun(plain(event.job_id), plain(event.counting_run), event.opening_status),
        event.counted_as,
        Outcome.CHANGED if event.is_change else Outcome.UNCHANGED,
        is_price_change=event.price is not None and event.price.is_change,
        event=event,
    )


def page_in_run(url: str) -> str:
    """The key under which a run counts a page."""
    return StorageEvent(job_id="", url=url, snapshot_hash="", ts=0, run_id="any").counted_as


class WatchLedger:
    def __init__(self, database: MongoDatabase, keep_runs: timedelta) -> None:
        self._db = database
        self._ledger = database.watch_ledger
        self._runs = database.job_runs
        self._keep_runs = keep_runs
        self._metrics = WatchMetrics(database.watches, database.job_runs)
        self._heads: Batcher[str, RunHead | None] = database.batcher(self._read_heads)
        self._count: Batcher[Entry, None] = database.batcher(self._write)
        self._refresh: Batcher[CountedRun, None] = database.batcher(self._sum_up)
        self._add_up: Batcher[CountedRun, None] = database.batcher(self._add_to_metrics)

    async def count(self, entry: Entry) -> None:
        """Does nothing unless `is_counted`. The numbers of the run, and of the watch where it is a
        run of events, have it when this returns."""
        run, event = entry.run, entry.event
        if event is None or event.run_id is not None:
            head = await self._heads.ask(run.run_id)
            if event is not None and head is not None and head.watch_id != run.job_id:
                await self.count(entry_of(event.without_run))
                return
            if not is_counted(run.job_id, head, is_event=event is not None):
                return
            if head is not None:
                run = run._replace(opening=head.status if head.trigger == EVENTS else None)
        await self._count.ask(entry)
        await self._refresh.ask(run)
        if run.opening is None:
            return
        if event is not None and event.closes_run is not None:
            with self._db.use():
                await self._close(run.run_id, event.closes_run)
        await self._add_up.ask(run)

    async def _close(self, run_id: str, status: RunStatus) -> None:
        await self._runs.update_one(
            IN_PROGRESS | {"_id": run_id, "trigger": EVENTS},
            [{"$set": {"status": status.value, "finishedAt": "$lastEventAt"}}],
        )

    async def sums(self, run_id: str) -> Sums:
        """To be called within `use`."""
        return (await self.sums_of([run_id]))[run_id]

    async def sums_of(self, run_ids: Sequence[str]) -> dict[str, Sums]:
        """By run. To be called within `use`."""
        counted = await self._sums([plain(run_id) for run_id in run_ids])
        sums = {}
        for run_id in run_ids:
            numbers = counted.get(plain(run_id))
            sums[run_id] = Sums() if numbers is None else await self._with_failures(run_id, numbers)
        return sums

    async def _with_failures(self, run_id: str, counted: Document) -> Sums:
        failures: list[PageFailure] = []
        if counted["failed"]:
            async for row in self._ledger.find(
                {"run": plain(run_id), "failed": {"$gt": 0}}, {"failures": True}
            ):
                failures += [
                    PageFailure(url=each["url"], reason=each["reason"])
                    for each in row["failures"].values()
                ]
                if len(failures) >= MOST_FAILURES:
                    break
        failures = sorted(failures[:MOST_FAILURES], key=lambda each: each.url)
        return Sums(tally=tally_of(counted), failures=failures)

    async def plan(self, run_id: str, urls: Sequence[str]) -> None:
        """To be called within `use`."""
        expires = self._db.server_time() + max(KEPT, self._keep_runs)
        document = {"run": plain(run_id), "urls": urls, "expireAt": expires}
        await self._ledger.update_one(
            {"_id": _urls_of(run_id)}, {"$setOnInsert": document}, upsert=True
        )

    async def unchecked(self, run_id: str) -> list[str]:
        """To be called within `use`."""
        planned = await self._ledger.find_one({"_id": _urls_of(run_id)}, {"urls": True})
        if planned is None:
            return []
        found = self._ledger.find({"run": plain(run_id), "seen": {"$exists": True}}, {"seen": True})
        seen = {key for row in await found.to_list() for key in row["seen"]}
        return [url for url in planned["urls"] if page_in_run(url) not in seen]

    async def has_seen(self, run_id: str, key: str) -> bool:
        """To be called within `use`."""
        wanted = {"_id": _bucket(run_id, key), f"seen.{key}": {"$exists": True}}
        return await self._ledger.find_one(wanted, {"_id": True}) is not None

    async def _read_heads(self, run_ids: list[str]) -> Sequence[RunHead | WebloomError | None]:
        fields = {"jobId": True, "trigger": True, "status": True}
        with self._db.use():
            found = await self._runs.find({"_id": {"$in": list(set(run_ids))}}, fields).to_list()
        heads = {
            each["_id"]: RunHead(each["jobId"], each["trigger"], RunStatus(each["status"]))
            for each in found
        }
        return [heads.get(run_id) for run_id in run_ids]

    async def _add_to_metrics(self, runs: list[CountedRun]) -> Sequence[WebloomError | None]:
        with self._db.use():
            counted = {(run.job_id, run.run_id) for run in runs}
            await self._metrics.add_up(counted, self._db.wall())
        return [None] * len(runs)

    async def _write(self, entries: list[Entry]) -> Sequence[WebloomError | None]:
        with self._db.use():
            updates = [self._counting(each) for each in entries]
            failed = await bulk(self._ledger, updates)
            # Somebody else made the document just now.
            await bulk(self._ledger, [updates[index] for index in failed])
        return [None] * len(entries)

    def _counting(self, entry: Entry) -> UpdateOne:
        keep = max(KEPT, self._keep_runs)
        place = f"seen.{entry.key}"
        ts = None if entry.event is None else entry.event.ts
        outcome, price = _RANKS[entry.outcome], int(entry.is_price_change)
        better: Document = {"$max": [{"$floor": {"$divide": ["$was", 2]}}, outcome]}
        either: Document = {"$max": [{"$mod": ["$was", 2]}, price]}
        fields: Document = {
            place: "$now",
            "run": literal(entry.run.run_id),
            "expireAt": self._db.server_time() + keep,
            "first": {"$min": ["$first", ts]},
            "last": {"$max": ["$last", ts]},
            "processed": _more("processed", lambda code: {"$gt": [code, 0]}),
            "failed": _more("failed", _is_failed),
            "changes": _more("changes", lambda code: {"$gte": [code, 2 * _RANKS[Outcome.CHANGED]]}),
            "priceChanges": _more("priceChanges", lambda code: {"$eq": [{"$mod": [code, 2]}, 1]}),
        }
        told = f"failures.{entry.key}"
        if (failure := entry.failure) is not None:
            named = {"url": plain(failure.url), "reason": plain(failure.reason)}
            fields[told] = {"$cond": [_is_failed("$now"), literal(named), "$$REMOVE"]}
        else:
            fields[told] = "$$REMOVE"
        return UpdateOne(
            {"_id": _bucket(entry.run.run_id, entry.key)},
            [
                {"$set": {"was": {"$ifNull": [f"${place}", 0]}}},
                {"$set": {"now": {"$toInt": {"$add": [{"$multiply": [2, better]}, either]}}}},
                {"$set": fields},
                {"$unset": ["was", "now"]},
            ],
            upsert=True,
        )

    async def _sum_up(self, runs: list[CountedRun]) -> Sequence[WebloomError | None]:
        wanted = {run.run_id: run for run in runs}
        with self._db.use():
            counted = await self._sums(list(wanted))
            updates = [
                self._numbers(run_id, run, counted[run_id])
                for run_id, run in wanted.items()
                if run_id in counted
            ]
            if failed := await bulk(self._runs, updates):
                await bulk(self._runs, [updates[index] for index in failed])
        return [None] * len(runs)

    async def _sums(self, run_ids: list[str]) -> dict[str, Document]:
        totals: Document = {name: {"$sum": f"${name}"} for name in _COUNTERS}
        totals |= {"first": {"$min": "$first"}, "last": {"$max": "$last"}}
        grouped = await self._ledger.aggregate(
            [{"$match": {"run": {"$in": run_ids}}}, {"$group": {"_id": "$run", **totals}}]
        )
        return {each["_id"]: each for each in await grouped.to_list()}

    def _numbers(self, run_id: str, run: CountedRun, counted: Document) -> UpdateOne:
        """Counters only grow, but for that of failures: who comes late with an older sum changes
        nothing. All are counted once more when the run ends."""
        now = self._db.wall()
        totals: Document = {
            theirs: {"$add": [{"$ifNull": [f"$carried.{theirs}", 0]}, counted[ours]]}
            for ours, theirs in _COUNTERS.items()
        }
        fields: Document = {name: {"$max": [f"${name}", total]} for name, total in totals.items()}
        fields[_COUNTERS["failed"]] = totals[_COUNTERS["failed"]]
        fields |= {"updatedAt": now, "lastRunAt": now}
        lasted: Document = {
            "runDuration": {"$toLong": {"$max": [0, {"$subtract": [now, "$startedAt"]}]}}
        }
        if run.opening is None:
            return UpdateOne(IN_PROGRESS | {"_id": run_id}, [{"$set": fields}, {"$set": lasted}])
        latest = moment_of(counted["last"])
        fields |= {
            "jobId": {"$ifNull": ["$jobId", literal(run.job_id)]},
            "runId": literal(run_id),
            "status": {"$ifNull": ["$status", run.opening.value]},
            "trigger": EVENTS,
            "startedAt": {"$min": ["$startedAt", moment_of(counted["first"])]},
            "lastEventAt": {"$max": ["$lastEventAt", "$finishedAt", latest]},
            "made": {"$ifNull": ["$made", ObjectId()]},
            # Not before its ledger, by which events that come again are known.
            "expireAt": self._db.server_time() + max(KEPT, self._keep_runs),
        }
        is_open = {"$eq": ["$status", RunStatus.IN_PROGRESS.value]}
        ended: Document = {
            "finishedAt": {"$cond": [is_open, None, "$lastEventAt"]},
            "runDuration": {"$toLong": {"$subtract": ["$lastEventAt", "$startedAt"]}},
        }
        return UpdateOne(
            {"_id": run_id, "trigger": EVENTS}, [{"$set": fields}, {"$set": ended}], upsert=True
        )


def _more(name: str, counts: Callable[[str], Document]) -> Document:
    """The counter, with the key's new code counted instead of the one it had."""
    one, other = ({"$cond": [counts(code), 1, 0]} for code in ("$now", "$was"))
    return {"$add": [{"$ifNull": [f"${name}", 0]}, one, {"$multiply": [-1, other]}]}


def _is_failed(code: str) -> Document:
    failed = _RANKS[Outcome.FAILED]
    return {"$in": [code, [2 * failed, 2 * failed + 1]]}


def tally_of(counted: Document) -> Tally:
    return Tally(
        processed=counted["processed"],
        failed=counted["failed"],
        changes=counted["changes"],
        price_changes=counted["priceChanges"],
    )


def _urls_of(run_id: str) -> str:
    return f"{plain(run_id)}#urls"


def _bucket(run_id: str, key: str) -> str:
    return f"{plain(run_id)}#{key[:2]}"
