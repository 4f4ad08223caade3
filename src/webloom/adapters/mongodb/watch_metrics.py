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

A run that Webloom has checked itself is counted when it ends (domain/watch_run.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from pymongo import UpdateOne

from webloom.adapters.mongodb.batching import Batcher
from webloom.adapters.mongodb.conditional_writes import Codec, Plan, Writer
from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import Document
from webloom.adapters.mongodb.watch_codec import METRICS, watch_document
from webloom.domain.errors import WebloomError
from webloom.domain.watch import EVENTS, LastRun, Metrics, RunStatus, Watch, external_watch
from webloom.domain.watch_run import latest

MOST_OPEN = 100  # runs in `openCounts`, more or less

_NOTHING: Document = dict.fromkeys(METRICS, 0)
_LAST_RUN = ("lastRunId", "lastStatus", "lastRunAt")
_OF_RUN = dict.fromkeys(
    ("jobId", "status", "made", "lastEventAt", "finishedAt", "inMetrics", *METRICS), True
)


class _Counted(NamedTuple):
    """What a watch has counted."""

    since: datetime
    metrics: Document
    open_counts: Document
    settlements: int | None
    last_run: LastRun | None
    is_external: bool
    new: Watch | None = None  # to be added


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
    fields: Document = {} if counted.new is None else watch_document(counted.new)
    fields |= counted.metrics
    fields |= {"openCounts": counted.open_counts, "settlements": counted.settlements}
    if (last := counted.last_run) is not None:
        fields |= zip(_LAST_RUN, (last.run_id, last.status.value, last.at), strict=True)
    return fields


def _external(watch_id: str, now: datetime) -> _Counted:
    return _Counted(now, _NOTHING, {}, None, None, True, external_watch(watch_id, now, Metrics()))


def _with_run(counted: _Counted, run: Document) -> _Counted:
    """Contains what the run has counted by now; the same twice changes nothing."""
    made = str(run["made"])
    before = counted.open_counts.get(made) or _settled(counted.since, run)
    now = {name: max(before[name], run[name]) for name in METRICS}
    if any(now[name] > before[name] for name in METRICS):
        entry = {"run": run["_id"], **now}
        added = {name: counted.metrics[name] + now[name] - before[name] for name in METRICS}
        counted = counted._replace(metrics=added, open_counts=counted.open_counts | {made: entry})
    if counted.is_external:
        at = run.get("lastEventAt") or run["finishedAt"] or run["made"].generation_time
        last = LastRun(run["_id"], RunStatus(run["status"]), at)
        counted = counted._replace(last_run=latest(counted.last_run, last))
    return counted


def _settled(since: datetime, run: Document) -> Document:
    """What the metrics contain of a run that is not in `openCounts`."""
    settled: Document | None = run.get("inMetrics")
    if settled is None or settled.get("made", str(run["made"])) != str(run["made"]):
        return _NOTHING
    if "since" in settled:
        return settled if settled["since"] == since else _NOTHING
    # Loaded from a dump together with its watch, unless that was removed since.
    return settled if since <= run["made"].generation_time else _NOTHING


class WatchMetrics:
    def __init__(self, database: MongoDatabase) -> None:
        self._db = database
        self._runs = database.job_runs
        self._writer = Writer(
            Codec(
                database.watches,
                decode=_decode,
                encode=_encode,
                guards=("settlements", *_LAST_RUN, *METRICS),
                fields=("createdAt", "external", "openCounts"),
            )
        )
        # Items are pairs of a watch's id and a run of its events. The metrics of the watch are
        # brought up to what the run has counted. An id without a watch gets an external one, which
        # contains all runs that are kept.
        self.add_up: Batcher[tuple[str, str], None] = database.batcher(self._add_up)

    async def _add_up(self, items: list[tuple[str, str]]) -> Sequence[WebloomError | None]:
        with self._db.use():
            await self.add_all(items)
        return [None] * len(items)

    async def add_all(self, items: Sequence[tuple[str, str]]) -> None:
        watch_ids, run_ids = {watch_id for watch_id, _ in items}, [run for _, run in items]
        while not await self._is_added(watch_ids, run_ids):
            pass

    async def _is_added(self, watch_ids: set[str], run_ids: list[str]) -> bool:
        """False: another process was faster."""
        plans = await self._writer.plans(watch_ids)
        wanted: list[Document] = [{"_id": {"$in": list(set(run_ids))}}]
        if missing := [plan for plan in plans.values() if plan.before is None]:
            wanted.append({"jobId": {"$in": [plan.key for plan in missing]}})
        for plan in missing:
            plan.after = _external(plan.key, self._db.wall())
        async for run in self._runs.find({"$or": wanted, "trigger": EVENTS}, _OF_RUN):
            found = plans.get(run["jobId"])
            if found is not None and found.after is not None:
                found.after = _with_run(found.after, run)
        for plan in plans.values():
            await self._settle(plan)
        changed = [plan for plan in plans.values() if self._writer.is_changed(plan)]
        return not changed or len(await self._writer.write(changed)) == len(changed)

    async def _settle(self, plan: Plan[_Counted]) -> None:
        """Move what the oldest runs have counted out of `openCounts`, if there are many. What was
        noted in a run is right before and after its entry goes."""
        before, after = plan.before, plan.after
        if before is None or after is None or len(before.open_counts) <= MOST_OPEN:
            return
        oldest = sorted(before.open_counts)[: len(before.open_counts) // 2]
        updates = []
        for made in oldest:
            entry = before.open_counts[made]
            is_older: Document = {  # or this process was suspended, and another one has settled it
                "$or": [
                    {"inMetrics": None},
                    {"inMetrics.since": {"$ne": before.since}},
                    {"inMetrics.made": {"$ne": made}},
                    {f"inMetrics.{METRICS[0]}": {"$lte": entry[METRICS[0]]}},
                ]
            }
            settled = {name: entry[name] for name in METRICS}
            noted = {"inMetrics": settled | {"since": before.since, "made": made}}
            updates.append(UpdateOne({"_id": entry["run"]} | is_older, {"$set": noted}))
        await self._runs.bulk_write(updates, ordered=False)
        unchanged = [made for made in oldest if after.open_counts[made] == before.open_counts[made]]
        kept = {made: each for made, each in after.open_counts.items() if made not in unchanged}
        plan.after = after._replace(open_counts=kept, settlements=(before.settlements or 0) + 1)
