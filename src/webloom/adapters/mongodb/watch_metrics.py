"""The metrics of a watch that come from runs of events, and watches of other programs' jobs.

    watches   {…, pagesProcessed, changesDetected, priceChangesDetected, external,
               openCounts: {made: {run, and the three counters}}, settlements}
    job_runs  {…, inMetrics: {since, and the three counters}}

A watch's metrics contain what `openCounts` says of each run. One update of the watch moves both to
what the run has counted by now, so that it may be repeated, by anyone, in any order.

`openCounts` is bounded: what an older run has counted moves to `inMetrics` of that run, and
`settlements` counts these moves. An update is made on the condition that none came between reading
and writing, so that it never takes a run whose counts have moved for one that was not counted. A
watch is read before its runs, for the same reason.

`since` is when the watch was made: another one of the same id counts all of its runs again.

A run that Webloom has checked itself is counted when its watch is set free (`watch_runs`).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from pymongo import DESCENDING, UpdateOne

from webloom.adapters.mongodb.documents import Document, literal
from webloom.adapters.mongodb.indexes import Collection
from webloom.adapters.mongodb.insertion import insert_new
from webloom.adapters.mongodb.watch_documents import METRICS, new_watch
from webloom.domain.watch import EVENTS, RunStatus, external_config

MOST_OPEN = 100  # runs in `openCounts`, more or less
MOST_RUNS = 1000  # of a job, that the metrics of a new external watch begin with
WATCHES_AT_ONCE = 500

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)
_OF_WATCH = dict.fromkeys(
    ("external", "openCounts", "settlements", "createdAt", "lastRunId", "lastStatus", "lastRunAt"),
    True,
)
_OF_RUN = dict.fromkeys(
    ("jobId", "status", "made", "lastEventAt", "finishedAt", "inMetrics", *METRICS), True
)

Runs = dict[str, set[str]]  # ids of runs of events, by job


class WatchMetrics:
    """To be called within `use` of their database."""

    def __init__(self, watches: Collection, runs: Collection) -> None:
        self._watches = watches
        self._runs = runs

    async def add_up(self, counted: Iterable[tuple[str, str]], now: datetime) -> None:
        """Bring the metrics up to what these runs of events have counted, given as job and run. A
        job without a watch gets an external one."""
        wanted: Runs = {}
        for job_id, run_id in counted:
            wanted.setdefault(job_id, set()).add(run_id)
        is_done = False
        while not is_done:
            is_done = await self._write(wanted, now)

    async def _write(self, wanted: Runs, now: datetime) -> bool:
        """False: somebody settled a run meanwhile, and it is to be read again."""
        by_job = {"_id": {"$in": list(wanted)}}
        watches = {each["_id"]: each async for each in self._watches.find(by_job, _OF_WATCH)}
        if missing := wanted.keys() - watches.keys():
            await self._make_watches(missing, wanted, now)
            return False
        named = [run_id for run_ids in wanted.values() for run_id in run_ids]
        runs = await self._runs.find({"_id": {"$in": named}, "trigger": EVENTS}, _OF_RUN).to_list()
        updates = [
            _update(watches[run["jobId"]], run)
            for run in runs
            if run["jobId"] in wanted and _is_news(watches[run["jobId"]], run)
        ]
        if updates:
            made = await self._watches.bulk_write(updates, ordered=False)
            if made.matched_count < len(updates):
                return False
        for watch in watches.values():
            await self._settle(watch)
        return True

    async def _make_watches(self, job_ids: Iterable[str], wanted: Runs, now: datetime) -> None:
        """They count all runs of events that are kept, which are added to those wanted."""
        documents = []
        for job_id in job_ids:
            latest = self._runs.find(
                {"jobId": job_id, "trigger": EVENTS},
                {"_id": True},
                sort=[("startedAt", DESCENDING)],
                limit=MOST_RUNS,
            )
            wanted[job_id] |= {each["_id"] async for each in latest}
            document = new_watch(job_id, external_config(job_id), now=now, next_run_at=None)
            documents.append(document | {"external": True})
        await insert_new(self._watches, documents)

    async def _settle(self, watch: Document) -> None:
        """Move what the oldest runs have counted out of `openCounts`, if there are many."""
        counts: Document = watch.get("openCounts") or {}
        if len(counts) <= MOST_OPEN:
            return
        settlements = watch.get("settlements")
        for made in sorted(counts)[: len(counts) // 2]:
            entry = counts[made]
            in_metrics = {name: entry[name] for name in METRICS} | {"since": watch["createdAt"]}
            await self._runs.update_one(
                {"_id": entry["run"]}, {"$set": {"inMetrics": in_metrics | {"made": made}}}
            )
            place = f"openCounts.{made}"
            moved = await self._watches.update_one(
                {"_id": watch["_id"], "settlements": settlements, place: entry},
                {"$unset": {place: True}, "$inc": {"settlements": 1}},
            )
            if not moved.matched_count:
                return  # somebody else counts or settles: another time
            settlements = (settlements or 0) + 1

    # What databases of earlier versions lack

    async def make_up(self, now: datetime) -> None:
        """Metrics of what is kept, for watches that have none. May be repeated, also while others
        count."""
        wanted = {METRICS[0]: {"$exists": False}}
        fields = {"activeRunId": True, "lastRunId": True}
        while some := await self._watches.find(wanted, fields, limit=WATCHES_AT_ONCE).to_list():
            await self._make_up_for(some)
        jobs = set(await self._runs.distinct("jobId", {"trigger": EVENTS}))
        found = self._watches.find({"_id": {"$in": list(jobs)}}, {"_id": True})
        missing = jobs - {each["_id"] async for each in found}
        runs = self._runs.find(
            {"jobId": {"$in": list(missing)}, "trigger": EVENTS}, {"jobId": True}
        )
        await self.add_up([(each["jobId"], each["_id"]) async for each in runs], now)

    async def _make_up_for(self, watches: list[Document]) -> None:
        """By the runs that they are free of: the active one is added when it ends."""
        active = [each["activeRunId"] for each in watches if each["activeRunId"] is not None]
        of_watches: Document = {
            "jobId": {"$in": [each["_id"] for each in watches]},
            "_id": {"$nin": active},
            "trigger": {"$ne": EVENTS},
            "status": {"$ne": RunStatus.IN_PROGRESS.value},
        }
        sums = {name: {"$sum": f"${name}"} for name in METRICS}
        grouped = await self._runs.aggregate(
            [{"$match": of_watches}, {"$group": {"_id": "$jobId", **sums}}]
        )
        counted = {each.pop("_id"): each async for each in grouped}
        nothing = dict.fromkeys(METRICS, 0)
        await self._watches.bulk_write(
            [
                UpdateOne(
                    watch | {METRICS[0]: {"$exists": False}},
                    {"$set": counted.get(watch["_id"], nothing)},
                )
                for watch in watches
            ],
            ordered=False,
        )


def _update(watch: Document, run: Document) -> UpdateOne:
    place = f"openCounts.{run['made']}"
    before = _before(watch, run)
    counts: Document = {"run": literal(run["_id"])}
    fields: Document = {}
    for name in METRICS:
        was: Document = {"$ifNull": [f"${place}.{name}", before[name]]}
        counts[name] = {"$max": [was, run[name]]}
        more: Document = {"$subtract": [counts[name], was]}
        fields[name] = {"$add": [{"$ifNull": [f"${name}", 0]}, more]}
    fields[place] = counts
    if watch.get("external"):
        fields |= _last_run(run)
    return UpdateOne(
        {"_id": watch["_id"], "settlements": watch.get("settlements")}, [{"$set": fields}]
    )


def _before(watch: Document, run: Document) -> Document:
    """What the metrics contain of a run that is not in `openCounts`."""
    settled: Document = run.get("inMetrics") or {}
    is_of_watch = settled.get("since", watch["createdAt"]) == watch["createdAt"]
    is_of_run = settled.get("made", str(run["made"])) == str(run["made"])
    if settled and is_of_watch and is_of_run:
        return settled
    return dict.fromkeys(METRICS, 0)


def _is_news(watch: Document, run: Document) -> bool:
    """Whether the run has anything that the watch does not say yet, by what was read."""
    known = (watch.get("openCounts") or {}).get(str(run["made"])) or _before(watch, run)
    if any(run[name] > known[name] for name in METRICS):
        return True
    last_run = (watch["lastRunId"], watch["lastStatus"])
    return (
        bool(watch.get("external"))
        and _latest(run) >= (watch["lastRunAt"] or _NEVER)
        and last_run != (run["_id"], run["status"])
    )


def _latest(run: Document) -> datetime:
    """When its latest event was."""
    latest: datetime = run.get("lastEventAt") or run["finishedAt"] or _NEVER
    return latest


def _last_run(run: Document) -> Document:
    """The last run is the one with the latest event; one that was closed stays so."""
    at = _latest(run)
    is_later = {"$gte": [at, {"$ifNull": ["$lastRunAt", _NEVER]}]}
    is_closed: Document = {
        "$and": [
            {"$eq": ["$lastRunId", literal(run["_id"])]},
            {"$ne": ["$lastStatus", RunStatus.IN_PROGRESS.value]},
        ]
    }
    status = {"$cond": [is_closed, "$lastStatus", run["status"]]}
    return {
        "lastRunId": {"$cond": [is_later, literal(run["_id"]), "$lastRunId"]},
        "lastStatus": {"$cond": [is_later, status, "$lastStatus"]},
        "lastRunAt": {"$cond": [is_later, at, "$lastRunAt"]},
    }
