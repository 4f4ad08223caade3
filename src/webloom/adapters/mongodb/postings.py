from __future__ import annotations

from collections.abc import Sequence

from webloom.adapters.mongodb.adopted_postings import AdoptedPostings
from webloom.adapters.mongodb.batching import Batcher
from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import plain
from webloom.adapters.mongodb.import_ledger import Entry, MongoRunLedger, Seen, Written
from webloom.adapters.mongodb.open_postings import OpenPostings
from webloom.adapters.mongodb.posting_codec import stored_posting
from webloom.adapters.mongodb.posting_search import MongoPostingSearch
from webloom.adapters.mongodb.posting_writes import PostingWrites
from webloom.domain.import_run import Counts, Failure, Mark, count
from webloom.ports.import_runs import Claim
from webloom.ports.postings import Batch, StoredPosting
from webloom.stores.import_runs import StoredImportRuns
from webloom.stores.postings import ledger_row

# Batches arrive one by one. Those that start together share each of the six commands that follow.
PACE = 0.025


class MongoPostings(MongoPostingSearch):
    """The port `Postings`."""

    def __init__(
        self, database: MongoDatabase, ledger: MongoRunLedger, runs: StoredImportRuns
    ) -> None:
        super().__init__(database)
        self._ledger = ledger
        self._runs = runs
        self._writes = PostingWrites(database, ledger)
        self._open = OpenPostings(database)
        self._adopted = AdoptedPostings(database)
        self._looking_up: Batcher[Mark, Seen] = database.batcher(ledger.look_up, pace=PACE)
        self._writing_rows: Batcher[Entry, Written] = database.batcher(ledger.write)

    async def apply_batch(self, batch: Batch) -> Counts | None:
        await self._db.check_room()
        seen = await self._looking_up.ask(batch.mark)
        if not seen.is_running:
            await self._count_late(batch, seen)
            return None
        if seen.counts is not None:
            return seen.counts
        as_before = await self._writes.judge_known(batch.source_url, batch.known, batch.mark)
        if as_before is None:
            return None
        verdicts, refused = await self._writes.apply(batch.postings, batch.mark)
        counts, failures = ledger_row(batch, refused, as_before, verdicts)
        return await self._write_row(Entry(batch.mark, counts, failures))

    async def _count_late(self, batch: Batch, seen: Seen) -> None:
        """Count what a worker stored before it died while the run ended. If it is alive, its own
        row counts more and replaces this one. What it stores later stays uncounted if it then dies
        before it writes its row, when the message is gone."""
        if seen.counts is None or seen.is_partial:
            made = await self._writes.made_by(batch.postings, batch.mark)
            if made:
                await self._write_row(Entry(batch.mark, count(made), [], is_partial=True))
                return
        if seen.counts is not None:
            await self._runs.settle(batch.mark.run_id)

    async def fail_batch(self, mark: Mark, failures: Sequence[Failure], *, failed: int) -> None:
        seen = await self._looking_up.ask(mark)
        if seen.is_running and seen.counts is None:
            await self._write_row(Entry(mark, Counts(failed=failed), failures))

    async def _write_row(self, entry: Entry) -> Counts:
        written = await self._writing_rows.ask(entry)
        if not written.is_running:
            await self._runs.settle(entry.mark.run_id)
        return written.counts

    async def missing_batches(self, run_id: str, *, published: int) -> list[int]:
        return await self._ledger.missing(run_id, published)

    async def open_keys(self, source_url: str, *, after: str, limit: int) -> list[str]:
        return await self._open.keys(source_url, after, limit)

    async def close(self, claim: Claim, keys: Sequence[str]) -> None:
        mark = plain(f"{claim.run.run_id}/{claim.token}")
        while await self._runs.is_held(claim):
            marked = await self._open.mark(keys, mark)
            if not await self._runs.is_held(claim):
                await self._open.unmark(keys, mark)
            elif marked == await self._open.close(keys, mark, claim.run.run_id):
                return  # otherwise a producer that has lost its run has put its mark there

    async def adopt(self, claim: Claim, *, is_shared: bool) -> int:
        return await self._adopted.adopt(claim, is_shared=is_shared)

    async def find(self, dedupe_key: str) -> StoredPosting | None:
        with self._db.use():
            document = await self._db.jobs.find_one({"dedupeKey": plain(dedupe_key)})
        return None if document is None else stored_posting(document)

    async def count(self) -> tuple[int, int]:
        return await self._open.count()
