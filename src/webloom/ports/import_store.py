from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from webloom.domain.feed import Feed, FeedConfig, LastFetch, UrlTaken
from webloom.domain.import_run import Counts, Failure, ImportRun, Mark, Reading, RunStatus
from webloom.parsing.job_posting import JobPosting


@dataclass(frozen=True, kw_only=True, slots=True)
class NewRun:
    run_id: str
    trigger: str
    batch_size: int
    concurrency: int
    retry_of: str | None = None
    owner: str | None = None  # a producer that takes the run at once, for `lease` seconds
    lease: float = 0.0
    due: datetime | None = None  # only if the feed's time has come by then


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """A run in the hands of one producer. Its token stands until somebody else claims the run."""

    run: ImportRun
    feed: Feed
    token: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Ending:
    """How a run ended, and what that means for its feed."""

    error: str | None = None
    next_run_at: datetime | None = None
    last_fetch: LastFetch | None = None  # None: the feed keeps what it had


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    mark: Mark
    source_url: str
    jobs: Sequence[JobPosting]  # no two with one key
    duplicates: int = 0  # within the batch, left out of `jobs`
    failures: Sequence[Failure] = ()  # records of the batch that are none
    known: Sequence[tuple[str, str]] = ()  # keys and content hashes of postings as they were


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFilter:
    status: RunStatus | None = None
    text: str | None = None  # in the source's name or URL, whatever the case
    source_url: str | None = None
    since: datetime | None = None  # by started_at, both ends included
    until: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RunPage:
    runs: list[ImportRun]  # the latest first
    total: int  # that the filter finds


@dataclass(frozen=True, kw_only=True, slots=True)
class PostingFilter:
    text: str | None = None  # whole words in a row, `word*` a prefix: in title, company, location
    source_url: str | None = None
    company: str | None = None  # words of the company's name
    location: str | None = None  # words of the location
    is_open: bool | None = None
    since: datetime | None = None  # by when it was published, else first stored; both included
    until: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredPosting:
    posting: JobPosting
    created_at: datetime
    updated_at: datetime  # when its content last changed
    created_by: Mark
    changed_by: Mark
    closed_at: datetime | None = None
    closed_by: str | None = None  # the run that no longer found it


@dataclass(frozen=True, kw_only=True, slots=True)
class PostingPage:
    postings: list[StoredPosting]
    next_cursor: str | None = None


