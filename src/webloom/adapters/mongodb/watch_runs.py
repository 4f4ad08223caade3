"""Runs of watches: how one starts, is attended, and ends.

Two documents take part where a run begins and ends, its own and its watch's, and a process may die
between them:

    begin   the watch names its run, with all that the run begins with -> its URLs, its document
    end     the run's document, with all that it means for its watch -> the watch is set free

Whoever finds only the first half makes the second: `start`, and `attended` on its way.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

from pymongo import ASCENDING, ReturnDocument
from pymongo.errors import DuplicateKeyError

from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.documents import Document, literal, plain
from webloom.adapters.mongodb.watch_documents import (
    METRICS,
    failure_documents,
    moment,
    new_run,
    run_of,
    tally_fields,
    watch_of,
)
from webloom.adapters.mongodb.watch_ledger import (
    IN_PROGRESS,
    Sums,
    WatchLedger,
    page_in_run,
)
from webloom.domain.watch import (
    EVENTS,
    MOST_FAILURES,
    PageFailure,
    RunStatus,
    WatchRun,
    status_at_end,
)
from webloom.ports.watch_store import Attended, NewRun

CLOSED_AT_ONCE = 200  # idle runs
NOT_CHECKED = "it was not checked before the run ended"
_OLDEST_FIRST = [("startedAt", ASCENDING), ("made", ASCENDING)]
_MILLISECOND = timedelta(milliseconds=1)


class WatchRuns:
    def __init__(self, database: MongoDatabase, ledger: WatchLedger, keep: timedelta) -> None:
        self._db = database
        self._runs = database.job_runs
        self._watches = database.watches
        self._ledger = ledger
        self._keep = keep

    # How one begins

    async def start(self, watch_id: str, new: NewRun) -> WatchRun | None:
        with self._db.use():
            while True:
                if made := await self._runs.find_one({"_id": plain(new.run_id)}):
                    return await self._counted(made)
                watch = await self._watches.find_one({"_id": plain(watch_id)})
                if watch is None or watch.get("external"):
                    return None
                if watch["activeRunId"] is None:
                    if new.due is not None and not _is_due(watch, new.due):
                        return None
                    watch = await self._tie(watch, new)
                if watch is not None and (active := await self._active_run(watch)) is not None:
                    return await self._counted(active)

    async def _tie(self, watch: Document, new: NewRun) -> Document | None:
        """None: somebody else was quicker."""
        as_read = {name: watch[name] for name in ("_id", "nextRunAt", "activeRunId", "updatedAt")}
        begun = new_run(new.run_id, watch, new.trigger, self._db.wall())
        tied: Document | None = await self._watches.find_one_and_update(
            as_read,
            {"$set": {"activeRunId": begun["_id"], "activeRun": begun}},
            return_document=ReturnDocument.AFTER,
        )
        return tied

    async def _active_run(self, watch: Document) -> Document | None:
        """The watch's run, if it is in progress; otherwise the watch is set right."""
        run_id, begun = watch["activeRunId"], watch.get("activeRun")
        run: Document | None = await self._runs.find_one({"_id": run_id})
        if run is None and begun is not None and begun["_id"] == run_id:
            await self._ledger.plan(run_id, watch["urls"])
            with suppress(DuplicateKeyError):
                await self._runs.insert_one(begun | {"pagesTotal": len(watch["urls"])})
            run = await self._runs.find_one({"_id": run_id})
        if run is None:
            await self._watches.update_one(
                {"_id": watch["_id"], "activeRunId": run_id},
                {"$set": {"activeRunId": None}, "$unset": {"activeRun": True}},
            )
        elif run["status"] != RunStatus.IN_PROGRESS:
            await self._set_free(run)
        else:
            return run
        return None

    # While it lasts

    async def attended(self, limit: int) -> list[Attended]:
        with self._db.use():
            await self._set_watches_right()
            found = await self._runs.find(
                IN_PROGRESS | {"trigger": {"$ne": EVENTS}}, sort=_OLDEST_FIRST, limit=limit
            ).to_list()
            named = {"_id": {"$in": [run["jobId"] for run in found]}}
            watches = {each["_id"]: each for each in await self._watches.find(named).to_list()}
            for run in found:
                if run["jobId"] not in watches:
                    await self._end(run["_id"])
            kept = [run for run in found if run["jobId"] in watches]
            sums = await self._ledger.sums_of([run["_id"] for run in kept])
            return [
                Attended(
                    run=_with_sums(run_of(run), sums[run["_id"]]),
                    watch=watch_of(watches[run["jobId"]]),
                    published_at=run["publishedAt"],
                )
                for run in kept
            ]

    async def _set_watches_right(self) -> None:
        has_run = {"activeRunId": {"$type": "string"}}
        active = await self._watches.find(has_run, {"activeRunId": True}).to_list()
        named = {"_id": {"$in": [watch["activeRunId"] for watch in active]}}
        found = await self._runs.find(IN_PROGRESS | named, {"_id": True}).to_list()
        running = {run["_id"] for run in found}
        for as_seen in active:
            if as_seen["activeRunId"] in running:
                continue
            if (watch := await self._watches.find_one(as_seen)) is not None:
                await self._active_run(watch)

    async def unchecked(self, run_id: str) -> list[str]:
        with self._db.use():
            return await self._ledger.unchecked(run_id)

    async def is_open(self, run_id: str, url: str) -> bool:
        wanted = IN_PROGRESS | {"_id": plain(run_id)}
        with self._db.use():
            if await self._runs.find_one(wanted, {"_id": True}) is None:
                return False
            return not await self._ledger.has_seen(run_id, page_in_run(url))

    async def note_published(self, run_id: str, at: datetime) -> None:
        with self._db.use():
            await self._runs.update_one(
                {"_id": plain(run_id)}, {"$max": {"publishedAt": moment(at)}}
            )

    async def find(self, run_id: str) -> WatchRun | None:
        with self._db.use():
            run = await self._runs.find_one({"_id": plain(run_id)})
            return None if run is None else await self._counted(run)

    async def _counted(self, document: Document) -> WatchRun:
        run = run_of(document)
        if run.status is not RunStatus.IN_PROGRESS:
            return run
        return _with_sums(run, await self._ledger.sums(run.run_id))

    # How it ends

    async def finish(
        self, run_id: str, next_run_at: datetime | None, instead_of: datetime | None
    ) -> WatchRun | None:
        with self._db.use():
            return await self._end(plain(run_id), moment(next_run_at), moment(instead_of))

    async def _end(
        self, run_id: str, next_run_at: datetime | None = None, instead_of: datetime | None = None
    ) -> WatchRun | None:
        document = await self._runs.find_one({"_id": run_id})
        if document is None:
            return None
        if document["status"] == RunStatus.IN_PROGRESS:
            ended = await self._ended(document)
            await self._runs.update_one(
                IN_PROGRESS | {"_id": run_id},
                {
                    "$set": {
                        "status": ended.status.value,
                        **tally_fields(ended.tally),
                        "failures": failure_documents(ended.failures),
                        "updatedAt": ended.updated_at,
                        "lastRunAt": ended.updated_at,
                        "finishedAt": ended.finished_at,
                        "runDuration": ended.duration // _MILLISECOND,
                        "nextRunAt": next_run_at,
                        "insteadOf": instead_of,
                        "expireAt": self._db.server_time() + self._keep,
                    }
                },
            )
            document = await self._runs.find_one({"_id": run_id})
            if document is None:
                return None
        await self._set_free(document)
        return run_of(document)

    async def close_idle(self, idle_since: datetime) -> int:
        idle = IN_PROGRESS | {"trigger": EVENTS, "updatedAt": {"$lte": moment(idle_since)}}
        with self._db.use():
            found = await self._runs.find(
                idle, {"_id": True, "jobId": True}, limit=CLOSED_AT_ONCE
            ).to_list()
            for run in found:
                sums = await self._ledger.sums(run["_id"])
                await self._ledger.close(run["jobId"], run["_id"], status_at_end(sums.tally))
        return len(found)

    async def _ended(self, document: Document) -> WatchRun:
        run = await self._counted(document)
        unknown = await self._ledger.unchecked(run.run_id)
        tally = replace(
            run.tally,
            processed=run.tally.processed + len(unknown),
            failed=run.tally.failed + len(unknown),
        )
        missed = [PageFailure(url=url, reason=NOT_CHECKED) for url in unknown[:MOST_FAILURES]]
        now = max(self._db.wall(), run.started_at)
        return replace(
            run,
            status=status_at_end(tally),
            updated_at=max(run.updated_at, now),
            finished_at=now,
            tally=tally,
            failures=[*run.failures, *missed][:MOST_FAILURES],
        )

    async def _set_free(self, run: Document) -> None:
        """What the run means for its watch."""
        is_as_seen = {"$eq": ["$nextRunAt", run.get("insteadOf")]}
        next_run_at = {"$cond": [is_as_seen, run["nextRunAt"], "$nextRunAt"]}
        is_failed = run["status"] == RunStatus.FAILED
        fields: Document = {
            "activeRunId": None,
            "lastRunId": literal(run["_id"]),
            "lastStatus": run["status"],
            "lastRunAt": run["finishedAt"],
            "failures": {"$add": ["$failures", 1]} if is_failed else literal(0),
            "nextRunAt": {"$cond": ["$enabled", next_run_at, None]},
        }
        for name in METRICS:
            fields[name] = {"$add": [{"$ifNull": [f"${name}", 0]}, run[name]]}
        await self._watches.update_one(
            {"_id": run["jobId"], "activeRunId": run["_id"]},
            [{"$set": fields}, {"$unset": "activeRun"}],
        )

    async def remove_watch(self, watch_id: str) -> bool:
        with self._db.use():
            watch = await self._watches.find_one({"_id": plain(watch_id)})
            if watch is not None and watch["activeRunId"] is not None:
                await self._active_run(watch)  # so that the run has its document
            removed = await self._watches.find_one_and_delete({"_id": plain(watch_id)})
            if removed is not None and removed["activeRunId"] is not None:
                await self._end(removed["activeRunId"])
        return removed is not None


def _is_due(watch: Document, now: datetime) -> bool:
    return watch["nextRunAt"] is not None and watch["nextRunAt"] <= now


def _with_sums(run: WatchRun, sums: Sums) -> WatchRun:
    return replace(run, tally=sums.tally, failures=sums.failures)
