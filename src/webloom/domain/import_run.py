"""One import of one feed, and how its records are counted.

A posting records the batch that created it and the batch that last changed it; each batch has one
row in the run's ledger. All counters are sums over the ledger, so a batch that is delivered twice,
or whose worker dies half-way, ends with the same numbers:

    totalFetched = newJobs + updatedJobs + unchangedJobs + duplicateJobs + failedJobs
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from operator import sub
from typing import NamedTuple

IMPORT_QUEUE = "import-feed"
IMPORT_BATCH = "IMPORT_FEED_BATCH"  # what a message of that queue is called
MOST_FAILURES = 100  # listed in a run; all are counted
MOST_REASONS = 50
OTHER_REASONS = "other reasons"
LONGEST_SAMPLE = 500
NEVER_STORED = "fetched, but never stored"


class RunStatus(StrEnum):
    RUNNING = "running"
    COMPLETED = "completed"
    PARTIAL = "partial"  # some records failed
    FAILED = "failed"  # the feed could not be fetched or read, or nothing could be stored


class Phase(StrEnum):
    """The progress of a running import."""

    WAITING = "waiting"
    FETCHING = "fetching"
    READING = "reading"
    STORING = "storing"  # all batches are on the queue
    CLOSING = "closing"  # postings that are no longer in the feed
    FINISHED = "finished"


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """One record that was not imported."""

    reason: str
    sample: str  # the record, shortened
    index: int | None = None  # its place in the feed, from 0


class Counts(NamedTuple):
    """Records of a batch or run by outcome."""

    new: int = 0
    updated: int = 0
    unchanged: int = 0
    duplicate: int = 0
    failed: int = 0

    @property
    def total(self) -> int:
        return sum(self)

    def plus(self, other: Counts) -> Counts:
        return Counts(*map(sum, zip(self, other, strict=True)))

    def minus(self, other: Counts) -> Counts:
        return Counts(*map(sub, self, other))


class Tally(NamedTuple):
    """Counters of a run."""

    counts: Counts = Counts()
    batches: int = 0


NOTHING = Tally()


class Mark(NamedTuple):
    """The batch that wrote something."""

    run_id: str
    batch_index: int


class Known(NamedTuple):
    """A stored posting, as far as `judge` needs it."""

    content_hash: str
    created_by: Mark
    changed_by: Mark  # the same as created_by until it is changed
    is_open: bool


class Verdict(StrEnum):
    INSERT = "insert"  # counts as new
    UPDATE = "update"  # counts as updated
    WAS_NEW = "was new"  # this batch has inserted it before
    WAS_UPDATED = "was updated"  # this batch has changed it before
    UNCHANGED = "unchanged"
    DUPLICATE = "duplicate"  # another batch of the run contains it


def judge(known: Known | None, content_hash: str, mark: Mark) -> Verdict:
    """How a record of the batch `mark` changes the posting with its key."""
    if known is None:
        return Verdict.INSERT
    if known.created_by == mark:
        return Verdict.WAS_NEW
    if known.changed_by == mark:
        return Verdict.WAS_UPDATED
    if mark.run_id in (known.created_by.run_id, known.changed_by.run_id):
        return Verdict.DUPLICATE
    if known.content_hash == content_hash and known.is_open:
        return Verdict.UNCHANGED
    return Verdict.UPDATE


def judge_known(
    stored: Iterable[tuple[Known | None, str]], mark: Mark
) -> dict[Verdict, int] | None:
    """For postings that the producer assumes to be stored, each with its content hash. None: one of
    them is missing, closed, or has another hash."""
    verdicts: dict[Verdict, int] = {}
    for known, content_hash in stored:
        verdict = judge(known, content_hash, mark)
        if verdict in (Verdict.INSERT, Verdict.UPDATE):
            return None
        verdicts[verdict] = verdicts.get(verdict, 0) + 1
    return verdicts


def count(verdicts: Mapping[Verdict, int]) -> Counts:
    def of(*kinds: Verdict) -> int:
        return sum(verdicts.get(kind, 0) for kind in kinds)

    return Counts(
        new=of(Verdict.INSERT, Verdict.WAS_NEW),
        updated=of(Verdict.UPDATE, Verdict.WAS_UPDATED),
        unchanged=of(Verdict.UNCHANGED),
        duplicate=of(Verdict.DUPLICATE),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """The producer's progress. Its counts are of records that are in no batch: duplicates within
    the feed, and records that lack a required field."""

    phase: Phase
    fetched: int = 0  # records read from the feed
    duplicates: int = 0
    failed: int = 0
    failures: list[Failure] = field(default_factory=list)  # the first MOST_FAILURES
    failure_reasons: dict[str, int] = field(default_factory=dict)  # at most MOST_REASONS
    repairs: dict[str, int] = field(default_factory=dict)  # by what was repaired
    published: int = 0  # number of batches published, in order
    all_published: bool = False
    batches: int | None = None  # of the whole feed, if counted before publishing
    bytes_read: int = 0
    bytes_total: int | None = None
    format: str | None = None  # of the feed, once it is recognised
    content_hash: str | None = None  # of its body
    is_unmodified: bool = False  # by the server's response, or the body's hash


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportRun:
    run_id: str
    feed_id: str
    source_url: str
    source_name: str
    status: RunStatus
    trigger: str  # schedule, manual, cli, retry
    started_at: datetime
    updated_at: datetime  # the last visible change
    batch_size: int
    concurrency: int
    reading: Reading
    counts: Counts  # all of the run's, the producer's included
    processed_batches: int = 0
    closed_jobs: int = 0  # postings no longer in the feed
    failures: list[Failure] = field(default_factory=list)  # the producer's, then the workers'
    failure_reasons: dict[str, int] = field(default_factory=dict)
    finished_at: datetime | None = None
    duration_ms: int | None = None
    error: str | None = None  # why it failed, or what else went wrong
    retry_of: str | None = None
    cancel_requested: bool = False
    third_party: Tally = NOTHING  # counted by workers of other programs

    @property
    def total_batches(self) -> int | None:
        return self.reading.published if self.reading.all_published else self.reading.batches


def status_at_end(counts: Counts, *, error: str | None) -> RunStatus:
    """The status of an ended run, by its counters."""
    stored = counts.total - counts.failed
    if error is not None:
        return RunStatus.PARTIAL if stored else RunStatus.FAILED
    if not counts.failed:
        return RunStatus.COMPLETED
    return RunStatus.PARTIAL if stored else RunStatus.FAILED


def error_at_end(run: ImportRun, error: str | None) -> str | None:
    """For a balanced run. Without an error, a failed run failed because of its records."""
    if error is not None or status_at_end(run.counts, error=None) is not RunStatus.FAILED:
        return error
    reasons = run.failure_reasons
    return f"no record could be used: {max(reasons, key=reasons.__getitem__)}" if reasons else None


def balanced(run: ImportRun) -> ImportRun:
    """A run at its end, adjusted so that the identity holds. What was fetched and never stored has
    failed; what the ledger has beyond was fetched by a producer that died before it could record
    it. If workers of other programs counted, nothing is adjusted: what they stored is unknown."""
    if run.third_party != NOTHING:
        return run
    missing = run.reading.fetched - run.counts.total
    if missing <= 0:
        return replace(run, reading=replace(run.reading, fetched=run.counts.total))
    return replace(
        run,
        counts=run.counts.plus(Counts(failed=missing)),
        failure_reasons=merged_reasons(run.failure_reasons, {NEVER_STORED: missing}),
    )


def merged_failures(
    kept: list[Failure], more: list[Failure], most: int = MOST_FAILURES
) -> list[Failure]:
    return (kept + more)[:most]


def merged_reasons(kept: dict[str, int], more: dict[str, int]) -> dict[str, int]:
    """Reasons beyond MOST_REASONS are counted together."""
    merged = dict(kept)
    for reason, times in more.items():
        name = reason if reason in merged or len(merged) < MOST_REASONS else OTHER_REASONS
        merged[name] = merged.get(name, 0) + times
    return merged
