from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from webloom.adapters.sqlite import import_ledger, posting_codec, posting_writes
from webloom.adapters.sqlite.database import Database, Operation
from webloom.adapters.sqlite.posting_keys import open_keys
from webloom.adapters.sqlite.posting_search import SqlitePostingSearch, count_postings
from webloom.adapters.sqlite.posting_writes import Apply, Writing
from webloom.domain.import_run import Counts, Failure, Mark
from webloom.ports.import_runs import Claim
from webloom.ports.postings import Batch, StoredPosting

COUNT_SECONDS = 1.0  # how old a count of all postings may be


Change = Callable[[sqlite3.Connection], object]


class SqlitePostings(SqlitePostingSearch):
    """The port `Postings`. `durable_batches`: a power cut must not undo a batch whose message was
    acknowledged. Where the queue is in the same file, it undoes the acknowledgement as well."""

    def __init__(self, database: Database, *, durable_batches: bool) -> None:
        super().__init__(database)
        self._applying = Operation(
            run=self._apply, prepare=posting_writes.encode, durable=durable_batches
        )
        self._failing: Operation[Change, object] = Operation(run=_each, durable=durable_batches)
        self._closing: Operation[Change, object] = Operation(run=_each)
        self._counted: tuple[float, tuple[int, int]] | None = None

    async def apply_batch(self, batch: Batch) -> Counts | None:
        await self._db.check_room()
        return await self._db.write(self._applying, Apply(batch=batch))

    async def fail_batch(self, mark: Mark, failures: Sequence[Failure], *, failed: int) -> None:
        await self._db.write(
            self._failing,
            lambda connection: self._writing(connection).fail(mark, failures, failed),
        )

    async def missing_batches(self, run_id: str, *, published: int) -> list[int]:
        return await self._db.scan(
            lambda connection: import_ledger.missing(connection, run_id, published)
        )

    async def open_keys(self, source_url: str, *, after: str, limit: int) -> list[str]:
        return await self._db.scan(
            lambda connection: open_keys(connection, source_url, after, limit)
        )

    async def close(self, claim: Claim, keys: Sequence[str]) -> None:
        await self._db.write(
            self._closing, lambda connection: self._writing(connection).close(claim, keys)
        )

    async def adopt(self, claim: Claim, *, is_shared: bool) -> int:
        return 0  # nobody else writes into Webloom's file

    async def find(self, dedupe_key: str) -> StoredPosting | None:
        return await self._db.read(lambda connection: posting_codec.find(connection, dedupe_key))

    async def count(self) -> tuple[int, int]:
        now = self._db.now()
        if self._counted is None or now - self._counted[0] > COUNT_SECONDS:
            self._counted = now, await self._db.scan(count_postings)
        return self._counted[1]

    # What follows runs in the writer's thread.

    def _writing(self, connection: sqlite3.Connection) -> Writing:
        return Writing(connection, self._db.wall_ms())

    def _apply(self, connection: sqlite3.Connection, items: list[Apply]) -> list[Counts | None]:
        writing = self._writing(connection)
        counts = [writing.apply(item) for item in items]
        writing.finish()
        return counts


def _each(connection: sqlite3.Connection, changes: list[Change]) -> list[object]:
    return [change(connection) for change in changes]
