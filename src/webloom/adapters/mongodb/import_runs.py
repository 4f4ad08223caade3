"""Runs: who holds each, how it is counted, how it begins and ends.

Two documents take part where a run begins and ends, its own and its feed's, and a process may die
between them:

    begin   the feed names its run, with all that the run begins with -> the run's document
    end     the run's document, with all that it means for its feed -> rows of batches that came
            meanwhile are counted -> the feed is set free

Whoever finds only the first half makes the second: `start`, and `claim` on its way.

A claim's holder writes on the condition that the token is still its own and that Webloom has not
ended the run. A worker of another program may set its status before: then the holder, or who claims
the run next, ends it for Webloom, and the feed is set free.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from pymongo import ASCENDING, ReturnDocument
from pymongo.errors import DuplicateKeyError

from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.documents import Document, literal, plain
from webloom.adapters.mongodb.import_feeds import WITHOUT_RUN, feed_of, fetch_document
from webloom.adapters.mongodb.import_runs_documents import (
    COUNTERS,
    run_document,
    run_of,
    third_party_seen,
    whole_milliseconds,
)
from webloom.adapters.mongodb.ledger import Ledger, has_lost_rows
from webloom.adapters.mongodb.postings_open import OpenPostings
from webloom.domain.feed import Feed, FeedConfig
from webloom.domain.import_run import (
    NOTHING,
    Counts,
    ImportRun,
    Phase,
    Reading,
    RunStatus,
    balanced,
    merged_failures,
    merged_reasons,
    status_at_end,
)
from webloom.domain.third_party import at_end, counted
from webloom.parsing.web_url import host_of
from webloom.ports.import_store import Claim, Ending, NewRun

RUNNING = {"status": RunStatus.RUNNING.value}
OLDEST_FIRST = [("startedAt", ASCENDING), ("_id", ASCENDING)]
_AS_READ = ("_id", "status", "cancelRequested", *COUNTERS)


class Runs:
    def __init__(self, database: MongoDatabase, ledger: Ledger, postings: OpenPostings) -> None:
        self._db = database
        self._runs = database.import_logs
        self._feeds = database.feeds
        self._ledger = ledger
        self._postings = postings

    # How it begins

    async def start(self, feed_id: str, new: NewRun) -> ImportRun | None:
        with self._db.use():
            while True:
                if made := await self._runs.find_one({"_id": plain(new.run_id)}):
                    return run_of(made)
                feed = await self._feeds.find_one({"_id": plain(feed_id)})
                if feed is None:
                    return None
                if feed["activeRunId"] is None:
                    if new.due is not None and not _is_due(feed, new.due):
                        return None
                    feed = await self._tie(feed, new)
                if feed is not None and (active := await self._active_run(feed)) is not None:
                    return run_of(active)

    async def _tie(self, feed: Document, new: NewRun) -> Document | None:
        """None: somebody else was quicker."""
        is_as_read = {name: feed[name] for name in ("_id", "revision", "nextRunAt", "activeRunId")}
        begun = self._new_document(feed, new)
        tied: Document | None = await self._feeds.find_one_and_update(
            is_as_read,
            {"$set": {"activeRunId": begun["_id"], "activeRun": begun}},
            return_document=ReturnDocument.AFTER,
        )
        return tied

    def _new_document(self, feed: Document, new: NewRun) -> Document:
        run = ImportRun(
            run_id=new.run_id,
            feed_id=feed["_id"],
            source_url=feed["url"],
            source_name=feed["name"],
            status=RunStatus.RUNNING,
            trigger=new.trigger,
            started_at=self._db.wall(),
            updated_at=self._now(),
            batch_size=new.batch_size,
            concurrency=new.concurrency,
            reading=Reading(phase=Phase.WAITING),
            counts=Counts(),
            retry_of=new.retry_of,
        )
        is_taken = new.owner is not None
        work = {
            "token": 1 if is_taken else 0,
            "owner": new.owner and plain(new.owner),
            "lease": self._db.now() + new.lease if is_taken else 0.0,
            "started": self._db.now(),
            "revision": feed["revision"],
            "ending": None,
        }
        return run_document(run) | {"work": work}

    async def _active_run(self, feed: Document) -> Document | None:
        """The feed's run, if it is running; otherwise the feed is set right."""
        run_id, begun = feed["activeRunId"], feed.get("activeRun")
        run: Document | None = await self._runs.find_one({"_id": run_id})
        if run is None and begun is not None and begun["_id"] == run_id:
            try:
                await self._runs.insert_one(begun)
            except DuplicateKeyError:
                run = await self._runs.find_one({"_id": run_id})
            else:
                run = begun
        if run is None:
            await self._feeds.update_one(
                {"_id": feed["_id"], "activeRunId": run_id},
                {"$set": {"activeRunId": None}, "$unset": {"activeRun": True}},
            )
        elif run["status"] != RunStatus.RUNNING:
            await self._after_end(run_of(run))
        else:
            return run
        return None

    async def _ended_by_others(self, run_ids: list[str]) -> list[str]:
        """Of these runs, those that a worker of another program has ended, and nobody for us."""
        if not run_ids:
            return []
        wanted = {"_id": {"$in": run_ids}, "status": {"$ne": RunStatus.RUNNING.value}}
        found = self._runs.find(wanted | {"work.ending": None}, {"_id": True})
        return [run["_id"] for run in await found.to_list()]

    # Whose it is

    async def claim(
        self, owner: str, lease: float, run_id: str | None, busy_hosts: Collection[str]
    ) -> Claim | None:
        with self._db.use():
            feeds = await self._feeds.find({"activeRunId": {"$type": "string"}}).to_list()
            left = await self._set_right(feeds)
            now, owner = self._db.now(), plain(owner)
            wanted: Document = {"$or": [RUNNING, {"_id": {"$in": left}}]} if left else RUNNING
            may_begin: Document = {}
            if run_id is not None:
                wanted = wanted | {"_id": plain(run_id)}
            elif busy_hosts:
                may_begin = _may_begin(feeds, busy_hosts)
            taken = {"work.owner": owner, "work.lease": now + lease}
            document = await self._runs.find_one_and_update(
                wanted | {"work.owner": owner, "work.lease": {"$gt": now}},
                {"$set": taken},
                return_document=ReturnDocument.AFTER,
            ) or await self._runs.find_one_and_update(
                wanted | {"work.lease": {"$lte": now}} | may_begin,
                {"$set": taken, "$inc": {"work.token": 1}},
                sort=OLDEST_FIRST,
                return_document=ReturnDocument.AFTER,
            )
            if document is None:
                return None
            feed = await self._feeds.find_one({"_id": document["feedId"]}, WITHOUT_RUN)
            if feed is None:
                document = await self._asked_to_end(document["_id"]) or document
        run = run_of(document)
        return Claim(
            run=run,
            feed=_removed_feed(run) if feed is None else feed_of(feed),
            token=document["work"]["token"],
        )

    async def _set_right(self, feeds: list[Document]) -> list[str]:
        """Runs that others have ended, and that are still to be ended for us."""
        named = {"_id": {"$in": [feed["activeRunId"] for feed in feeds]}}
        found = await self._runs.find(RUNNING | named, {"_id": True}).to_list()
        running = {run["_id"] for run in found}
        others = [feed for feed in feeds if feed["activeRunId"] not in running]
        left = await self._ended_by_others([feed["activeRunId"] for feed in others])
        for feed in others:
            if feed["activeRunId"] not in left:
                await self._active_run(feed)
        return left

    async def renew(self, claim: Claim, lease: float) -> bool:
        with self._db.use():
            renewed = await self._runs.update_one(
                _held(claim), {"$set": {"work.lease": self._db.now() + lease}}
            )
        return renewed.matched_count == 1

    async def give_up(self, claim: Claim) -> None:
        with self._db.use():
            await self._runs.update_one(
                _held(claim), {"$set": {"work.owner": None, "work.lease": 0.0}}
            )

    async def close_postings(self, claim: Claim, keys: Sequence[str]) -> None:
        mark = plain(f"{claim.run.run_id}/{claim.token}")
        with self._db.use():
            while await self._is_held(claim):
                marked = await self._postings.mark(keys, mark)
                if not await self._is_held(claim):
                    await self._postings.unmark(keys, mark)
                elif marked == await self._postings.close(keys, mark, claim.run.run_id):
                    return  # else a producer that has lost its run has put its mark there instead

    async def _is_held(self, claim: Claim) -> bool:
        return await self._runs.find_one(_held(claim), {"_id": True}) is not None

    # How it goes and ends

    async def note(self, claim: Claim, reading: Reading) -> ImportRun | None:
        with self._db.use():
            while True:
                document = await self._runs.find_one(_held(claim))
                if document is None:
                    return None
                old = run_of(document)
                new = await self._counted(old, reading)
                if new == old and new.third_party == third_party_seen(document):
                    return old
                new = replace(new, updated_at=self._now())
                if await self._write(document, new):
                    return new

    async def finish(self, claim: Claim, reading: Reading, ending: Ending) -> ImportRun | None:
        with self._db.use():
            while True:
                document = await self._runs.find_one({"_id": plain(claim.run.run_id)})
                if document is None:
                    return None
                if document["work"]["ending"] is not None:
                    return await self._after_end(run_of(document))
                if document["work"]["token"] != claim.token:
                    return None
                run = await self._ended(document, reading, ending.error)
                if await self._write(document, run, _ending_document(ending)):
                    return await self._after_end(run)

    async def _ended(self, document: Document, reading: Reading, error: str | None) -> ImportRun:
        run = run_of(document)
        took = round((self._db.now() - document["work"]["started"]) * 1000)
        reading = replace(reading, phase=Phase.FINISHED)
        return replace(
            at_end(await self._counted(run, reading), error),
            closed_jobs=await self._postings.closed_by(run.run_id),
            updated_at=self._now(),
            finished_at=run.finished_at or self._db.wall(),
            duration_ms=took if run.duration_ms is None else run.duration_ms,
        )

    async def _after_end(self, run: ImportRun) -> ImportRun | None:
        """A batch whose row is late may have come while the run was counted."""
        if not run.reading.all_published or run.processed_batches < run.reading.published:
            await self.count_again(run.run_id)
        document = await self._runs.find_one({"_id": plain(run.run_id)})
        if document is None:
            return None
        await self._set_free(document)
        return run_of(document)

    async def count_again(self, run_id: str) -> None:
        """Of a run that has ended, for rows that came too late. To be called within `use`."""
        while True:
            document = await self._runs.find_one({"_id": plain(run_id)})
            if document is None or document["status"] == RunStatus.RUNNING:
                return
            old = run_of(document)
            new = balanced(await self._counted(old, old.reading))
            if has_lost_rows(old, new):
                return
            if (new.processed_batches, new.counts) == (old.processed_batches, old.counts):
                return
            status = status_at_end(new.counts, error=new.error)
            if new.third_party != NOTHING:  # who ended it has decided
                status = old.status
            new = replace(new, status=status, updated_at=self._now())
            if await self._write(document, new):
                await self._feeds.update_one(
                    {"_id": document["feedId"], "lastRunId": document["_id"]},
                    {"$set": {"lastStatus": new.status.value}},
                )
                return

    async def _counted(self, run: ImportRun, reading: Reading) -> ImportRun:
        sums = await self._ledger.sums(run.run_id)
        producer = Counts(duplicate=reading.duplicates, failed=reading.failed)
        own = replace(
            run,
            reading=reading,
            counts=producer.plus(sums.counts),
            processed_batches=sums.batches,
            failures=merged_failures(reading.failures, sums.failures),
            failure_reasons=merged_reasons(reading.failure_reasons, sums.reasons),
        )
        return counted(run, own)

    async def _write(
        self, document: Document, run: ImportRun, ending: Document | None = None
    ) -> bool:
        """False: the document is no longer as it was read."""
        fields = run_document(run)
        del fields["_id"]
        if ending is not None:
            fields["work.ending"] = ending
        is_as_read = {name: document[name] for name in _AS_READ} | {
            "work.token": document["work"]["token"],
            "meta.processedBatches": document["meta"]["processedBatches"],
        }
        if isinstance(failures := document["failures"], list):  # others add to them
            is_as_read["failures"] = {"$size": len(failures)}
        written = await self._runs.update_one(is_as_read, {"$set": fields})
        return written.matched_count == 1

    async def _set_free(self, run: Document) -> None:
        """What the run means for its feed. An edit since the run began stands."""
        ending = run["work"]["ending"] or {}
        is_as_read = {"$eq": ["$revision", run["work"]["revision"]]}
        known = run_of(run)
        failures: object = {"$add": ["$failures", 1]}  # as `failures_after` has it
        if known.cancel_requested:
            failures = "$failures"
        elif known.status is not RunStatus.FAILED:
            failures = literal(0)

        def unless_edited(name: str, value: object) -> Document:
            return {"$cond": [is_as_read, literal(value), f"${name}"]}

        fields: Document = {
            "activeRunId": None,
            "lastRunId": literal(run["_id"]),
            "lastStatus": known.status.value,
            "lastError": literal(run["error"]),
            "lastRunAt": known.finished_at,
            "failures": failures,
        }
        if "nextRunAt" in ending:
            fields["nextRunAt"] = unless_edited("nextRunAt", ending["nextRunAt"])
        if ending.get("lastFetch") is not None:
            fields["lastFetch"] = unless_edited("lastFetch", ending["lastFetch"])
        await self._feeds.update_one(
            {"_id": run["feedId"], "activeRunId": run["_id"]},
            [{"$set": fields}, {"$unset": "activeRun"}],
        )

    async def cancel(self, run_id: str) -> ImportRun | None:
        with self._db.use():
            document = await self._asked_to_end(run_id)
            if document is None:
                document = await self._runs.find_one({"_id": plain(run_id)})
        return None if document is None else run_of(document)

    async def _asked_to_end(self, run_id: str) -> Document | None:
        asked: Document | None = await self._runs.find_one_and_update(
            RUNNING | {"_id": plain(run_id), "cancelRequested": False},
            {"$set": {"cancelRequested": True, "updatedAt": self._now()}},
            return_document=ReturnDocument.AFTER,
        )
        return asked

    async def remove_feed(self, feed_id: str) -> bool:
        with self._db.use():
            feed = await self._feeds.find_one({"_id": plain(feed_id)})
            if feed is None:
                return False
            if feed["activeRunId"] is not None:
                await self._active_run(feed)  # so that the run has its document
                await self._asked_to_end(feed["activeRunId"])
            removed = await self._feeds.find_one_and_delete({"_id": feed["_id"]})
            if removed is not None and removed["activeRunId"] is not None:
                await self._asked_to_end(removed["activeRunId"])
        return removed is not None

    def _now(self) -> datetime:
        return whole_milliseconds(self._db.server_time())


def _is_due(feed: Document, now: datetime) -> bool:
    return feed["nextRunAt"] is not None and feed["nextRunAt"] <= now


def _may_begin(feeds: list[Document], busy_hosts: Collection[str]) -> Document:
    """A run that is asked to end needs no host."""
    busy = [
        feed["activeRunId"]
        for feed in feeds
        if host_of(feed.get("movedTo") or feed["url"]) in busy_hosts
    ]
    return {"$and": [{"$or": [{"cancelRequested": True}, {"_id": {"$nin": busy}}]}]}


def _held(claim: Claim) -> Document:
    """Whatever its status is: others may have set it."""
    return {"_id": plain(claim.run.run_id), "work.token": claim.token, "work.ending": None}


def _ending_document(ending: Ending) -> Document:
    return {
        "nextRunAt": ending.next_run_at,
        "lastFetch": ending.last_fetch and fetch_document(ending.last_fetch),
    }


def _removed_feed(run: ImportRun) -> Feed:
    """For the claim on a run whose feed was removed."""
    return Feed(
        feed_id=run.feed_id,
        config=FeedConfig(url=run.source_url, name=run.source_name, enabled=False),
        created_at=run.started_at,
        updated_at=run.started_at,
        next_run_at=None,
    )
