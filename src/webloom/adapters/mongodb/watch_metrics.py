"""The metrics of a watch that come from runs of events, and watches of other programs' jobs.

    watches   {…, pagesProcessed, changesDetected, priceChangesDetected, external,
               openCounts: {made: {run, and the three counters}}, settlements}
    job_runs  {…, inMetrics: {since, and the three counters}}

A watch's metrics contain what `openCounts` says of each run. One update of the watch moves both to
what the run has counted by now, if the watch is as it was read. It may be repeated, by any process,
in any order.

`openCounts` is bounded: what an older run has counted moves to `inMetrics` of that run, and
`settlements` counts these moves. A watch is read before its runs: a run whose counts have moved
since then is not taken for one that was not counted, as the watch is no longer as it was read.

`since` is when the watch was made: another one of the same id counts all of its runs again.

A run that Webloom has checked itself is counted when its watch is set free (`watch_runs`).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from pymongo import ASCENDING, UpdateOne

from webloom.adapters.mongodb.conditional_writes import Codec, Plan, Writer
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.indexes import Collection
from webloom.adapters.mongodb.insertion import insert_new
from webloom.adapters.mongodb.watch_codec import METRICS, watch_document
from webloom.domain.watch import EVENTS, LastRun, Metrics, RunStatus, external_watch
from webloom.domain.watch_run import latest

MOST_OPEN = 100  # runs in `openCounts`, more or less

_NOTHING: Document = dict.fromkeys(METRICS, 0)
_OF_EVENTS: Document = {"trigger": EVENTS}
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_RUN = ("lastRunId", "lastStatus", "lastRunAt")
_OF_RUN = dict.fromkeys(
    ("jobId", "status", "made", "lastEventAt", "finishedAt", "inMetrics", *METRICS), True
)

Runs = dict[str, set[str]]  # ids of runs of events, by job


class _Counted(NamedTuple):
    """What a watch has counted."""

    since: datetime
    metrics: Document
    open_counts: Document
    settlements: int | None
    last_run: LastRun | None
    is_external: bool


def _decode(watch: Document) -> _Counted:
    last: list[Any] = [watch.get(name) for name in _LAST_RUN]
    return _Counted(
        since=watch["createdAt"],
        metrics={name: watch.get(name) or 0 for name in METRICS},
        open_counts=watch.get("openCounts") or {},
        settlements=watch.get("settlements"),
        last_run=None if None in last else LastRun(last[0], RunStatus(last[1]), last[2]),
        is_external=bool(watch.get("external")),
    )


def _encode(counted: _Counted) -> Document:
    fields = counted.metrics | {
        "openCounts": counted.open_counts,
        "settlements": counted.settlements,
    }
    if (last := counted.last_run) is not None:
        values = (last.run_id, last.status.value, last.at)
        fields |= dict(zip(_LAST_RUN, values, strict=True))
    return fields


def _with_run(counted: _Counted, run: Document) -> _Counted:
    """Contains what the run has counted by now; the same twice changes nothing."""
    made = str(run["made"])
    before = counted.open_counts.get(made) or _before(counted.since, run)
    now = {name: max(before[name], run[name]) for name in METRICS}
    if any(now[name] > before[name] for name in METRICS):
        entry = {"run": run["_id"], **now}
        added = {name: counted.metrics[name] + now[name] - before[name] for name in METRICS}
        counted = counted._replace(metrics=added, open_counts=counted.open_counts | {made: entry})
    if counted.is_external:
        last = LastRun(run["_id"], RunStatus(run["status"]), _latest(run))
        counted = counted._replace(last_run=latest(counted.last_run, last))
    return counted


class WatchMetrics:
    """To be called within `use` of their database."""

    def __init__(self, watches: Collection, runs: Collection) -> None:
        self._watches = watches
        self._runs = runs
        self._writer = Writer(
            Codec(
                watches,
                decode=_decode,
                encode=_encode,
                guards=("settlements", *_LAST_RUN, *METRICS),
                fields=("createdAt", "external", "openCounts"),
            )
        )

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
        """False: read again, as a watch was missing, or another process was faster."""
        plans = await self._writer.plans(wanted)
        if missing := [job_id for job_id, plan in plans.items() if plan.read is None]:
            await self._make_watches(sorted(missing), now)
            return False
        named = [run_id for run_ids in wanted.values() for run_id in run_ids]
        async for run in self._runs.find({"_id": {"$in": named}} | _OF_EVENTS, _OF_RUN):
            plan = plans.get(run["jobId"])
            if plan is not None and plan.after is not None:
                plan.after = _with_run(plan.after, run)
        for plan in plans.values():
            await self._settle(plan)
        changed = [plan for plan in plans.values() if self._writer.is_changed(plan)]
        return not changed or len(await self._writer.write(changed)) == len(changed)

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

    async def _settle(self, plan: Plan[_Counted]) -> None:
        """Move what the oldest runs have counted out of `openCounts`, if there are many. What was
        noted in a run is right before and after its entry goes."""
        before, after = plan.before, plan.after
        if before is None or after is None or len(before.open_counts) <= MOST_OPEN:
            return
        updates = []
        oldest = sorted(before.open_counts)[: len(before.open_counts) // 2]
        for made in oldest:
            entry = before.open_counts[made]
            settled = {name: entry[name] for name in METRICS}
            is_older: Document = {  # or this process was suspended, and another one has settled it
                "$or": [
                    {"inMetrics": None},
                    {"inMetrics.since": {"$ne": before.since}},
                    {"inMetrics.made": {"$ne": made}},
                    {f"inMetrics.{METRICS[0]}": {"$lte": entry[METRICS[0]]}},
                ]
            }
            noted = {"inMetrics": settled | {"since": before.since, "made": made}}
            updates.append(UpdateOne({"_id": entry["run"]} | is_older, {"$set": noted}))
        await self._runs.bulk_write(updates, ordered=False)
        unchanged = [made for made in oldest if after.open_counts[made] == before.open_counts[made]]
        kept = {made: each for made, each in after.open_counts.items() if made not in unchanged}
        plan.after = after._replace(open_counts=kept, settlements=(before.settlements or 0) + 1)


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


def _before(since: datetime, run: Document) -> Document:
    """What the metrics contain of a run that is not in `openCounts`."""
    settled: Document | None = run.get("inMetrics")
    if settled is None or settled.get("made", str(run["made"])) != str(run["made"]):
        return _NOTHING
    if "since" in settled:
        return settled if settled["since"] == since else _NOTHING
    # Copied from another store together with its watch, unless that was removed since.
    return settled if since <= run["made"].generation_time else _NOTHING


def _latest(run: Document) -> datetime:
    """When its latest event was."""
    latest: datetime = run.get("lastEventAt") or run["finishedAt"] or _NEVER
    return latest