class ImportStore(Protocol):
    """Feeds, their runs, and the postings that came of them.

    Every write is idempotent and atomic for what it names. All verbs raise StoreUnavailable when
    the store can't be reached; nothing was changed then, or the same call can be made again.
    Leases are measured on the store's own timeline, which a jump of a wall clock does not move.
    """

    # Feeds

    async def add_feed(
        self, feed_id: str, config: FeedConfig, *, next_run_at: datetime | None
    ) -> tuple[Feed, bool]:
        """The feed of that URL, and whether it is new. One that was there stays as it is; so does
        one that has moved to that URL."""

    async def find_feed(self, feed_id: str) -> Feed | None: ...

    async def feed_of(self, url: str) -> Feed | None:
        """By its normalised URL, or by the one that it has moved to."""

    async def feeds(self) -> list[Feed]:
        """All of them, by name."""

    async def edit_feed(
        self, feed_id: str, config: FeedConfig, *, next_run_at: datetime | None
    ) -> Feed | UrlTaken | None:
        """Replace what a person decides, as `decide_edit` has it: its URL stays, and where it has
        moved to is no other feed's. What an earlier fetch left is forgotten, so that the next one
        reads the whole feed. None: there is no such feed."""

    async def remove_feed(self, feed_id: str) -> bool:
        """Its runs and postings stay; a run that is under way is asked to end. False: unknown."""

    async def due_feeds(self, now: datetime, *, limit: int) -> list[Feed]:
        """Feeds whose time has come and that no run is active for, the longest overdue first."""

    # Runs

    async def start_run(self, feed_id: str, new: NewRun) -> ImportRun | None:
        """A running import of the feed; or the one that is active already, whose id is another.

        One run is active for a feed at any time, whoever asks. The same call again returns the
        run that the first one made. None: there is no such feed, or it is not due any more.
        """

    async def claim_run(
        self,
        owner: str,
        *,
        lease: float,
        run_id: str | None = None,
        busy_hosts: Collection[str] = (),
    ) -> Claim | None:
        """A running run (that one, if given) that no living producer holds, under a new token: the
        one that was started first. Runs of feeds that are fetched from a busy host are left where
        they are, unless they are asked to end or named by `run_id`.

        None: there is none. The owner's own claim, made again, is given again with its token. A
        feed whose active run has ended or is not there is set right on the way; but a run that a
        worker of another program has ended is claimed as well, so that `finish_run` closes it.
        """

    async def renew_run(self, claim: Claim, *, lease: float) -> bool:
        """False: the claim no longer stands, or the run has ended."""

    async def give_up_run(self, claim: Claim) -> None:
        """Let another producer have it at once."""

    async def note_reading(self, claim: Claim, reading: Reading) -> ImportRun | None:
        """Write what the producer has done and count the ledger again, and what workers of other
        programs have counted (`third_party.counted`).

        Returns the run as it is now, with `cancel_requested`. It may have ended: a worker of
        another program has set its status, and `finish_run` is still to be called. None when the
        claim no longer stands. `updated_at` only moves when a reader can see a difference.
        """

    async def finish_run(self, claim: Claim, reading: Reading, ending: Ending) -> ImportRun | None:
        """Count once more, close the run and set its feed free.

        How it ends is `third_party.at_end`: records that were fetched and never stored count as
        failed, so that the identity holds. When a worker of another program has ended the run, its
        end is accepted, with its date. Made again it changes nothing and returns the run; None when
        the claim no longer stands and nobody has closed the run.
        """

    async def cancel_run(self, run_id: str) -> ImportRun | None:
        """Ask a running import to end. Returns it as it is now; None: there is no such run."""

    async def find_run(self, run_id: str) -> ImportRun | None: ...

    async def page_of_runs(self, chosen: RunFilter, *, offset: int, limit: int) -> RunPage: ...

    async def changed_runs(self, since: datetime | None, *, limit: int) -> list[ImportRun]:
        """Runs with `updated_at` at or after `since`, the oldest change first; None: those that are
        running. A change may become visible a little after its time: look back a second or two.
        `updated_at` is of the store's own clock."""

    # Postings

    async def apply_batch(self, batch: Batch) -> Counts | None:
        """Judge every record (`judge`), write what is new or changed, and the ledger's row.

        The same batch again, by whomever and at the same time, returns the same counts and changes
        nothing. A record that the store refuses becomes a failure and costs no other.

        None, and nothing was written: the run is unknown or has ended; or a posting that is said
        to be known is not stored, is closed, or has another content hash.
        """

    async def fail_batch(self, mark: Mark, failures: Sequence[Failure], *, failed: int) -> None:
        """The batch can't be handled: so many records of it failed. A batch that has its row in
        the ledger is left alone, and so is a run that has ended."""

    async def missing_batches(self, run_id: str, *, published: int) -> list[int]:
        """Of the first `published` batches, those without a row in the ledger."""

    async def open_keys(self, source_url: str, *, after: str, limit: int) -> list[str]:
        """Dedupe keys of the source's open postings, in order, behind `after` ("" at first)."""

    async def close_postings(self, claim: Claim, keys: Sequence[str]) -> None:
        """Mark them closed by the claim's run. What is closed already stays as it is. The run's
        `closed_jobs` is the number of postings that it has closed, counted by `finish_run`."""

    async def adopt_postings(self, claim: Claim, *, is_shared: bool) -> int:
        """Bring what other programs have written into this store's own form, so that it is listed,
        found and compared like all others: postings of the run's source that they have added, and
        where they took part in the run, those that they have changed. Returns how many.
        What they wrote stays, and its content hash is made to match it. May be repeated."""

    async def find_posting(self, dedupe_key: str) -> StoredPosting | None: ...

    async def page_of_postings(
        self, chosen: PostingFilter, *, limit: int, cursor: str | None = None
    ) -> PostingPage:
        """The latest published first. Quick however many there are: the work for a page is
        bounded, so that one with a rare filter can be short, even empty, while `next_cursor` goes
        on. Raises BadCursor."""

    async def count_postings(self) -> tuple[int, int]:
        """Open and closed ones; may be a second or two old."""
