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
from dataclasses import dataclass, field
from datetime import timedelta
from typing import NamedTuple

from pymongo import UpdateOne

from webloom.adapters.mongodb.batching import Batcher
from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.page_writes import bulk
from webloom.adapters.mongodb.primitives import Codec, MongoDocuments
from webloom.adapters.mongodb.watch_metrics import WatchMetrics
from webloom.adapters.mongodb.watch_run_codec import made, run_document, run_state_of
from webloom.domain.errors import WebloomError
from webloom.domain.page_check import Checked
from webloom.domain.storage_event import StorageEvent
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
from webloom.domain.watch_run import NOT_READ, Counted, PageOutcome, merged, with_counts

KEPT = timedelta(days=2)  # longer than a run, or a message that waits, may take
IN_PROGRESS = {"status": RunStatus.IN_PROGRESS.value}

# A code is twice the place of the outcome, and one more with a change of price.
_OUTCOMES = (None, Outcome.FAILED, Outcome.UNCHANGED, Outcome.CHANGED)
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Sums:
    tally: Tally = _NONE
    failures: list[PageFailure] = field(default_factory=list)


def page_in_run(url: str) -> str:
    """The key under which a run counts a page."""
    return StorageEvent(job_id="", url=url, snapshot_hash="", ts=0, run_id="any").counted_as


class WatchLedger:
    def __init__(self, database: MongoDatabase, keep_runs: timedelta) -> None:
        self._db = database
        self._ledger = database.watch_ledger
        self._runs = database.job_runs
        self._keep = max(KEPT, keep_runs)  # a run of events not shorter than its ledger
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

    async def count_check(self, checked: Checked) -> None:
        """The run, and the watch of a run of events, have counted it when this returns."""
        job_id, run_id = plain(checked.job_id), plain(checked.run_id)
        head = await self._heads.ask(run_id)
        if head is None or not is_counted(job_id, head, is_event=False):
            return
        failure = None
        if checked.outcome is Outcome.FAILED:
            reason = checked.error or NOT_READ
            failure = PageFailure(url=plain(checked.url), reason=plain(reason))
        outcome = PageOutcome(checked.outcome)
        await self._append.ask(Row(run_id, page_in_run(checked.url), outcome, failure))
        await self._count(job_id, run_id, head, None)

    async def count_event(self, event: StorageEvent) -> None:
        """As `count_check`."""
        job_id, run_id = plain(event.job_id), plain(event.counting_run)
        head = None if event.run_id is None else await self._heads.ask(run_id)
        if head is not None and head.watch_id != job_id:
            await self.count_event(event.without_run)
        elif is_counted(job_id, head, is_event=True):
            await self._append.ask(Row(run_id, event.counted_as, PageOutcome.of_event(event)))
            await self._count(job_id, run_id, head, event)

    async def _count(
        self, job_id: str, run_id: str, head: RunHead | None, event: StorageEvent | None
    ) -> None:
        if head is not None and head.trigger != EVENTS:
            await self._refresh.ask(run_id)
            return
        counted = Counted(
            event and event.without_content, await self._summing.ask(run_id), self._keep
        )
        await self._event_runs.change(with_counts, [(run_id, counted)])
        await self._metrics.add_up.ask((job_id, run_id))

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
        """Runs of ours in progress, which many processes count for. Their counters only grow, but
        for that of failures: a late writer with an older sum changes nothing. All are counted once
        more when the run ends."""
        now = self._db.wall()
        lasted = {"$toLong": {"$max": [0, {"$subtract": [now, "$startedAt"]}]}}
        updates = []
        with self._db.use():
            for run_id, sums in (await self._sums(run_ids)).items():
                fields: Document = {
                    name: {"$max": [f"${name}", sums[counter]]}
                    for counter, name in _COUNTERS.items()
                }
                fields |= {"pagesFailed": sums["failed"], "updatedAt": now, "lastRunAt": now}
                updates.append(
                    UpdateOne(
                        IN_PROGRESS | {"_id": run_id}, [{"$set": fields | {"runDuration": lasted}}]
                    )
                )
            await bulk(self._runs, updates)
        return [None] * len(run_ids)

    # Rows

    async def _append_all(self, rows: list[Row]) -> Sequence[WebloomError | None]:
        known: dict[Row, PageOutcome] = {}
        count = len(rows)
        with self._db.use():
            while rows:
                failed = await bulk(
                    self._ledger, [self._merge(row, known.get(row)) for row in rows]
                )
                rows = [rows[index] for index in failed]
                known = await self._known(rows) if rows else {}
                rows = [
                    row for row in rows if merged(known.get(row), row.outcome) != known.get(row)
                ]
        return [None] * count

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

    def _merge(self, row: Row, known: PageOutcome | None) -> UpdateOne:
        """Fails with a duplicate key unless the row is as it is known."""
        new = merged(known, row.outcome)
        added = new.tally if known is None else new.tally.minus(known.tally)
        place, failure = f"seen.{row.key}", f"failures.{row.key}"
        update: Document = {
            "$set": {
                place: _code_of(new),
                "run": row.run_id,
                "expireAt": self._db.server_time() + self._keep,
            },
            "$inc": dict(
                zip(
                    _COUNTERS,
                    (added.processed, added.failed, added.changes, added.price_changes),
                    strict=True,
                )
            ),
        }
        if new.outcome is not Outcome.FAILED:
            update["$unset"] = {failure: ""}
        elif row.failure is not None:
            update["$set"][failure] = {"url": row.failure.url, "reason": row.failure.reason}
        before = {"$exists": False} if known is None else _code_of(known)
        return UpdateOne({"_id": row.bucket, place: before}, update, upsert=True)

    # Sums. To be called within `use`

    async def sums(self, run_ids: Sequence[str]) -> dict[str, Sums]:
        """By run."""
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
                failures += failures_of(row)
                if len(failures) >= MOST_FAILURES:
                    break
        failures = sorted(failures[:MOST_FAILURES], key=lambda each: each.url)
        return Sums(tally=tally_of(counted), failures=failures)

    async def _tallies(self, run_ids: list[str]) -> Sequence[Tally | WebloomError]:
        with self._db.use():
            sums = await self._sums(run_ids)
        return [tally_of(sums[each]) if each in sums else _NONE for each in run_ids]

    async def _sums(self, run_ids: Sequence[str]) -> dict[str, Document]:
        totals = {name: {"$sum": f"${name}"} for name in _COUNTERS}
        wanted = {"run": {"$in": list(set(run_ids))}}
        grouped = await self._ledger.aggregate(
            [{"$match": wanted}, {"$group": {"_id": "$run", **totals}}]
        )
        return {each["_id"]: each for each in await grouped.to_list()}

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
        totals = {name: sum(row.get(name, 0) for row in rows) for name in _COUNTERS}
        unchecked = [
            url for row in rows for url in row.get("urls", ()) if page_in_run(url) not in seen
        ]
        return await self._with_failures(run_id, totals), unchecked

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


def tally_of(counted: Document) -> Tally:
    return Tally(
        processed=counted["processed"],
        failed=counted["failed"],
        changes=counted["changes"],
        price_changes=counted["priceChanges"],
    )


def _urls_of(run_id: str) -> str:
    return f"{plain(run_id)}#urls"
