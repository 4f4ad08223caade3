"""A feed's file -> postings in batches, with exact counts.

bytes -> records (records) -> postings (normalise) -> without those that came before (keys)
      -> JSON, once -> batches

A record that the last import knows goes into its batch as two hashes. Where a batch ends depends on
the feed's bytes alone, so that it has the same records whatever was known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from webloom.domain.errors import FeedUnreadable
from webloom.domain.feed import AUTO
from webloom.domain.import_run import (
    LONGEST_SAMPLE,
    MOST_FAILURES,
    Failure,
    merged_reasons,
)
from webloom.parsing.feeds.element import Head, Record
from webloom.parsing.feeds.formats import detect
from webloom.parsing.feeds.keys import KeyTable
from webloom.parsing.feeds.known import KnownPostings, LearntPostings
from webloom.parsing.feeds.normalise import Normaliser, Rejected, sample
from webloom.parsing.feeds.progress import Progress
from webloom.parsing.feeds.records import Records
from webloom.parsing.feeds.sanitise import cut, one_line, scrub
from webloom.parsing.feeds.scan import Unreadable
from webloom.parsing.job_posting import JobPosting

LARGEST_BATCH = 3 * 1024 * 1024  # bytes of records; one alone may be more
LONGEST_TITLE = 500  # of the feed itself
RECORDS_BETWEEN_REPORTS = 2000  # where no batch comes of them


class FeedReading:
    """Reads one feed. `keys` are those of all postings that were read so far."""

    def __init__(
        self,
        records: Records,
        *,
        source_url: str,
        source_name: str,
        wanted_format: str,
        mapping: Mapping[str, str],
        batch_size: int,
        known: KnownPostings | None = None,
        learnt: LearntPostings | None = None,  # records what becomes of each record
    ) -> None:
        self.keys = KeyTable()
        self._records = records
        self._format = detect(records.head, wanted_format)
        self._normaliser = Normaliser(
            self._format,
            records.head,
            source_url=source_url,
            source_name=source_name,
            mapping=mapping,
        )
        self._title = _title(records.head)
        self._batch_size = batch_size
        self._known = known
        self._learnt = learnt
        self._encode = msgspec.json.Encoder().encode
        self._fetched = self._duplicates = self._failed = 0
        self._failures: list[Failure] = []
        self._shown = 0
        self._reasons: dict[str, int] = {}
        self._defects = 0  # that were counted so far

    def batches(self) -> Iterator[tuple[bytes, Progress]]:
        """JSON arrays of postings, the last marked as such. Many records without a posting give an
        empty one, to report progress. Raises FeedUnreadable."""
        jobs: list[bytes] = []
        known: list[bytes] = []
        size = 0
        reported = 0
        for record in self._records.read(self._format.record_names, self._known):
            is_known = isinstance(record, bytes)
            job = self._unchanged(record) if isinstance(record, bytes) else self._posting(record)
            self._fetched += 1
            if job is None:
                if self._fetched - reported >= RECORDS_BETWEEN_REPORTS:
                    reported = self._fetched
                    yield self._batch([], [], ahead=len(jobs) + len(known))
                continue
            more = self._records.size or len(job)
            if size and size + more > LARGEST_BATCH:
                # It was counted already, though it is in the next batch.
                yield self._batch(jobs, known, ahead=1)
                jobs, known, size, reported = [], [], 0, self._fetched
            (known if is_known else jobs).append(job)
            size += more
            if len(jobs) + len(known) >= self._batch_size:
                yield self._batch(jobs, known)
                jobs, known, size, reported = [], [], 0, self._fetched
        if not self._fetched:
            self._refuse_wrong_format()
        yield self._batch(jobs, known, is_last=True)

    def _refuse_wrong_format(self) -> None:
        """Raises FeedUnreadable if there is no record of the chosen format, but of another."""
        head = self._records.head
        try:
            likely = detect(head, AUTO)
        except FeedUnreadable:  # it looks like no format: the choice stands
            return
        if likely.name != self._format.name and likely.record_names & set(head.names):
            raise FeedUnreadable(
                f"Read as {self._format.name}, it has no record; it looks like {likely.name}. "
                "Choose that format, or auto."
            )

    def _batch(
        self, jobs: list[bytes], known: list[bytes], *, ahead: int = 0, is_last: bool = False
    ) -> tuple[bytes, Progress]:
        progress = self._progress(
            len(jobs) + len(known), b"".join(known), ahead=ahead, is_last=is_last
        )
        return b"[%b]" % b",".join(jobs), progress

    def _unchanged(self, posting: bytes) -> bytes | None:
        """A record that is known; None for one that was there before."""
        if not self.keys.add_bytes(posting):
            self._duplicates += 1
            return None
        if self._learnt is not None:
            self._learnt.add(self._records.hash, posting)
        return posting

    def _posting(self, record: Record | Unreadable) -> bytes | None:
        """As JSON; None for one that is none, or was there before."""
        if isinstance(record, Unreadable):
            self._fail(record.reason, record.sample)
            return None
        try:
            posting = self._normaliser.posting(record)
            job = self._encode(posting)
        except Rejected as rejected:
            self._fail(rejected.reason, rejected.sample)
            return None
        except Exception as error:
            # One unforeseen record must not cost the others.
            self._fail(f"the record can't be read ({type(error).__name__})", sample(record))
            return None
        if not self.keys.add(posting.dedupe_key):
            self._duplicates += 1
            return None
        self._learn(posting)
        return job

    def _learn(self, posting: JobPosting) -> None:
        """Unless its defects must be counted the next time as well."""
        repairs, notes = self._records.repairs, self._normaliser.notes
        defects = repairs.total + notes.total if repairs or notes else 0
        if self._learnt is not None and self._records.hash and defects == self._defects:
            known = bytes.fromhex(posting.dedupe_key + posting.content_hash)
            self._learnt.add(self._records.hash, known)
        self._defects = defects

    def _fail(self, reason: str, record: str) -> None:
        self._failed += 1
        self._reasons = merged_reasons(self._reasons, {reason: 1})
        if self._shown < MOST_FAILURES:
            self._shown += 1
            shortened = record[:LONGEST_SAMPLE]
            self._failures.append(Failure(reason=reason, sample=shortened, index=self._fetched))

    def _progress(self, count: int, known: bytes, *, ahead: int, is_last: bool) -> Progress:
        failures, self._failures = self._failures, []
        return Progress(
            count=count,
            known=known,
            fetched=self._fetched - ahead,
            duplicates=self._duplicates,
            failed=self._failed,
            failures=failures,
            failure_reasons=self._reasons,
            repairs={**self._records.repairs, **self._normaliser.notes},
            bytes_read=self._records.position,
            format=self._format.name,
            title=self._title,
            is_last=is_last,
            is_whole=is_last and self._records.is_whole,
        )


def _title(head: Head) -> str | None:
    title = one_line(head.elements.get("title", "")[: 4 * LONGEST_TITLE])
    return cut(scrub(title), LONGEST_TITLE) or None
