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

from pymongo import ASCENDING, UpdateOne

from webloom.adapters.mongodb.documents import Document, literal, plain
from webloom.adapters.mongodb.indexes import Collection
from webloom.adapters.mongodb.insertion import insert_new
from webloom.adapters.mongodb.watch_codec import METRICS, watch_document
from webloom.domain.watch import EVENTS, Metrics, RunStatus, external_watch

MOST_OPEN = 100  # runs in `openCounts`, more or less
CHUNK = 500  # watches or runs that are read together

_NOTHING: Document = dict.fromkeys(METRICS, 0)
_OF_EVENTS: Document = {"trigger": EVENTS}
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
        """False: read again, as a watch was missing, or somebody settled a run meanwhile."""
        by_job = {"_id": {"$in": list(wanted)}}
        watches = {each["_id"]: each async for each in self._watches.find(by_job, _OF_WATCH)}
        if missing := wanted.keys() - watches.keys():
            await self._make_watches(sorted(missing), now)
            return False
        named = [run_id for run_ids in wanted.values() for run_id in run_ids]
        runs = await self._runs.find({"_id": {"$in": named}} | _OF_EVENTS, _OF_RUN).to_list()
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

    async def _make_watches(self, job_ids: list[str], now: datetime) -> None:
        """They contain all runs of events that are kept, by one insert: nothing is left to do if
        this process dies behind it."""
        runs = await self._runs_of_events(job_ids)
        await insert_new(
            self._watches, [_external(job_id, runs.get(job_id, []), now) for job_id in job_ids]
        )

    async def _runs_of_events(self, job_ids: list[str]) -> dict[str, list[Document]]:
        """By job, those with an earlier start first."""
        found: dict[str, list[Document]] = {}
        query = self._runs.find(
            {"jobId": {"$in": job_ids}} | _OF_EVENTS, _OF_RUN, sort=[("startedAt", ASCENDING)]
        )
        async for run in query:
            found.setdefault(run["jobId"], []).append(run)
        return found

    async def _settle(self, watch: Document) -> None:
        """Move what the oldest runs have counted out of `openCounts`, if there are many."""
        counts: Document = watch.get("openCounts") or {}
        if len(counts) <= MOST_OPEN:
            return
        settlements = watch.get("settlements")
        since = watch["createdAt"]
        for made in sorted(counts)[: len(counts) // 2]:
            entry = counts[made]
            settled = {name: entry[name] for name in METRICS} | {"since": since, "made": made}
            is_older: Document = {  # or this process was suspended, and another one has settled it
                "$or": [
                    {"inMetrics": None},
                    {"inMetrics.since": {"$ne": since}},
                    {"inMetrics.made": {"$ne": made}},
                    {f"inMetrics.{METRICS[0]}": {"$lte": entry[METRICS[0]]}},
                ]
            }
            await self._runs.update_one(
                {"_id": entry["run"]} | is_older, {"$set": {"inMetrics": settled}}
            )
            place = f"openCounts.{made}"
            as_read = {"_id": watch["_id"], "createdAt": since, "settlements": settlements}
            moved = await self._watches.update_one(
                as_read | {place: entry}, {"$unset": {place: True}, "$inc": {"settlements": 1}}
            )
            if moved.matched_count:
                settlements = (settlements or 0) + 1

    # What databases of earlier versions lack

    async def backfill(self, now: datetime) -> None:
        """Metrics of what is kept, for watches that have none, and watches for jobs whose events an
        earlier version has counted. May be repeated, also while others count."""
        without = {METRICS[0]: {"$exists": False}}
        fields = {"activeRunId": True, "lastRunId": True}
        while some := await self._watches.find(without, fields, limit=CHUNK).to_list():
            await self._backfill_watches(some)
        older: Document = {**_OF_EVENTS, "lastEventAt": {"$exists": False}}
        while some := await self._runs.find(older, {"jobId": True}, limit=CHUNK).to_list():
            jobs = {run["jobId"] for run in some}
            found = self._watches.find({"_id": {"$in": list(jobs)}}, {"_id": True})
            missing = jobs - {each["_id"] async for each in found}
            if missing:
                await self._make_watches(sorted(missing), now)
            await self._runs.update_many(
                {"_id": {"$in": [run["_id"] for run in some]}},
                [{"$set": {"lastEventAt": {"$ifNull": ["$lastEventAt", "$finishedAt"]}}}],
            )

    async def _backfill_watches(self, watches: list[Document]) -> None:
        """By the runs that they are free of: the active one is added when it ends."""
        job_ids = [each["_id"] for each in watches]
        active = [each["activeRunId"] for each in watches if each["activeRunId"] is not None]
        of_watches: Document = {
            "jobId": {"$in": job_ids},
            "_id": {"$nin": active},
            "trigger": {"$ne": EVENTS},
            "status": {"$ne": RunStatus.IN_PROGRESS.value},
        }
        sums = {name: {"$sum": f"${name}"} for name in METRICS}
        grouped = await self._runs.aggregate(
            [{"$match": of_watches}, {"$group": {"_id": "$jobId", **sums}}]
        )
        counted = {each["_id"]: each async for each in grouped}
        of_events = await self._runs_of_events(job_ids)
        updates = []
        for watch in watches:
            ours = counted.get(watch["_id"], _NOTHING)
            fields = _contained(of_events.get(watch["_id"], []))
            fields |= {name: fields[name] + ours[name] for name in METRICS}
            as_read = watch | {METRICS[0]: {"$exists": False}}
            updates.append(UpdateOne(as_read, {"$set": fields}))
        await self._watches.bulk_write(updates, ordered=False)


def _external(job_id: str, runs: list[Document], now: datetime) -> Document:
    document = {"_id": plain(job_id)} | watch_document(external_watch(job_id, now, Metrics()))
    document |= _contained(runs)
    for run in sorted(runs, key=_latest)[-1:]:
        last = {"lastRunId": run["_id"], "lastStatus": run["status"], "lastRunAt": _latest(run)}
        document |= last
    return document


def _contained(runs: list[Document]) -> Document:
    """The fields of a watch whose metrics contain these runs."""
    return {
        **{name: sum(run[name] for run in runs) for name in METRICS},
        "openCounts": {
            str(run["made"]): {"run": run["_id"]} | {name: run[name] for name in METRICS}
            for run in runs
        },
    }


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
    as_read = {name: watch.get(name) for name in ("_id", "createdAt", "settlements")}
    return UpdateOne(as_read, [{"$set": fields}])


def _before(watch: Document, run: Document) -> Document:
    """What the metrics contain of a run that is not in `openCounts`."""
    settled: Document | None = run.get("inMetrics")
    if settled is None or settled.get("made", str(run["made"])) != str(run["made"]):
        return _NOTHING
    if "since" in settled:
        return settled if settled["since"] == watch["createdAt"] else _NOTHING
    # Copied from another store together with its watch, unless that was removed since.
    return settled if watch["createdAt"] <= run["made"].generation_time else _NOTHING


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
