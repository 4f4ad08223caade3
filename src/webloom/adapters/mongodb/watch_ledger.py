"""What each run has counted, so that nothing counts twice.

    {_id: run and bucket, run, seen: {key: code}, processed, failed, changes, priceChanges,
     failures: {key: {url, reason}}, expireAt}
    {_id: run and "urls", run, urls, expireAt}             what a run of a watch is to check

The counters of a run are the sums over its documents here. A key goes into the bucket that its
beginning names, in one update with what it adds to the counters. The update is made if the key is
as it was read, or at first without reading it, if it is not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from pymongo import UpdateOne

from webloom.adapters.mongodb.batching import Batcher
from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.page_writes import bulk
from webloom.adapters.mongodb.primitives import Codec, MongoDocuments
from webloom.adapters.mongodb.watch_metrics import WatchMetrics
from webloom.adapters.mongodb.watch_run_codec import made, run_document, run_state_of
from webloom.domain.errors import WebloomError
from webloom.domain.page_check import OUTCOMES, Checked
from webloom.domain.storage_event import StorageEvent, page_in_run
from webloom.domain.watch import MOST_FAILURES, Outcome, PageFailure, RunHead, RunStatus, Tally
from webloom.domain.watch_run import (
    Counted,
    Entry,
    PageOutcome,
    counting,
    entered,
    ledger_kept,
    with_counts,
)

IN_PROGRESS = {"status": RunStatus.IN_PROGRESS.value}

# A code is twice the place of the outcome, and one more with a change of price.
_OUTCOMES = (None, *OUTCOMES)
_COUNTERS = {  # in the ledger -> of a run
    "processed": "pagesProcessed",
    "failed": "pagesFailed",
    "changes": "changesDetected",
    "priceChanges": "priceChangesDetected",
}
_NONE = Tally()


class Row(NamedTuple):
    """A page of a run; of a run of a day, an event."""

    run_id: str
    key: str
    outcome: PageOutcome
    failure: PageFailure | None = None  # of a failed one

    @property
    def bucket(self) -> str:
        return f"{self.run_id}#{self.key[:2]}"


class Sums(NamedTuple):
    tally: Tally
    failures: list[PageFailure]


class WatchLedger:
    def __init__(self, database: MongoDatabase, keep_runs: timedelta) -> None:
        self._db = database
        self._ledger = database.watch_ledger
        self._runs = database.job_runs
        self._keep = ledger_kept(keep_runs)
        self._metrics = WatchMetrics(database)
        self._heads: Batcher[str, RunHead | None] = database.batcher(self._read_heads)
        self._append: Batcher[Row, None] = database.batcher(self._append_all)
        self._summing: Batcher[str, Tally] = database.batcher(self._tallies)
        self._refresh: Batcher[str, None] = database.batcher(self._refresh_all)
        codec = Codec(
            database.job_runs,
            decode=run_state_of,
            encode=run_document,
            guards=("status", "lastEventAt", *_COUNTERS.values()),
            inserted=made,
        )
        self._event_runs = MongoDocuments(database, codec)

    # Counting

    async def count(self, seen: StorageEvent | Checked) -> None:
        """The run, and the watch of a run of events, have counted it when this returns."""
        watch_id = plain(seen.watch_id)
        head = None if seen.run_id is None else await self._heads.ask(plain(seen.run_id))
        page = counting(watch_id, seen, head)
        if page is None:
            return
        run_id, failure = plain(page.run_id), None
        if page.error is not None:
            failure = PageFailure(url=plain(seen.url), reason=plain(page.error))
        await self._append.ask(Row(run_id, page.key, page.outcome, failure))
        if not page.is_of_events:
            await self._refresh.ask(run_id)
            return
        counted = Counted(page.event, await self._summing.ask(run_id), self._keep)
        await self._event_runs.change(with_counts, [(run_id, counted)])
        await self._metrics.add_up.ask((watch_id, run_id))

    async def _read_heads(self, run_ids: list[str]) -> Sequence[RunHead | WebloomError | None]:
        fields = {"jobId": True, "trigger": True, "status": True}
        with self._db.use():
            found = await self._runs.find({"_id": {"$in": list(set(run_ids))}}, fields).to_list()
        heads = {
            each["_id"]: RunHead(each["jobId"], each["trigger"], RunStatus(each["status"]))
            for each in found
        }
        return [heads.get(run_id) for run_id in run_ids]

    async def _refresh_all(self, run_ids: list[str]) -> Sequence[WebloomError | None]:
        """Runs of ours in progress, which many processes count for. Their counters only grow,
        except that of failures: a late writer with an older sum changes nothing. All are counted
        once more when the run ends."""
        now = self._db.wall()  # as `WatchRun.duration`:
        lasted = {"$toLong": {"$max": [0, {"$subtract": [now, "$startedAt"]}]}}
        updates = []
        with self._db.use():
            for run_id, tally in (await self._sums(run_ids)).items():
                counts = zip(_COUNTERS.values(), tally.values, strict=True)
                fields: Document = {name: {"$max": [f"${name}", count]} for name, count in counts}
                fields |= {"pagesFailed": tally.failed, "updatedAt": now, "lastRunAt": now}
                updates.append(
                    UpdateOne(
                        IN_PROGRESS | {"_id": run_id}, [{"$set": fields | {"runDuration": lasted}}]
                    )
                )
            await bulk(self._runs, updates)
        return [None] * len(run_ids)

    # Rows

    async def _append_all(self, rows: list[Row]) -> Sequence[WebloomError | None]:
        waiting, known = rows, dict[Row, PageOutcome]()
        with self._db.use():
            while waiting:
                changes = [
                    (row, self._change(row, known.get(row), entry))
                    for row in waiting
                    if (entry := entered(known.get(row), row.outcome, row.failure)) is not None
                ]
                failed = await bulk(self._ledger, [change for _, change in changes])
                waiting = [changes[index][0] for index in failed]
                known = await self._known(waiting) if waiting else {}
        return [None] * len(rows)

    async def _known(self, rows: list[Row]) -> dict[Row, PageOutcome]:
        wanted = {"_id": {"$in": [row.bucket for row in rows]}}
        fields = {f"seen.{row.key}": True for row in rows}
        found = await self._ledger.find(wanted, fields).to_list()
        seen = {each["_id"]: each.get("seen", {}) for each in found}
        return {
            row: _outcome_of(code)
            for row in rows
            if (code := seen.get(row.bucket, {}).get(row.key)) is not None
        }

    def _change(self, row: Row, known: PageOutcome | None, entry: Entry) -> UpdateOne:
        """Fails with a duplicate key unless the row is as it is known."""
        place, failure = f"seen.{row.key}", f"failures.{row.key}"
        update: Document = {
            "$set": {
                place: _code_of(entry.outcome),
                "run": row.run_id,
                "expireAt": self._db.server_time() + self._keep,
            },
            "$inc": dict(zip(_COUNTERS, entry.added.values, strict=True)),
        }
        if entry.failure is not None:
            shown = {"url": entry.failure.url, "reason": entry.failure.reason}
            update["$set"][failure] = shown
        elif known is not None:
            update["$unset"] = {failure: ""}
        before = {"$exists": False} if known is None else _code_of(known)
        return UpdateOne({"_id": row.bucket, place: before}, update, upsert=True)

    # Sums. To be called within `use`

    async def sums(self, run_ids: Sequence[str]) -> dict[str, Sums]:
        """By run."""
        counted = await self._sums([plain(run_id) for run_id in run_ids])
        sums = {}
        for run_id in run_ids:
            sums[run_id] = await self._with_failures(run_id, counted.get(plain(run_id), _NONE))
        return sums

    async def _with_failures(self, run_id: str, tally: Tally) -> Sums:
        failures: list[PageFailure] = []
        if tally.failed:
            async for row in self._ledger.find(
                {"run": plain(run_id), "failed": {"$gt": 0}}, {"failures": True}
            ):
                failures += failures_of(row)
                if len(failures) >= MOST_FAILURES:
                    break
        failures = sorted(failures[:MOST_FAILURES], key=lambda each: each.url)
        return Sums(tally=tally, failures=failures)

    async def _tallies(self, run_ids: list[str]) -> Sequence[Tally | WebloomError]:
        with self._db.use():
            sums = await self._sums(run_ids)
        return [sums.get(each, _NONE) for each in run_ids]

    async def _sums(self, run_ids: Sequence[str]) -> dict[str, Tally]:
        totals = {name: {"$sum": f"${name}"} for name in _COUNTERS}
        wanted = {"run": {"$in": list(set(run_ids))}}
        grouped = await self._ledger.aggregate(
            [{"$match": wanted}, {"$group": {"_id": "$run", **totals}}]
        )
        documents = await grouped.to_list()
        return {each["_id"]: Tally.of(each[name] for name in _COUNTERS) for each in documents}

    # What a run is to check. To be called within `use`

    async def plan(self, run_id: str, urls: Sequence[str]) -> None:
        expires = self._db.server_time() + self._keep
        document = {"run": plain(run_id), "urls": urls, "expireAt": expires}
        await self._ledger.update_one(
            {"_id": _urls_of(run_id)}, {"$setOnInsert": document}, upsert=True
        )

    async def counted(self, run_id: str) -> tuple[Sums, list[str]]:
        """What a run has counted, and its URLs without an outcome."""
        fields = dict.fromkeys(("urls", "seen", *_COUNTERS), True)
        rows = await self._ledger.find({"run": plain(run_id)}, fields).to_list()
        seen = {key for row in rows for key in row.get("seen", ())}
        tally = Tally.of(sum(row.get(name, 0) for row in rows) for name in _COUNTERS)
        unchecked = [
            url for row in rows for url in row.get("urls", ()) if page_in_run(url) not in seen
        ]
        return await self._with_failures(run_id, tally), unchecked

    async def has_seen(self, run_id: str, url: str) -> bool:
        row = Row(plain(run_id), page_in_run(url), PageOutcome(Outcome.UNCHANGED))
        return bool(await self._known([row]))


def _code_of(outcome: PageOutcome) -> int:
    return 2 * _OUTCOMES.index(outcome.outcome) + outcome.is_price_change


def _outcome_of(code: int) -> PageOutcome:
    outcome = _OUTCOMES[code // 2]
    assert outcome is not None  # noqa: S101 - no code is below two
    return PageOutcome(outcome, bool(code % 2))


def failures_of(row: Document) -> list[PageFailure]:
    found = row.get("failures", {}).values()
    return [PageFailure(url=each["url"], reason=each["reason"]) for each in found]


def _urls_of(run_id: str) -> str:
    return f"{plain(run_id)}#urls"
