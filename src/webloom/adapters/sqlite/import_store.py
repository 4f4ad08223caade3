"""Feeds, runs and postings in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Any, TypeVar

from webloom.adapters.sqlite import (
    import_feeds,
    import_runs,
    import_runs_rows,
    posting_rows,
    posting_writes,
)
from webloom.adapters.sqlite.batches import Moment
from webloom.adapters.sqlite.database import Database, Verb
from webloom.adapters.sqlite.posting_keys import open_keys
from webloom.adapters.sqlite.posting_search import count_postings, postings_page
from webloom.adapters.sqlite.posting_writes import Apply, Writing
from webloom.adapters.sqlite.values import milliseconds
from webloom.domain.feed import Feed, FeedConfig, UrlTaken
from webloom.domain.import_run import Counts, Failure, ImportRun, Mark, Reading
from webloom.ports.import_store import (
    Batch,
    Claim,
    Ending,
    NewRun,
    PostingFilter,
    PostingPage,
    RunFilter,
    RunPage,
    StoredPosting,
)

COUNT_SECONDS = 1.0  # how old a count of all postings may be

Result = TypeVar("Result")
Change = Callable[[sqlite3.Connection, Moment], Result]


class SqliteImportStore:
    """`durable_batches`: a power cut must not undo a batch whose message was acknowledged. Where
    the queue is in the same file, it undoes the acknowledgement as well."""

    def __init__(self, database: Database, *, durable_batches: bool) -> None:
        self._db = database
        self._changing: Verb[Change[Any], Any] = Verb(run=self._change)
        self._noting: Verb[Change[Any], Any] = Verb(run=self._change, durable=False)
        self._applying = Verb(
            run=self._apply, prepare=posting_writes.encode, durable=durable_batches
        )
        self._failing = Verb(run=self._fail, durable=durable_batches)
        self._counted: tuple[float, tuple[int, int]] | None = None
        self._every_run = import_runs_rows.AllRuns()

    # Feeds

    async def add_feed(
        self, feed_id: str, config: FeedConfig, *, next_run_at: datetime | None
    ) -> tuple[Feed, bool]:
        return await self._write(
            lambda connection, moment: import_feeds.add(
                connection, feed_id, config, next_run_at, moment.wall
            )
        )

    async def find_feed(self, feed_id: str) -> Feed | None:
        return await self._db.read(lambda connection: import_feeds.one(connection, feed_id))

    async def feed_of(self, url: str) -> Feed | None:
        found = await self._db.read(lambda connection: import_feeds.of_url(connection, url))
        return found[0] if found else None

    async def feeds(self) -> list[Feed]:
        return await self._db.read(
            lambda connection: import_feeds.find(connection, "true ORDER BY name, url")
        )

    async def edit_feed(
        self, feed_id: str, config: FeedConfig, *, next_run_at: datetime | None
    ) -> Feed | UrlTaken | None:
        return await self._write(
            lambda connection, moment: import_feeds.edit(
                connection, feed_id, config, next_run_at, moment.wall
            )
        )

    async def remove_feed(self, feed_id: str) -> bool:
        return await self._write(
            lambda connection, moment: import_runs.remove_feed(connection, feed_id, moment)
        )

    async def due_feeds(self, now: datetime, *, limit: int) -> list[Feed]:
        return await self._db.read(lambda connection: import_feeds.due(connection, now, limit))

    # Runs

    async def start_run(self, feed_id: str, new: NewRun) -> ImportRun | None:
        return await self._write(
            lambda connection, moment: import_runs.start(connection, feed_id, new, moment)
        )

    async def claim_run(
        self,
        owner: str,
        *,
        lease: float,
        run_id: str | None = None,
        busy_hosts: Collection[str] = (),
    ) -> Claim | None:
        return await self._write(
            lambda connection, moment: import_runs.claim(
                connection, owner, lease, run_id, busy_hosts, moment
            )
        )

    async def renew_run(self, claim: Claim, *, lease: float) -> bool:
        return await self._note(
            lambda connection, moment: import_runs.lengthen(connection, claim, moment.now + lease)
        )

    async def give_up_run(self, claim: Claim) -> None:
        await self._note(lambda connection, moment: import_runs.give_up(connection, claim))

    async def note_reading(self, claim: Claim, reading: Reading) -> ImportRun | None:
        return await self._note(
            lambda connection, moment: import_runs.note(connection, claim, reading, moment)
        )

    async def finish_run(self, claim: Claim, reading: Reading, ending: Ending) -> ImportRun | None:
        return await self._write(
            lambda connection, moment: import_runs.finish(
                connection, claim, reading, ending, moment
            )
        )

    async def cancel_run(self, run_id: str) -> ImportRun | None:
        return await self._write(
            lambda connection, moment: import_runs.cancel(connection, run_id, moment)
        )

    async def find_run(self, run_id: str) -> ImportRun | None:
        row = await self._db.read(lambda connection: import_runs_rows.one(connection, run_id))
        return None if row is None else row.run

    async def page_of_runs(self, chosen: RunFilter, *, offset: int, limit: int) -> RunPage:
        return await self._db.scan(
            lambda connection: import_runs_rows.page(
                connection, chosen, offset, limit, self._every_run
            )
        )

    async def changed_runs(self, since: datetime | None, *, limit: int) -> list[ImportRun]:
        time = milliseconds(since)
        return await self._db.read(
            lambda connection: import_runs_rows.changed(connection, time, limit)
        )

    # Postings

    async def apply_batch(self, batch: Batch) -> Counts | None:
        await self._db.check_room()
        return await self._db.write(self._applying, Apply(batch=batch))

    async def fail_batch(self, mark: Mark, failures: Sequence[Failure], *, failed: int) -> None:
        await self._db.write(self._failing, (mark, failures, failed))

    async def missing_batches(self, run_id: str, *, published: int) -> list[int]:
        return await self._db.scan(
            lambda connection: import_runs_rows.missing(connection, run_id, published)
        )

    async def open_keys(self, source_url: str, *, after: str, limit: int) -> list[str]:
        return await self._db.scan(
            lambda connection: open_keys(connection, source_url, after, limit)
        )

    async def close_postings(self, claim: Claim, keys: Sequence[str]) -> None:
        await self._write(
            lambda connection, moment: posting_writes.close(connection, claim, keys, moment.wall)
        )

    async def adopt_postings(self, claim: Claim, *, is_shared: bool) -> int:
        return 0  # nobody else writes into Webloom's file

    async def find_posting(self, dedupe_key: str) -> StoredPosting | None:
        return await self._db.read(lambda connection: posting_rows.find(connection, dedupe_key))

    async def page_of_postings(
        self, chosen: PostingFilter, *, limit: int, cursor: str | None = None
    ) -> PostingPage:
        return await self._db.scan(postings_page(chosen, limit, cursor))

    async def count_postings(self) -> tuple[int, int]:
        now = self._db.now()
        if self._counted is None or now - self._counted[0] > COUNT_SECONDS:
            self._counted = now, await self._db.scan(count_postings)
        return self._counted[1]

    async def _write(self, change: Change[Result]) -> Result:
        result: Result = await self._db.write(self._changing, change)
        return result

    async def _note(self, change: Change[Result]) -> Result:
        """Progress of work that is done again if it is lost."""
        result: Result = await self._db.write(self._noting, change)
        return result

    # What follows runs in the writer's thread.

    def _change(self, connection: sqlite3.Connection, changes: list[Change[Any]]) -> list[Any]:
        moment = Moment(self._db.now(), self._db.wall_ms())
        return [change(connection, moment) for change in changes]

    def _apply(self, connection: sqlite3.Connection, items: list[Apply]) -> list[Counts | None]:
        writing = Writing(connection, self._db.wall_ms())
        counts = [writing.apply(item) for item in items]
        writing.finish()
        return counts

    def _fail(
        self,
        connection: sqlite3.Connection,
        items: list[tuple[Mark, Sequence[Failure], int]],
    ) -> list[None]:
        writing = Writing(connection, self._db.wall_ms())
        for mark, failures, failed in items:
            writing.fail(mark, failures, failed)
        return [None] * len(items)
