"""What became of each batch: one row for each, from which a run is counted.

    {runId, batchIndex, new, updated, unchanged, duplicate, failed,
     failures: [{index, reason, sample}], reasons: [{reason, times}], at, isPartial}

Of two rows that are written for one batch, the first stands. Only a row of what was found stored of
a batch whose run has ended is partial, and gives way to one that counts no less: its worker may be
alive, and have stored the rest when it comes to its row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pymongo import ASCENDING, ReplaceOne
from pymongo.errors import BulkWriteError

from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.errors import DUPLICATE_KEY
from webloom.adapters.mongodb.import_run_codec import failure_of, pairs
from webloom.adapters.mongodb.open_postings import count_by_index
from webloom.adapters.mongodb.values import document_of
from webloom.domain.errors import WebloomError
from webloom.domain.import_run import (
    MOST_FAILURES,
    MOST_REASONS,
    Counts,
    Failure,
    Mark,
    RunStatus,
)
from webloom.domain.import_transitions import Sums, reasons_of, reasons_of_run

_COUNTS = dict.fromkeys(Counts._fields, True)
_ROW = {"_id": False, "runId": True, "batchIndex": True, "isPartial": True, **_COUNTS}


class Entry(NamedTuple):
    """A row to be written."""

    mark: Mark
    counts: Counts
    failures: Sequence[Failure]
    is_partial: bool = False


class Seen(NamedTuple):
    """What is known of a batch before it is applied."""

    is_running: bool  # its run
    counts: Counts | None  # of its row, if there is one
    is_partial: bool  # the row


class Written(NamedTuple):
    counts: Counts  # of the row that stands
    is_running: bool  # the run, after the row was written


class MongoRunLedger:
    def __init__(self, database: MongoDatabase) -> None:
        self._db = database
        self._rows = database.import_batches
        self._runs = database.import_logs

    async def look_up(self, marks: list[Mark]) -> list[Seen | WebloomError]:
        with self._db.use():
            rows = await self._found(marks)
            running = await self.running(mark.run_id for mark in marks)
        return [_seen(mark.run_id in running, rows.get(mark)) for mark in marks]

    async def write(self, entries: list[Entry]) -> list[Written | WebloomError]:
        """A run that ends looks at the ledger once more after it has ended, and a row that comes
        still later is seen here to be late: one of the two counts it."""
        now = self._db.server_time()
        rows = [_row(entry) | {"at": now} for entry in entries]
        stands: dict[Mark, Counts] = {}
        with self._db.use():
            try:
                await self._rows.insert_many(rows, ordered=False)
            except BulkWriteError as error:
                failures = error.details["writeErrors"]
                if error.details["writeConcernErrors"] or any(
                    each["code"] != DUPLICATE_KEY for each in failures
                ):
                    raise
                stands = await self._settled([rows[each["index"]] for each in failures])
            running = await self.running(entry.mark.run_id for entry in entries)
        return [
            Written(stands.get(entry.mark, entry.counts), entry.mark.run_id in running)
            for entry in entries
        ]

    async def _settled(self, rows: list[Document]) -> dict[Mark, Counts]:
        """What stands where there was a row already."""
        await self._rows.bulk_write([_instead_of_a_part(row) for row in rows])
        found = await self._found([_mark_of(row) for row in rows])
        return {mark: _counts_of(row) for mark, row in found.items()}

    async def running(self, run_ids: Iterable[str]) -> set[str]:
        """To be called within `use`."""
        names = list({plain(run_id) for run_id in run_ids})
        wanted = {"_id": {"$in": names}, "status": RunStatus.RUNNING.value}
        return {each["_id"] for each in await self._runs.find(wanted, {"_id": True}).to_list()}

    async def _found(self, marks: Sequence[Mark]) -> dict[Mark, Document]:
        by_run: dict[str, list[int]] = {}
        for mark in marks:
            by_run.setdefault(mark.run_id, []).append(mark.batch_index)
        wanted = [
            {"runId": plain(run_id), "batchIndex": {"$in": batches}}
            for run_id, batches in by_run.items()
        ]
        found = self._rows.find(wanted[0] if len(wanted) == 1 else {"$or": wanted}, _ROW)
        return {_mark_of(row): row for row in await found.to_list()}

    async def missing(self, run_id: str, published: int) -> list[int]:
        with self._db.use():
            found = self._rows.find(
                {"runId": plain(run_id), "batchIndex": {"$lt": published}},
                {"_id": False, "batchIndex": True},
                batch_size=100_000,
            )
            there = {row["batchIndex"] for row in await found.to_list()}
        return [index for index in range(published) if index not in there]

    async def at_end(self, run_id: str) -> tuple[Sums, int]:
        sums = await self.sums(run_id)
        with self._db.use():
            return sums, await count_by_index(self._db.jobs, {"closedBy": plain(run_id)})

    async def release(self, run_id: str) -> None:
        """The rows expire. Until then a late one can still be counted."""

    async def sums(self, run_id: str) -> Sums:
        of_run = {"runId": plain(run_id)}
        totals: Document = {name: {"$sum": f"${name}"} for name in Counts._fields}
        with self._db.use():
            grouped = await self._rows.aggregate(
                [{"$match": of_run}, {"$group": {"_id": None, "batches": {"$sum": 1}, **totals}}]
            )
            for found in await grouped.to_list():
                counts = _counts_of(found)
                failures = await self._failures(of_run) if counts.failed else []
                reasons = await self._reasons(of_run, counts.failed) if counts.failed else {}
                return Sums(
                    counts=counts, batches=found["batches"], failures=failures, reasons=reasons
                )
        return Sums()

    async def _failures(self, of_run: Document) -> list[Failure]:
        failures: list[Failure] = []
        async with self._rows.find(
            of_run | {"failed": {"$gt": 0}},
            {"failures": True},
            sort=[("runId", ASCENDING), ("batchIndex", ASCENDING)],
            batch_size=10,
        ) as rows:
            async for row in rows:
                failures += [failure_of(each) for each in row["failures"]]
                if len(failures) >= MOST_FAILURES:
                    break
        return failures[:MOST_FAILURES]

    async def _reasons(self, of_run: Document, failed: int) -> dict[str, int]:
        grouped = await self._rows.aggregate(
            [
                {"$match": of_run | {"failed": {"$gt": 0}}},
                {"$unwind": "$reasons"},
                {"$group": {"_id": "$reasons.reason", "times": {"$sum": "$reasons.times"}}},
                {"$sort": {"times": -1, "_id": 1}},
                {"$limit": MOST_REASONS},
            ],
            allowDiskUse=True,
        )
        reasons = {each["_id"]: each["times"] for each in await grouped.to_list()}
        return reasons_of_run(reasons, failed)


def _row(entry: Entry) -> Document:
    mark, counts, failures, is_partial = entry
    row: Document = {"runId": plain(mark.run_id), "batchIndex": mark.batch_index}
    row |= counts._asdict()
    if is_partial:
        row["isPartial"] = True
    if counts.failed:
        row["failures"] = [document_of(each) for each in failures[:MOST_FAILURES]]
        row["reasons"] = pairs(reasons_of(failures, counts.failed))
    return row


def _instead_of_a_part(row: Document) -> ReplaceOne[Document]:
    chosen: Document = {"runId": row["runId"], "batchIndex": row["batchIndex"], "isPartial": True}
    for name in ("new", "updated"):
        chosen[name] = {"$lte": row[name]}
    return ReplaceOne(chosen, {name: row[name] for name in row if name != "_id"})


def _seen(is_running: bool, row: Document | None) -> Seen:
    if row is None:
        return Seen(is_running, None, False)
    return Seen(is_running, _counts_of(row), row.get("isPartial", False))


def _mark_of(row: Document) -> Mark:
    return Mark(row["runId"], row["batchIndex"])


def _counts_of(row: Document) -> Counts:
    return Counts(*(row[name] for name in Counts._fields))
