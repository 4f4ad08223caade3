from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from webloom.domain.import_run import Counts, Failure, Mark
from webloom.domain.listing import Count
from webloom.parsing.job_posting import JobPosting
from webloom.ports.import_runs import Claim


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    mark: Mark
    source_url: str
    postings: Sequence[JobPosting]  # no two with one key
    duplicates: int = 0  # within the batch, left out of `postings`
    failures: Sequence[Failure] = ()  # records of the batch that are not postings
    known: Sequence[tuple[str, str]] = ()  # keys and content hashes of postings as they were


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
    total: Count | None = None  # if it was counted meanwhile


class Postings(Protocol):
    """Postings, and the ledger of the batches that brought them.

    Every write is idempotent. All verbs raise StoreUnavailable when the store can't be reached;
    nothing was changed then, or the same call can be made again.
    """

    async def apply_batch(self, batch: Batch) -> Counts | None:
        """Judge every record (`judge`), write what is new or changed, and the ledger's row.

        The same batch again, even at the same time, returns the same counts and changes nothing. A
        record that the store refuses becomes a failure and does not affect the others.

        None if nothing was written: the run is unknown or has ended, or a posting listed as known
        is not stored, is closed, or has another content hash.
        """

    async def fail_batch(self, mark: Mark, failures: Sequence[Failure], *, failed: int) -> None:
        """Record that the batch can't be handled and that `failed` of its records failed. A batch
        that has its row in the ledger is left alone, and so is a run that has ended."""

    async def missing_batches(self, run_id: str, *, published: int) -> list[int]:
        """Of the first `published` batches of a running run, those without a row in the ledger. The
        rows are kept until the run has ended, and may be gone at any time after that."""

    async def open_keys(self, source_url: str, *, after: str, limit: int) -> list[str]:
        """Dedupe keys of the source's open postings, in order, behind `after` ("" at first)."""

    async def close(self, claim: Claim, keys: Sequence[str]) -> None:
        """Mark them closed by the claim's run. Those that are closed already stay as they are.
        The run's `closed_jobs` is the number that it has closed, counted by `finish`."""

    async def adopt(self, claim: Claim, *, is_shared: bool) -> int:
        """Bring what other programs have written into this store's own form, so that it is listed,
        found and compared like all others: postings of the run's source that they have added, and
        where they took part in the run, those that they have changed. Returns how many.
        What they wrote stays, and its content hash is made to match it. May be repeated."""

    async def find(self, dedupe_key: str) -> StoredPosting | None: ...

    async def page(
        self,
        chosen: PostingFilter,
        *,
        limit: int,
        cursor: str | None = None,
        oldest_first: bool = False,
        most_counted: int | None = None,
    ) -> PostingPage:
        """The latest published first, or the earliest. Quick however many there are: the work for a
        page is bounded, so that one with a rare filter can be short, even empty, while
        `next_cursor` goes on, in the same direction. With `most_counted`, a store that can count
        while it reads gives the page the total of `count_chosen`. Raises BadCursor."""

    async def count_chosen(self, chosen: PostingFilter, *, most: int) -> Count:
        """How many a filter finds. Counting stops behind `most`; what no index knows is counted
        among the first that would be listed, so many that the work stays bounded."""

    async def count(self) -> tuple[int, int]:
        """Open and closed ones; may be a second or two old."""
