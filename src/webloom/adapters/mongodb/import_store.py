from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.gathering import Gathering
from webloom.adapters.mongodb.import_feeds import Feeds
from webloom.adapters.mongodb.import_runs import Runs
from webloom.adapters.mongodb.import_runs_listing import RunListing
from webloom.adapters.mongodb.ledger import Entry, Ledger, Seen, Written
from webloom.adapters.mongodb.posting_search import postings_page
from webloom.adapters.mongodb.postings import Postings
from webloom.adapters.mongodb.postings_adopted import AdoptedPostings
from webloom.adapters.mongodb.postings_open import OpenPostings
from webloom.domain.feed import Feed, FeedConfig, UrlTaken
from webloom.domain.import_run import Counts, Failure, ImportRun, Mark, Reading, count
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

# Batches come one by one. Those that set out together share each of the six commands that follow.
PACE = 0.025


class MongoImportStore:
    def __init__(self, database: MongoDatabase) -> None:
        self._db = database
        self._feeds = Feeds(database)
        self._postings = Postings(database)
        self._open = OpenPostings(database)
        self._adopted = AdoptedPostings(database)
        ledger = Ledger(database)
        self._ledger = ledger
        self._runs = Runs(database, ledger, self._open)
        self._listing = RunListing(database)
        self._looking_up: Gathering[Mark, Seen] = database.gather(ledger.look_up, pace=PACE)
        self._writing_rows: Gathering[Entry, Written] = database.gather(ledger.write)

    # Feeds

    async def add_feed(
        self, feed_id: str, config: FeedConfig, *, next_run_at: datetime | None
    ) -> tuple[Feed, bool]:
        return await self._feeds.add(feed_id, config, next_run_at)

    async def find_feed(self, feed_id: str) -> Feed | None:
        return await self._feeds.find(feed_id)

    async def feed_of(self, url: str) -> Feed | None:
        return await self._feeds.of_url(url)

    async def feeds(self) -> list[Feed]:
        return await self._feeds.all()

    async def edit_feed(
        self, feed_id: str, config: FeedConfig, *, next_run_at: datetime | None
    ) -> Feed | UrlTaken | None:
        return await self._feeds.edit(feed_id, config, next_run_at)

    async def remove_feed(self, feed_id: str) -> bool:
        return await self._runs.remove_feed(feed_id)

    async def due_feeds(self, now: datetime, *, limit: int) -> list[Feed]:
        return await self._feeds.due(now, limit)

    # Runs

    async def start_run(self, feed_id: str, new: NewRun) -> ImportRun | None:
        return await self._runs.start(feed_id, new)

    async def claim_run(
        self,
        owner: str,
        *,
        lease: float,
        run_id: str | None = None,
        busy_hosts: Collection[str] = (),
    ) -> Claim | None:
        return await self._runs.claim(owner, lease, run_id, busy_hosts)

    async def renew_run(self, claim: Claim, *, lease: float) -> bool:
        return await self._runs.renew(claim, lease)

    async def give_up_run(self, claim: Claim) -> None:
        await self._runs.give_up(claim)

    async def note_reading(self, claim: Claim, reading: Reading) -> ImportRun | None:
        return await self._runs.note(claim, reading)

    async def finish_run(self, claim: Claim, reading: Reading, ending: Ending) -> ImportRun | None:
        return await self._runs.finish(claim, reading, ending)

    async def cancel_run(self, run_id: str) -> ImportRun | None:
        return await self._runs.cancel(run_id)

    async def find_run(self, run_id: str) -> ImportRun | None:
        return await self._listing.find(run_id)

    async def page_of_runs(self, chosen: RunFilter, *, offset: int, limit: int) -> RunPage:
        return await self._listing.page(chosen, offset, limit)

    async def changed_runs(self, since: datetime | None, *, limit: int) -> list[ImportRun]:
        return await self._listing.changed(since, limit)

    # Postings

    async def apply_batch(self, batch: Batch) -> Counts | None:
        await self._db.check_room()
        seen = await self._looking_up.ask(batch.mark)
        if not seen.is_running:
            await self._count_late(batch, seen)
            return None
        if seen.counts is not None:
            return seen.counts
        as_before = await self._postings.judge_known(batch.source_url, batch.known, batch.mark)
        if as_before is None:
            return None
        verdicts, refused = await self._postings.apply(batch.jobs, batch.mark)
        failures = [*batch.failures, *refused]
        counts = count(verdicts, failed=len(failures)).plus(count(as_before))
        counts = counts.plus(Counts(duplicate=batch.duplicates))
        return await self._write_row(Entry(batch.mark, counts, failures))

    async def _count_late(self, batch: Batch, seen: Seen) -> None:
        """What a worker has stored that died while the run ended, and that nobody has counted. If
        it still lives, its own row counts more, and stands instead; only if it stores more and dies
        before its row, when nobody has the message any more, that is not counted."""
        if seen.counts is None or seen.is_partial:
            made = await self._postings.made_by(batch.jobs, batch.mark)
            if made:
                await self._write_row(Entry(batch.mark, count(made), [], is_partial=True))
                return
        if seen.counts is not None:
            with self._db.use():
                await self._runs.count_again(batch.mark.run_id)

    async def fail_batch(self, mark: Mark, failures: Sequence[Failure], *, failed: int) -> None:
        seen = await self._looking_up.ask(mark)
        if seen.is_running and seen.counts is None:
            await self._write_row(Entry(mark, Counts(failed=failed), failures))

    async def _write_row(self, entry: Entry) -> Counts:
        written = await self._writing_rows.ask(entry)
        if not written.is_running:
            with self._db.use():
                await self._runs.count_again(entry.mark.run_id)
        return written.counts

    async def missing_batches(self, run_id: str, *, published: int) -> list[int]:
        return await self._ledger.missing(run_id, published)

    async def open_keys(self, source_url: str, *, after: str, limit: int) -> list[str]:
        return await self._open.keys(source_url, after, limit)

    async def close_postings(self, claim: Claim, keys: Sequence[str]) -> None:
        await self._runs.close_postings(claim, keys)

    async def adopt_postings(self, claim: Claim, *, is_shared: bool) -> int:
        return await self._adopted.adopt(claim, is_shared=is_shared)

    async def find_posting(self, dedupe_key: str) -> StoredPosting | None:
        return await self._postings.find(dedupe_key)

    async def page_of_postings(
        self, chosen: PostingFilter, *, limit: int, cursor: str | None = None
    ) -> PostingPage:
        return await postings_page(self._db, chosen, limit, cursor)

    async def count_postings(self) -> tuple[int, int]:
        return await self._open.count()
